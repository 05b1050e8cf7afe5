package egress

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
)

// An upstream is a connection to a target. Whoever has it finishes it.
type upstream struct {
	proxy    *Proxy
	conn     net.Conn // bare: the kernel copies between two of them
	since    time.Time
	up, down atomic.Int64 // bytes
	over     sync.Once
}

// dial goes to the target of the judgement if the rules allow it. A failure is told of at
// once, and told of only here; success is for the caller to tell.
func (p *Proxy) dial(j *judgement) (*upstream, error) {
	conn, err := p.options.Dialer.DialContext(p.life, "tcp", j.target().String())
	if err != nil {
		j.fail(err)
		return nil, err
	}
	if !p.keep(conn) {
		err = &durward.Error{Reason: durward.CallCancelled, Op: "net.proxy"}
		j.fail(err)
		return nil, err
	}
	return &upstream{proxy: p, conn: conn, since: time.Now()}, nil
}

// finish closes the connection and counts it.
func (u *upstream) finish() {
	u.over.Do(func() {
		u.proxy.drop(u.conn)
		u.proxy.tally.connected(time.Since(u.since), u.up.Load(), u.down.Load())
		u.proxy.work.Done()
	})
}
