package execserver

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/jsonx"
)

// A process is what a client started. It is told what happens to it by the core, in order,
// and tells whoever is attached to its session then. Nothing is told before the client has
// the answer to its start.
type process struct {
	quiet
	session  *session
	id       string
	argv0    string
	tty      bool
	input    *input // nil where the process reads end of file
	confined bool
	since    time.Time
	head     []byte // of each of its output notifications
	// parting is what the client is told together with the close. It is for the events, which
	// come one at a time.
	parting []func(text []byte) []byte

	started chan struct{} // closed when call or err is set
	call    durward.Session
	err     error
	told    chan struct{} // closed when the start was answered, or nobody is there for that
	closed  chan struct{} // closed behind the close

	mu      sync.Mutex
	doomed  bool          // guarded by mu; killed before it was started
	exit    *durward.Exit // guarded by mu
	last    uint64        // guarded by mu; newest number that was heard of
	printed int64         // guarded by mu; bytes
	chunks  int64         // guarded by mu; of them
	denial  denialScanner // guarded by mu
	failure *string       // guarded by mu
	ended   bool          // guarded by mu; closed is, or will be at once
	closeAt uint64        // guarded by mu; number of the close
	killing *time.Timer   // guarded by mu; runs while the process may still end by itself
	killBy  time.Time     // guarded by mu; when that is over
}

// The signals that clients can have sent, by their numbers.
const (
	sigInt  = 2
	sigTerm = 15
)

func newProcess(s *session, p protocol.StartParams) *process {
	proc := &process{
		session: s, id: p.ProcessID, argv0: p.Argv[0], tty: p.TTY, since: time.Now(),
		head:    jsonx.AppendString([]byte(`{"method":"process/output","params":{"processId":`), p.ProcessID),
		started: make(chan struct{}), told: make(chan struct{}), closed: make(chan struct{}),
	}
	if p.TTY || p.PipeStdin {
		proc.input = newInput()
	}
	return proc
}

// open starts the process; follow follows it to its end. It is to be called once.
func (p *process) open(c durward.Call) (follow func(), err error) {
	p.call, follow, p.err = p.session.server.Runtime.Begin(p.session.ctx, c, p)
	if p.err != nil {
		p.session.release(p)
		close(p.started)
		return nil, p.err
	}
	close(p.started)
	p.mu.Lock()
	doomed, ending := p.doomed, p.killing != nil
	p.mu.Unlock()
	switch {
	case doomed:
		p.call.Kill()
	case ending:
		_ = p.call.Signal(sigTerm) // KILL follows
	}
	if p.input != nil {
		p.session.server.work.Go(func() { p.input.pour(p.session.ctx, p.call, p.closed) })
	}
	return follow, nil
}

// Output tells of a chunk, and blocks while the client does not read.
func (p *process) Output(c durward.Chunk) {
	<-p.told
	p.mu.Lock()
	p.last = c.Seq
	p.printed += int64(len(c.Data))
	p.chunks++
	if p.confined {
		p.denial.scan(c.Data)
	}
	p.mu.Unlock()
	p.session.notify(func(text []byte) []byte {
		text = append(text, p.head...)
		text = strconv.AppendUint(append(text, `,"seq":`...), c.Seq, 10)
		text = append(append(append(text, `,"stream":"`...), c.Stream...), `","chunk":"`...)
		return append(jsonx.AppendBase64(text, c.Data), `"}}`...)
	})
}

// Exited tells that the main process has ended, unless that goes with the close.
func (p *process) Exited(e durward.Exit) {
	<-p.told
	p.mu.Lock()
	p.exit, p.last = &e, e.Seq
	denied := p.deniedLocked()
	p.mu.Unlock()
	p.parting = append(p.parting, notification(protocol.ProcessExited, protocol.ExitedParams{
		ProcessID: p.id, Seq: e.Seq, ExitCode: e.Code, SandboxDenied: &denied,
	}))
	if !e.Last {
		p.session.notify(p.parting...)
		p.parting = nil
	}
}

// Ended tells that the process is over, with all that it started.
func (p *process) Ended(durward.Result) {
	<-p.told
	_, err := p.call.Wait(context.Background()) // it has ended
	p.mu.Lock()
	p.failure = failureOf(err)
	p.ended, p.closeAt = true, p.last+1
	if p.killing != nil {
		p.killing.Stop()
	}
	kept := min(p.printed, protocol.FlowBytes) + min(p.chunks, protocol.FlowChunks)*chunkCost
	p.mu.Unlock()
	p.session.retain(p, kept)
	seq := p.closeAt
	p.session.notify(append(p.parting, notification(protocol.ProcessClosed, protocol.ClosedParams{ProcessID: p.id, Seq: &seq}))...)
	p.parting = nil
	close(p.closed) // what waits for the end is answered behind it
}

// failureOf says why a process did not simply end; nil where it did, or was killed by its
// client.
func failureOf(err error) *string {
	if err == nil || durward.KindOf(err) == durward.Cancelled {
		return nil
	}
	text := wordsOf(err)
	return &text
}

// deniedLocked reports whether the process seems to have failed for what the sandbox keeps
// from it.
func (p *process) deniedLocked() bool {
	return p.confined && p.exit != nil && p.exit.Code != 0 && p.denial.seen
}

// kill ends the process with all that it started, also one that is still being started.
func (p *process) kill() (running bool) {
	p.mu.Lock()
	running = p.exit == nil && !p.ended
	p.doomed = true
	p.mu.Unlock()
	select {
	case <-p.started:
		if p.err != nil {
			return false
		}
		p.call.Kill()
	default:
	}
	return running
}

// terminate has the process end by itself within a grace, and kills it then.
func (p *process) terminate(grace time.Duration) (running bool) {
	if grace <= 0 {
		return p.kill()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if by := time.Now().Add(grace); !p.ended && (p.killing == nil || by.Before(p.killBy)) {
		if p.killing != nil {
			p.killing.Stop()
		}
		p.killBy, p.killing = by, time.AfterFunc(grace, func() { p.kill() })
	}
	if isClosed(p.started) && p.err == nil {
		_ = p.call.Signal(sigTerm) // KILL follows
	}
	return p.exit == nil && !p.ended
}

// read answers process/read.
func (p *process) read(ctx context.Context, q protocol.ReadParams) (protocol.ReadResult, error) {
	if err := p.begun(ctx); err != nil {
		return protocol.ReadResult{}, err
	}
	after, most := uint64(0), math.MaxInt
	if q.AfterSeq != nil {
		after = *q.AfterSeq
	}
	if q.MaxBytes != nil {
		most = int(min(*q.MaxBytes, math.MaxInt))
	}
	page, err := p.call.Read(ctx, after, most, milliseconds(q.WaitMs))
	if err != nil {
		return protocol.ReadResult{}, err
	}
	if page.Ended {
		select { // the end is being put on record
		case <-p.closed:
		case <-ctx.Done():
			return protocol.ReadResult{}, context.Cause(ctx)
		}
	}
	return p.answer(page), nil
}

// answer gives a page as the client is told.
func (p *process) answer(page durward.Page) protocol.ReadResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := protocol.ReadResult{NextSeq: page.Last + 1, Failure: p.failure}
	cut := len(page.Chunks) > 0 && page.Next < page.Last
	r.Closed = isClosed(p.closed) && (page.Ended || cut) // a page may be older than the close
	for _, c := range page.Chunks {
		r.Chunks = append(r.Chunks, protocol.Chunk{Seq: c.Seq, Stream: protocol.Stream(c.Stream), Chunk: c.Data})
	}
	switch {
	case cut:
		r.NextSeq = page.Next + 1
	case r.Closed:
		r.NextSeq = p.closeAt + 1
	}
	if page.Exit != nil {
		r.Exited, r.ExitCode = true, &page.Exit.Code
		r.SandboxDenied = p.confined && page.Exit.Code != 0 && p.denial.seen
	}
	return r
}

// isOver reports whether the process has ended with all that it started.
func (p *process) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// listed describes the process.
func (p *process) listed() protocol.ListedProcess {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := protocol.ListedProcess{
		ProcessID: p.id, Argv0: p.argv0, StartedAtMs: p.since.UnixMilli(), TTY: p.tty, Exited: p.exit != nil, Closed: p.ended,
	}
	if p.exit != nil {
		l.ExitCode = &p.exit.Code
	}
	return l
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A denialScanner looks for what programs print when something is kept from them.
type denialScanner struct {
	seen bool
	tail []byte // end of the last chunk, in lower case
}

var denials = [][]byte{
	[]byte("operation not permitted"), []byte("permission denied"), []byte("read-only file system"),
	[]byte("network is unreachable"), []byte("address family not supported"),
}

func (s *denialScanner) scan(chunk []byte) {
	const longest = 32
	if s.seen {
		return
	}
	text := append(s.tail, bytes.ToLower(chunk)...)
	for _, denial := range denials {
		if bytes.Contains(text, denial) {
			s.seen, s.tail = true, nil
			return
		}
	}
	s.tail = bytes.Clone(text[max(0, len(text)-longest):])
}
