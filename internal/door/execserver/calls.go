package execserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// known gives a process by its name, or the refusal where there is none.
func (c *conn) known(id string) (*process, error) {
	if p := c.session.process(id); p != nil {
		return p, nil
	}
	return nil, refusal(protocol.InvalidRequest, "unknown process id %s", id)
}

func (c *conn) readProcess(r request, q protocol.ReadParams) {
	p, err := c.known(q.ProcessID)
	if err != nil {
		c.answer(r, nil, err)
		return
	}
	c.patiently(r, func(ctx context.Context) (func() (json.RawMessage, error), error) {
		result, err := p.read(ctx, q)
		return func() (json.RawMessage, error) { return protocol.Encode(result) }, err
	})
}

func checkWrite(p protocol.WriteParams) error {
	if p.WriteID == nil {
		return nil
	}
	return short(*p.WriteID)
}

// writeProcess queues what a process is to read. The order of the calls is that of the
// queue; the answer comes when there is room.
func (c *conn) writeProcess(r request, q protocol.WriteParams) {
	p := c.session.process(q.ProcessID)
	switch {
	case p == nil:
		c.undelivered(r, q, protocol.WriteUnknownProcess)
		return
	case p.input == nil:
		c.undelivered(r, q, protocol.WriteStdinClosed)
		return
	case !isClosed(p.started):
		c.undelivered(r, q, protocol.WriteStarting)
		return
	}
	if p.isOver() {
		c.answer(r, nil, errGone)
		return
	}
	if !c.unread.tryTake(len(q.Chunk)) {
		c.answer(r, nil, errFull)
		return
	}
	p.input.write(q.WriteID, q.Chunk, func(err error) {
		defer c.unread.give(len(q.Chunk))
		if err != nil {
			c.answer(r, nil, err)
			return
		}
		encode(c, r, protocol.WriteResult{Status: protocol.WriteAccepted})
	})
}

// undelivered says why a write reaches nobody: by a status, or by an error to a client that
// knows of no such thing, as it gives its writes no ids.
func (c *conn) undelivered(r request, q protocol.WriteParams, status protocol.WriteStatus) {
	if q.WriteID != nil {
		encode(c, r, protocol.WriteResult{Status: status})
		return
	}
	c.answer(r, nil, refusal(protocol.InvalidRequest, "nothing can be written to process %s: %s", q.ProcessID, status))
}

// signalProcess interrupts the process group of a process, if that is there.
func (c *conn) signalProcess(r request, q protocol.SignalParams) {
	var err error
	if p := c.session.process(q.ProcessID); p != nil && isClosed(p.started) && p.err == nil {
		err = p.call.Signal(sigInt)
	}
	c.done(r, err)
}

func (c *conn) terminateProcess(r request, q protocol.TerminateParams) {
	var grace time.Duration
	if q.Durward != nil {
		grace = milliseconds(q.Durward.GraceMs)
	}
	p := c.session.process(q.ProcessID)
	encode(c, r, protocol.TerminateResult{Running: p != nil && p.terminate(grace)})
}

func (c *conn) resizeProcess(r request, q protocol.ResizeParams) {
	p, err := c.known(q.ProcessID)
	if err != nil {
		c.answer(r, nil, err)
		return
	}
	c.beside(r, func(ctx context.Context) (json.RawMessage, error) {
		if err := p.begun(ctx); err != nil {
			return nil, err
		}
		return noResult, p.call.Resize(durward.WindowSize{Rows: q.Rows, Cols: q.Cols})
	})
}

func (c *conn) closeStdin(r request, q protocol.CloseStdinParams) {
	p, err := c.known(q.ProcessID)
	if err == nil && p.input == nil {
		err = refusal(protocol.InvalidRequest, "stdin of process %s is closed", q.ProcessID)
	}
	if err == nil {
		p.input.end()
	}
	c.done(r, err)
}

func (c *conn) listProcesses(r request, _ protocol.Empty) {
	result := protocol.ListResult{}
	for _, p := range c.session.list() {
		result.Processes = append(result.Processes, p.listed())
	}
	encode(c, r, result)
}

// noResult answers what was done and has nothing to tell.
var noResult = json.RawMessage("{}")

func (c *conn) done(r request, err error) { c.answer(r, noResult, err) }

// begun waits until a process has been started.
func (p *process) begun(ctx context.Context) error {
	select {
	case <-p.started:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.err != nil {
		return refusal(protocol.InvalidRequest, "unknown process id %s", p.id)
	}
	return nil
}
