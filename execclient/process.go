package execclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/durward/durward/execserver/protocol"
)

const (
	// stdinPiece is how much of a write goes in one message.
	stdinPiece = 256 << 10
	// holeWait is how long numbers may come out of order before the server is asked.
	holeWait = time.Second
)

// A Process is one that was started on the server. Its output has to be read, by Next,
// Copy or Wait, or given up by Close: until then a child that puts out more than 1 MiB
// waits, if the server has the capability durwardFlow.
type Process struct {
	c       *Client
	id      string
	sandbox string
	flow    bool
	in      *inbox
	reading chan struct{} // holds one while somebody reads
	writing chan struct{} // holds one while somebody writes
}

// Start starts a process. An empty ProcessID is replaced by one that nobody else uses.
// Flow is asked for where the server has it, unless p.Durward says otherwise.
func (c *Client) Start(ctx context.Context, p protocol.StartParams) (*Process, error) {
	if p.ProcessID == "" {
		p.ProcessID = c.newID()
	}
	if p.Durward == nil && c.Capabilities().DurwardFlow {
		p.Durward = &protocol.StartExtras{Flow: true}
	}
	process, err := c.follow(p.ProcessID, 0, p.Durward != nil && p.Durward.Flow)
	if err != nil {
		return nil, err
	}
	if process.sandbox, err = c.start(ctx, p); err != nil {
		c.unfollow(process)
		return nil, err
	}
	return process, nil
}

// start sends the request until there is an answer. A process of that id that is there
// at the second attempt was started by the first.
func (c *Client) start(ctx context.Context, p protocol.StartParams) (sandbox string, err error) {
	for attempt := 0; ; attempt++ {
		r, err := call[protocol.StartResult](ctx, c, once, protocol.ProcessStart, p)
		switch {
		case err == nil:
			return r.SandboxType, nil
		case errors.Is(err, ErrInterrupted):
		case attempt > 0 && hasCode(err, protocol.InvalidRequest):
			return "", nil
		default:
			return "", err
		}
	}
}

// Attach follows a process of a session that was resumed, from what comes after a
// number on. What the server has dropped by then is reported as a gap. Whether there is
// such a process turns out when it is read from.
func (c *Client) Attach(processID string, afterSeq uint64) (*Process, error) {
	p, err := c.follow(processID, afterSeq, c.Capabilities().DurwardFlow)
	if err == nil {
		p.in.missed()
	}
	return p, err
}

func (c *Client) follow(id string, after uint64, flow bool) (*Process, error) {
	p := &Process{
		c: c, id: id, flow: flow, in: newInbox(after),
		reading: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.processes[id]; twice {
		return nil, fmt.Errorf("execclient: process %q is followed already", id)
	}
	c.processes[id] = p
	return p, nil
}

func (c *Client) unfollow(p *Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.processes[p.id] == p {
		delete(c.processes, p.id)
	}
}

// process gives the one with an id, or nil.
func (c *Client) process(id string) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[id]
}

func (p *Process) output(o protocol.OutputParams) {
	if p != nil {
		p.in.output(o.Seq, o.Stream, o.Chunk)
	}
}

func (p *Process) exited(e protocol.ExitedParams) {
	if p != nil {
		p.in.exited(e.Seq, Exit{Code: e.ExitCode, SandboxDenied: e.SandboxDenied != nil && *e.SandboxDenied})
	}
}

func (p *Process) closed(c protocol.ClosedParams) {
	if p != nil {
		p.in.closed(c.Seq)
	}
}

// ID is the process's id.
func (p *Process) ID() string { return p.id }

// SandboxType is what the server said that holds the process; empty if it did not say.
func (p *Process) SandboxType() string { return p.sandbox }

// Next gives the next piece of output, and waits for it. After the last one it gives
// io.EOF. A *[GapError] stands for what is lost; the call after it gives what follows.
// When ctx ends first, nothing is lost.
func (p *Process) Next(ctx context.Context) (Output, error) {
	if err := acquire(ctx, p.reading); err != nil {
		return Output{}, err
	}
	defer release(p.reading)
	for {
		p.ack(ctx)
		f := p.in.take()
		switch f.step {
		case stepGive:
			return f.output, nil
		case stepGap:
			return Output{}, &GapError{ProcessID: p.id, First: f.gap.first, Last: f.gap.last}
		case stepEnd:
			p.c.unfollow(p)
			return Output{}, io.EOF
		}
		if err := p.more(ctx, f); err != nil {
			return Output{}, err
		}
	}
}

// more asks for what is missing, or waits for what is to come. When the client ends, it was
// disconnected before, and asking tells why.
func (p *Process) more(ctx context.Context, f found) error {
	if f.step == stepAsk {
		return p.ask(ctx)
	}
	var overdue <-chan time.Time
	if f.hole {
		timer := time.NewTimer(holeWait)
		defer timer.Stop()
		overdue = timer.C
	}
	select {
	case <-f.changed:
		return nil
	case <-overdue:
		p.in.missed()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Process) ask(ctx context.Context) error {
	after, misses := p.in.cursor()
	r, err := call[protocol.ReadResult](ctx, p.c, again, protocol.ProcessRead, protocol.ReadParams{ProcessID: p.id, AfterSeq: &after})
	if err != nil {
		return fmt.Errorf("process %q: output after number %d: %w", p.id, after, err)
	}
	p.in.answered(after, misses, r, p.c.session != "")
	return nil
}

// ack tells the server what was taken, now and then. It need not succeed: what was not
// told is told later.
func (p *Process) ack(ctx context.Context) {
	if !p.flow {
		return
	}
	seq, now := p.in.due()
	l, _, _ := p.c.look()
	if now && l != nil {
		p.sendAck(ctx, l, seq) //nolint:errcheck // told later
	}
}

func (p *Process) sendAck(ctx context.Context, l *link, seq uint64) error {
	params, err := protocol.Encode(protocol.AckParams{ProcessID: p.id, Seq: seq})
	if err != nil {
		return err
	}
	if err := l.send(ctx, notification(protocol.ProcessAck, params)); err != nil {
		return err
	}
	p.in.toldTo(seq)
	return nil
}

// Copy writes the output to stdout and stderr until the process is closed, and tells how
// it ended. Output of a terminal goes to stdout. It stops at the first error, a
// *[GapError] included.
func (p *Process) Copy(ctx context.Context, stdout, stderr io.Writer) (Exit, error) {
	for {
		o, err := p.Next(ctx)
		if err == io.EOF {
			return p.lastExit()
		}
		if err != nil {
			return Exit{}, err
		}
		to := stdout
		if o.Stream == protocol.Stderr {
			to = stderr
		}
		if _, err := to.Write(o.Data); err != nil {
			return Exit{}, err
		}
	}
}

// Wait waits until the process is closed, and tells how it ended. Output that was not
// read before is thrown away.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	for {
		exit, err := p.Copy(ctx, io.Discard, io.Discard)
		var gap *GapError
		if !errors.As(err, &gap) {
			return exit, err
		}
	}
}

func (p *Process) lastExit() (Exit, error) {
	exit, known := p.in.ended()
	if !known {
		return exit, fmt.Errorf("process %q: closed without an exit: %w", p.id, errFault)
	}
	return exit, nil
}

// Exit tells how the process ended, if that is known by now. Output may still come.
func (p *Process) Exit() (exit Exit, known bool) { return p.in.ended() }

// Write puts data into the process's terminal, or into its stdin if that was kept open.
// When it returns nil, the server has all of it queued, once. When ctx ends first, it is
// not known how much.
func (p *Process) Write(ctx context.Context, data []byte) error {
	if err := acquire(ctx, p.writing); err != nil {
		return err
	}
	defer release(p.writing)
	for len(data) > 0 {
		n := min(len(data), stdinPiece)
		if err := p.write(ctx, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (p *Process) write(ctx context.Context, piece []byte) error {
	id := p.c.newID()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		r, err := call[protocol.WriteResult](ctx, p.c, again, protocol.ProcessWrite, protocol.WriteParams{ProcessID: p.id, Chunk: piece, WriteID: &id})
		if err != nil {
			return err
		}
		switch r.Status {
		case protocol.WriteAccepted:
			return nil
		case protocol.WriteUnknownProcess:
			return ErrUnknownProcess
		case protocol.WriteStdinClosed:
			return ErrStdinClosed
		case protocol.WriteStarting:
		default:
			return fmt.Errorf("%w: write status %q", errFault, r.Status)
		}
		if !pauseFor(ctx, pause) {
			return ctx.Err()
		}
	}
}

// CloseStdin lets the child read EOF after what was written. It needs the capability
// durwardCloseStdin.
func (p *Process) CloseStdin(ctx context.Context) error {
	if err := acquire(ctx, p.writing); err != nil {
		return err
	}
	defer release(p.writing)
	_, err := call[protocol.Empty](ctx, p.c, again, protocol.ProcessCloseStdin, protocol.CloseStdinParams{ProcessID: p.id})
	return err
}

// Resize tells the process's terminal its size. It needs the capability durwardResize.
func (p *Process) Resize(ctx context.Context, rows, cols uint16) error {
	_, err := call[protocol.Empty](ctx, p.c, again, protocol.ProcessResize, protocol.ResizeParams{ProcessID: p.id, Rows: rows, Cols: cols})
	return err
}

// Signal sends a signal to the process's group.
func (p *Process) Signal(ctx context.Context, s protocol.Signal) error {
	_, err := call[protocol.Empty](ctx, p.c, once, protocol.ProcessSignal, protocol.SignalParams{ProcessID: p.id, Signal: s})
	return err
}

// Terminate kills the process, and tells whether it still ran. With a grace it is asked
// to end first, and killed when that has passed; this needs the capability
// durwardTerminateGrace. The end of its output is to be read as ever.
func (p *Process) Terminate(ctx context.Context, grace time.Duration) (running bool, err error) {
	params := protocol.TerminateParams{ProcessID: p.id}
	if grace > 0 {
		if !p.c.Capabilities().DurwardTerminateGrace {
			return false, fmt.Errorf("a grace before a kill: %w", errors.ErrUnsupported)
		}
		ms := uint64(grace.Milliseconds())
		params.Durward = &protocol.TerminateExtras{GraceMs: &ms}
	}
	r, err := call[protocol.TerminateResult](ctx, p.c, again, protocol.ProcessTerminate, params)
	return r.Running, err
}

// Close kills the process if it still runs, and forgets it and its output.
func (p *Process) Close(ctx context.Context) error {
	for {
		l, err := p.c.current(ctx)
		if err != nil {
			return err
		}
		err = p.giveUp(ctx, l)
		if errors.Is(err, errUnsent) || errors.Is(err, ErrInterrupted) {
			<-l.ended // the next one is another
			continue
		}
		if err == nil {
			p.c.unfollow(p)
		}
		return err
	}
}

// giveUp ends the process on one connection, where the server takes both messages or
// does not answer.
func (p *Process) giveUp(ctx context.Context, l *link) error {
	if p.flow {
		if err := p.sendAck(ctx, l, protocol.AckAll); err != nil {
			return err
		}
	}
	_, err := callOn[protocol.TerminateResult](ctx, l, protocol.ProcessTerminate, protocol.TerminateParams{ProcessID: p.id})
	return err
}

func acquire(ctx context.Context, one chan struct{}) error {
	select {
	case one <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func release(one chan struct{}) { <-one }
