package execclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/durward/durward/execserver/protocol"
)

// A dialer opens connections, each with the handshake of the protocol.
type dialer struct {
	args RemoteConnectArgs
	http *http.Client
	done func()
}

func newDialer(args RemoteConnectArgs) *dialer {
	d := &dialer{args: args}
	d.http, d.done = args.httpClient()
	return d
}

func (d *dialer) close() { d.done() }

// errRefused is a server's answer to a connection that will not change by itself.
var errRefused = errors.New("execclient: the server refuses the connection")

// begin opens the first connection. A session that somebody has just left can be taken for
// attached for a moment.
func (d *dialer) begin(ctx, life context.Context, deliver func(string, json.RawMessage) error) (*link, protocol.InitializeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, d.args.Options.ConnectTimeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		l, hello, err := d.dial(ctx, life, d.args.Options.Resume, deliver)
		if !hasCode(err, protocol.SessionAttached) || !pauseFor(ctx, pause) {
			return l, hello, err
		}
	}
}

// dial opens a connection for a session; an empty one is new. The link lives as long as
// life; ctx and the time-out are for the handshake.
func (d *dialer) dial(ctx, life context.Context, session string, deliver func(string, json.RawMessage) error) (*link, protocol.InitializeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, d.args.Options.ConnectTimeout)
	defer cancel()
	ws, err := d.open(ctx)
	if err != nil {
		return nil, protocol.InitializeResult{}, err
	}
	l := newLink(life, ws, d.args.Options.KeepAlive, deliver)
	hello, err := d.greet(ctx, l, session)
	if err != nil {
		l.end(err)
		l.wait() //nolint:errcheck // the reason is err
	}
	return l, hello, err
}

func (d *dialer) open(ctx context.Context) (*websocket.Conn, error) {
	options := &websocket.DialOptions{HTTPClient: d.http, HTTPHeader: http.Header{}}
	if d.args.BearerToken != "" {
		options.HTTPHeader.Set("Authorization", "Bearer "+string(d.args.BearerToken))
	}
	ws, answer, err := websocket.Dial(ctx, d.args.URL, options)
	switch {
	case err == nil:
		return ws, nil
	case answer != nil && answer.StatusCode >= 300 && answer.StatusCode < 500:
		return nil, fmt.Errorf("%w: %s", errRefused, answer.Status)
	}
	return nil, fmt.Errorf("execclient: %w", err)
}

func (d *dialer) greet(ctx context.Context, l *link, session string) (protocol.InitializeResult, error) {
	var hello protocol.InitializeResult
	answer, err := l.call(ctx, protocol.Initialize, d.initialize(session))
	if err != nil {
		return hello, err
	}
	if hello, err = result[protocol.InitializeResult](protocol.Initialize, answer); err != nil {
		return hello, err
	}
	if d.args.Options.Limits != nil && (hello.EnvironmentInfo == nil || !hello.EnvironmentInfo.Capabilities.DurwardLimits) {
		return hello, fmt.Errorf("limits of a session: %w", errors.ErrUnsupported)
	}
	return hello, l.send(ctx, notification(protocol.Initialized, json.RawMessage("{}")))
}

func (d *dialer) initialize(session string) json.RawMessage {
	p := protocol.InitializeParams{ClientName: d.args.Options.ClientName, ResumeSessionID: protocol.ResumeNull()}
	if session != "" {
		p.ResumeSessionID = protocol.ResumeSession(session)
	}
	if limits := d.args.Options.Limits; limits != nil {
		p.Durward = &protocol.InitializeExtras{Limits: limits}
	}
	text, err := protocol.Encode(p)
	if err != nil {
		panic(err) // texts and numbers have a form in JSON
	}
	return text
}

// keep has a connection in the place of each one that is lost, and tells why there is
// none any more. It ends with ctx.
func (c *Client) keep(ctx context.Context, l *link) error {
	for {
		<-l.ended
		c.cutBodies(l) // one of them may hold the connection up
		why := l.wait()
		c.disconnected()
		switch {
		case ctx.Err() != nil:
			return ErrClosed
		case errors.Is(why, errFault):
			return why
		case c.session == "" || c.dialer.args.Options.ResumeTimeout < 0:
			return fmt.Errorf("%w: %w", ErrSessionLost, why)
		}
		var err error
		if l, err = c.resume(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrSessionLost, err)
		}
		c.setLink(l)
		c.acknowledge(ctx, l)
	}
}

const (
	firstPause = 20 * time.Millisecond
	longPause  = 2 * time.Second
)

// resume connects again, and tries until time is up or the server says that the session
// is no more.
func (c *Client) resume(ctx context.Context) (*link, error) {
	within, cancel := context.WithTimeout(ctx, c.dialer.args.Options.ResumeTimeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		l, hello, err := c.dialer.dial(within, ctx, c.session, c.deliver)
		switch {
		case err == nil && hello.SessionID != c.session:
			l.end(errFault)
			l.wait() //nolint:errcheck // the reason is known
			return nil, fmt.Errorf("%w: another session was resumed", errFault)
		case err == nil:
			return l, nil
		case errors.Is(err, errRefused) || errors.Is(err, errFault) || hasCode(err, protocol.InvalidRequest):
			return nil, err
		}
		if !pauseFor(within, pause) {
			return nil, err
		}
	}
}

// pauseFor reports whether the time is up before ctx ends.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// disconnected tells everything that hangs on the connection that it is lost.
func (c *Client) disconnected() {
	c.setLink(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.processes {
		p.in.missed()
	}
	for id, w := range c.watches {
		close(w) // it may have changed
		delete(c.watches, id)
	}
}

// acknowledge tells a new connection what has been taken: the last word on it may have
// been lost, and children wait for it.
func (c *Client) acknowledge(ctx context.Context, l *link) {
	c.mu.Lock()
	taken := make(map[*Process]uint64, len(c.processes))
	for _, p := range c.processes {
		if p.flow {
			taken[p] = p.in.taken()
		}
	}
	c.mu.Unlock()
	for p, seq := range taken {
		if p.sendAck(ctx, l, seq) != nil {
			return // the connection is lost again
		}
	}
}
