package httpreq

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A wire is a connection for one request and its answer. The end of its context breaks it.
type wire struct {
	net.Conn // what is spoken over
	raw      *counted
	opened   time.Time
	stop     func() bool
	sending  sync.WaitGroup
}

// dial connects to where a request goes.
func (p *prepared) dial(ctx context.Context, r request) (*wire, error) {
	conn, err := p.engine.dialer.DialContext(ctx, "tcp", r.target.String())
	if err != nil {
		return nil, err
	}
	raw := &counted{Conn: conn}
	return &wire{Conn: raw, raw: raw, opened: time.Now(), stop: context.AfterFunc(ctx, func() { conn.Close() })}, nil
}

// exchange sends a request and reads the head of its answer, which may come before all of
// the request is sent. One that was not sent whole says so by the answer that is missing.
func (w *wire) exchange(ctx context.Context, p *prepared, r request) (_ *answer, err error) {
	if r.url.Scheme == "https" {
		if w.Conn, err = netguard.Secure(ctx, w.raw, r.target.Host, p.engine.roots); err != nil {
			return nil, err
		}
	}
	w.sending.Go(func() {
		if _, err := w.Write(r.head()); err == nil && len(r.body) > 0 {
			_, _ = w.Write(r.body)
		}
	})
	return readAnswer(w.Conn, r.method)
}

// close breaks the connection, which nobody uses then, and adds to the traffic what there
// was. It is not said to the other side that this was all: it was asked to say so itself.
func (w *wire) close(l *ledger) {
	w.stop()
	w.raw.Close()
	w.sending.Wait()
	l.closed(time.Since(w.opened), w.raw.up.Load(), w.raw.down.Load())
}

// A counted connection counts its bytes.
type counted struct {
	net.Conn
	up, down atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.down.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.up.Add(int64(n))
	return n, err
}

// A ledger notes where a call went and where it was not let. It is used by one goroutine.
type ledger struct {
	sum  durward.Traffic
	open time.Duration
}

func newLedger() *ledger {
	return &ledger{sum: durward.Traffic{Allowed: []durward.Contact{}, Refused: []durward.Contact{}}}
}

// note adds a request that was let go, or that was refused with err.
func (l *ledger) note(t netguard.Target, err error) {
	to, list := durward.Contact{Host: string(t.Host), Port: t.Port}, &l.sum.Allowed
	if durward.KindOf(err) == durward.Denied {
		to.Rule, list = rule, &l.sum.Refused
	}
	for i, known := range *list {
		if to.Times = known.Times; known == to {
			(*list)[i].Times++
			return
		}
	}
	to.Times = 1
	*list = append(*list, to)
}

func (l *ledger) closed(open time.Duration, up, down int64) {
	l.open += open
	l.sum.Connections++
	l.sum.OpenMs = l.open.Milliseconds()
	l.sum.SentBytes += up
	l.sum.ReceivedBytes += down
}
