package execclient_test

import (
	"strconv"
	"sync"

	"github.com/durward/durward/execserver/protocol"
)

// A fakeSession has processes, and a connection at times.
type fakeSession struct {
	f  *fakeServer
	id string

	mu        sync.Mutex
	conn      *fakeConn               // guarded by mu; nil while detached
	processes map[string]*fakeProcess // guarded by mu
}

func (s *fakeSession) attach(c *fakeConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return false
	}
	s.conn = c
	return true
}

func (s *fakeSession) detach(c *fakeConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c {
		s.conn = nil
	}
}

func (s *fakeSession) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		p.kill()
	}
}

func (s *fakeSession) notify(method string, params any) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c != nil {
		c.notify(method, params)
	}
}

func (s *fakeSession) find(id string) *fakeProcess {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[id]
}

// A fakeProcess keeps the newest 1 MiB of its output, and all that is not acknowledged
// if it has flow.
type fakeProcess struct {
	s      *fakeSession
	id     string
	stdin  chan []byte // closed at the kill
	killed chan struct{}

	mu      sync.Mutex
	change  *sync.Cond       // of mu
	flow    bool             // guarded by mu
	chunks  []protocol.Chunk // guarded by mu
	bytes   int              // guarded by mu; sum of chunks
	unacked int              // guarded by mu; sum of those that are not acknowledged
	acked   uint64           // guarded by mu
	next    uint64           // guarded by mu; next number
	exit    *int             // guarded by mu
	closed  bool             // guarded by mu
	dead    bool             // guarded by mu
	written map[string]bool  // guarded by mu; ids of writes
	peak    int              // guarded by mu; most that was unacknowledged
}

const fakeChunk = 8192

func (s *fakeSession) start(params protocol.StartParams, canFlow bool) (protocol.StartResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.processes[params.ProcessID] != nil {
		return protocol.StartResult{}, invalid("process %s already exists", params.ProcessID)
	}
	p := &fakeProcess{
		s: s, id: params.ProcessID, stdin: make(chan []byte, 64), killed: make(chan struct{}), next: 1, written: map[string]bool{},
		flow: canFlow && params.Durward != nil && params.Durward.Flow,
	}
	p.change = sync.NewCond(&p.mu)
	s.processes[p.id] = p
	s.f.serving.Go(func() { p.run(params.Argv) })
	return protocol.StartResult{ProcessID: p.id, SandboxType: "none"}, nil
}

// run does what the first argument says: "put" N puts out N bytes of the pattern, "cat"
// copies what is written to it, and "holey" does not tell of all it puts out.
func (p *fakeProcess) run(argv []string) {
	size := 0
	if len(argv) > 1 {
		size, _ = strconv.Atoi(argv[1])
	}
	code := 0
	switch argv[0] {
	case "put":
		p.putAll(size)
	case "holey":
		p.put([]byte("a"))
		p.mu.Lock() // and one that the client is not told of
		p.chunks = append(p.chunks, protocol.Chunk{Seq: p.next, Stream: protocol.Stderr, Chunk: []byte("b")})
		p.next++
		p.mu.Unlock()
		p.put([]byte("c"))
	case "cat":
		for data := range p.stdin {
			p.put(data)
		}
		code = 137
	}
	p.exitWith(code)
	p.close()
}

func (p *fakeProcess) putAll(size int) {
	for at := 0; at < size; at += fakeChunk {
		p.put(pattern(at, min(fakeChunk, size-at)))
	}
}

func (p *fakeProcess) put(data []byte) {
	p.mu.Lock()
	for p.flow && !p.dead && p.unacked > 0 && p.unacked+len(data) > protocol.FlowBytes {
		p.change.Wait()
	}
	if p.dead {
		p.mu.Unlock()
		return
	}
	c := protocol.Chunk{Seq: p.next, Stream: protocol.Stdout, Chunk: data}
	p.next++
	p.chunks = append(p.chunks, c)
	p.bytes += len(data)
	p.unacked += len(data)
	p.peak = max(p.peak, p.unacked)
	for p.bytes > 1<<20 && (!p.flow || p.chunks[0].Seq <= p.acked) {
		p.bytes -= len(p.chunks[0].Chunk)
		p.chunks = p.chunks[1:]
	}
	p.mu.Unlock()
	p.s.notify(protocol.ProcessOutput, protocol.OutputParams{ProcessID: p.id, Seq: c.Seq, Stream: c.Stream, Chunk: c.Chunk})
}

func (p *fakeProcess) exitWith(code int) {
	p.mu.Lock()
	if p.exit != nil {
		p.mu.Unlock()
		return
	}
	p.exit = &code
	seq := p.next
	p.next++
	p.mu.Unlock()
	p.s.notify(protocol.ProcessExited, protocol.ExitedParams{ProcessID: p.id, Seq: seq, ExitCode: code})
}

func (p *fakeProcess) close() {
	p.mu.Lock()
	p.closed = true
	seq := p.next
	p.next++
	p.mu.Unlock()
	p.s.notify(protocol.ProcessClosed, protocol.ClosedParams{ProcessID: p.id, Seq: &seq})
}

func (p *fakeProcess) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := !p.dead && p.exit == nil
	if !p.dead {
		p.dead = true
		close(p.stdin)
		p.change.Broadcast()
	}
	return running
}

func (s *fakeSession) read(r protocol.ReadParams) (protocol.ReadResult, error) {
	p := s.find(r.ProcessID)
	if p == nil {
		return protocol.ReadResult{}, invalid("unknown process id %s", r.ProcessID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	result := protocol.ReadResult{NextSeq: p.next, Exited: p.exit != nil, ExitCode: p.exit, Closed: p.closed}
	for _, c := range p.chunks {
		if r.AfterSeq == nil || c.Seq > *r.AfterSeq {
			result.Chunks = append(result.Chunks, c)
		}
	}
	return result, nil
}

func (s *fakeSession) write(w protocol.WriteParams) (protocol.WriteResult, error) {
	p := s.find(w.ProcessID)
	if p == nil {
		return protocol.WriteResult{Status: protocol.WriteUnknownProcess}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead || p.exit != nil {
		return protocol.WriteResult{Status: protocol.WriteStdinClosed}, nil
	}
	if !p.written[*w.WriteID] {
		p.written[*w.WriteID] = true
		p.stdin <- w.Chunk
	}
	return protocol.WriteResult{Status: protocol.WriteAccepted}, nil
}

func (s *fakeSession) terminate(t protocol.TerminateParams) (protocol.TerminateResult, error) {
	p := s.find(t.ProcessID)
	return protocol.TerminateResult{Running: p != nil && p.kill()}, nil
}

func (s *fakeSession) ack(a protocol.AckParams) (protocol.Empty, error) {
	if p := s.find(a.ProcessID); p != nil {
		p.ack(a.Seq)
	}
	return protocol.Empty{}, nil
}

func (p *fakeProcess) ack(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.change.Broadcast()
	if seq == protocol.AckAll {
		p.flow = false
		return
	}
	if seq >= p.next {
		return
	}
	for _, c := range p.chunks {
		if c.Seq > p.acked && c.Seq <= seq {
			p.unacked -= len(c.Chunk)
		}
	}
	p.acked = max(p.acked, seq)
}

// process gives the one with an id, in whatever session.
func (f *fakeServer) process(id string) *fakeProcess {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.known {
		if p := s.find(id); p != nil {
			return p
		}
	}
	return nil
}
