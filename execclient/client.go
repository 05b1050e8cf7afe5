package execclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/durward/durward/execserver/protocol"
)

// A Client is a session with a server, over one connection at a time. It is to be
// closed.
type Client struct {
	dialer  *dialer
	session string // empty if the server has no sessions
	info    *protocol.EnvironmentInfo
	own     string        // begins ids that no other client of the session makes
	ids     atomic.Uint64 // ends them
	stop    context.CancelFunc
	gone    chan struct{} // closed when nothing of the client is left running
	ended   chan struct{} // closed when there will be no connection any more

	mu        sync.Mutex
	link      *link                    // guarded by mu; nil while there is none
	changed   chan struct{}            // guarded by mu; closed and replaced when link changes
	err       error                    // guarded by mu; why there will be none
	processes map[string]*Process      // guarded by mu; those that are followed
	bodies    map[string]*Body         // guarded by mu; those that come
	watches   map[uint64]chan struct{} // guarded by mu; those that wait
}

// Dial connects to a server and begins a session, or goes on with one. The ctx is for
// that alone: the client lives until it is closed.
func Dial(ctx context.Context, args RemoteConnectArgs) (*Client, error) {
	args.Options = args.Options.withDefaults()
	if err := args.check(); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Client{
		dialer: newDialer(args), own: rand.Text()[:8], stop: stop,
		gone: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{}),
		processes: make(map[string]*Process), bodies: make(map[string]*Body), watches: make(map[uint64]chan struct{}),
	}
	l, hello, err := c.dialer.begin(ctx, life, c.deliver)
	if err != nil {
		stop()
		c.dialer.close()
		return nil, err
	}
	c.session, c.info = hello.SessionID, hello.EnvironmentInfo
	c.setLink(l)
	go func() {
		defer close(c.gone)
		defer c.dialer.close()
		c.end(c.keep(life, l))
	}()
	return c, nil
}

// Close gives the connection up, and waits until nothing of the client is left.
// Processes that run are the server's to end: it waits a while for the session to be
// resumed first. It is safe to close twice.
func (c *Client) Close() error {
	c.stop()
	<-c.gone
	return nil
}

// Session is the id to resume the session with; whoever knows it can. It is empty if
// the server has no sessions.
func (c *Client) Session() string { return c.session }

// Done is closed when the session is over for this client.
func (c *Client) Done() <-chan struct{} { return c.ended }

// Err tells why the session is over, or nil while it is not.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Capabilities tells what the server said that it can do when the session began.
func (c *Client) Capabilities() protocol.Capabilities {
	if c.info == nil {
		return protocol.Capabilities{}
	}
	return c.info.Capabilities
}

// EnvironmentInfo asks what machine the server is on.
func (c *Client) EnvironmentInfo(ctx context.Context) (protocol.EnvironmentInfo, error) {
	return call[protocol.EnvironmentInfo](ctx, c, again, protocol.EnvironmentInfoCall, protocol.Empty{})
}

// EnvironmentStatus asks whether the server takes calls.
func (c *Client) EnvironmentStatus(ctx context.Context) (string, error) {
	result, err := call[protocol.EnvironmentStatusResult](ctx, c, again, protocol.EnvironmentStatus, protocol.Empty{})
	return result.Status, err
}

// List gives the processes of the session. It needs the capability durwardList.
func (c *Client) List(ctx context.Context) ([]protocol.ListedProcess, error) {
	result, err := call[protocol.ListResult](ctx, c, again, protocol.ProcessList, protocol.Empty{})
	return result.Processes, err
}

// newID gives an id that no other client of the session makes.
func (c *Client) newID() string {
	return c.own + "-" + strconv.FormatUint(c.ids.Add(1), 10)
}

// A retry says what becomes of a call whose connection was lost before the answer.
type retry bool

const (
	once  retry = false // it may have been carried out, so it is interrupted
	again retry = true  // it is made again
)

// call makes a call and reads the result.
func call[R, P any](ctx context.Context, c *Client, try retry, method string, params P) (R, error) {
	var none R
	raw, err := protocol.Encode(params)
	if err != nil {
		return none, fmt.Errorf("%s: %w", method, err)
	}
	answer, err := c.call(ctx, try, method, raw)
	if err != nil {
		return none, err
	}
	return result[R](method, answer)
}

func result[R any](method string, raw json.RawMessage) (R, error) {
	r, err := protocol.Decode[R](raw)
	if err != nil {
		err = fmt.Errorf("%s: %w: %w", method, errFault, err)
	}
	return r, err
}

// callOn makes a call on one connection, for what ends with it.
func callOn[R, P any](ctx context.Context, l *link, method string, params P) (R, error) {
	var none R
	raw, err := protocol.Encode(params)
	if err != nil {
		return none, fmt.Errorf("%s: %w", method, err)
	}
	answer, err := l.call(ctx, method, raw)
	if err != nil {
		return none, err
	}
	return result[R](method, answer)
}

// call makes a call on whatever connection there is, and waits for one.
func (c *Client) call(ctx context.Context, try retry, method string, params json.RawMessage) (json.RawMessage, error) {
	for {
		l, err := c.current(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := l.call(ctx, method, params)
		switch {
		case errors.Is(err, errUnsent):
		case errors.Is(err, ErrInterrupted) && try == again:
		default:
			return answer, err
		}
		<-l.ended // the next one is another
	}
}

// current gives the connection, and waits for one.
func (c *Client) current(ctx context.Context) (*link, error) {
	for {
		l, changed, err := c.look()
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) look() (*link, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil && c.link.isOver() {
		return nil, c.changed, c.err
	}
	return c.link, c.changed, c.err
}

func (c *Client) setLink(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	c.changeLocked()
}

func (c *Client) changeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// end ends everything that waits for the server.
func (c *Client) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link, c.err = nil, why
	c.changeLocked()
	close(c.ended)
}

// deliver takes a notification. Those that nobody waits for are passed over.
func (c *Client) deliver(method string, params json.RawMessage) error {
	switch method {
	case protocol.ProcessOutput:
		return take(params, func(p protocol.OutputParams) { c.process(p.ProcessID).output(p) })
	case protocol.ProcessExited:
		return take(params, func(p protocol.ExitedParams) { c.process(p.ProcessID).exited(p) })
	case protocol.ProcessClosed:
		return take(params, func(p protocol.ClosedParams) { c.process(p.ProcessID).closed(p) })
	case protocol.HTTPBodyDelta:
		return take(params, func(p protocol.HTTPBodyDeltaParams) { c.body(p) })
	case protocol.FSMissingChanged:
		return take(params, func(p protocol.MissingChangedParams) { c.fire(p.WatchID) })
	}
	return nil
}

func take[P any](params json.RawMessage, with func(P)) error {
	p, err := protocol.Decode[P](params)
	if err != nil {
		return fmt.Errorf("%w: %w", errFault, err)
	}
	with(p)
	return nil
}
