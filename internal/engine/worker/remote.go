package worker

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A remote is one worker: where it is, the connections to it that are free, and how it has
// been doing.
type remote struct {
	target   netguard.Target
	host     string // as the Host header has it
	secure   bool
	resolver netguard.Resolver
	roots    *x509.CertPool
	idle     pool
	breaker  breaker
}

func newRemote(baseURL string, o *Options) (*remote, error) {
	u, err := netguard.ParseURL(baseURL)
	if err != nil {
		return nil, err
	}
	target, err := netguard.TargetOf(u)
	if err != nil {
		return nil, err
	}
	return &remote{
		target: target, host: target.In(u.Scheme), secure: u.Scheme == "https", resolver: o.Resolver, roots: o.Roots,
	}, nil
}

// exchange sends what request writes once there is a connection, and takes in the reply, of
// no more than limit bytes. The end of ctx breaks the connection.
func (r *remote) exchange(ctx context.Context, request writer, limit int64) (reply, error) {
	if err := late(ctx); err != nil {
		return reply{}, err
	}
	if c := r.idle.take(); c != nil {
		answer, err := r.over(ctx, c, request, limit)
		if !isUnsent(err) {
			return answer, err
		}
	}
	c, err := r.dial(ctx)
	if err != nil {
		return reply{}, undialled(ctx, err)
	}
	return r.over(ctx, c, request, limit)
}

// late refuses to begin what the worker would have no time for.
func late(ctx context.Context) error {
	end, ok := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		return unsent(durward.Ended(ctx, op))
	case ok && time.Until(end) < leastTime:
		return &durward.Error{Reason: durward.DeadlineExceeded, Op: op, Retry: true, Err: unsent(context.DeadlineExceeded)}
	}
	return nil
}

// over does it over one connection, and keeps that for the next time if it can be used.
func (r *remote) over(ctx context.Context, c *conn, request writer, limit int64) (reply, error) {
	if err := late(ctx); err != nil {
		c.close()
		return reply{}, err
	}
	unwatch := context.AfterFunc(ctx, c.close)
	answer, err := c.roundTrip(c.write(ctx, request), limit)
	watched := unwatch()
	if err == nil && watched && c.reusable {
		r.idle.put(c)
		return answer, nil
	}
	c.close()
	if err != nil && ctx.Err() != nil {
		return reply{}, durward.Ended(ctx, op)
	}
	return answer, err
}

func (r *remote) dial(ctx context.Context) (*conn, error) {
	raw, err := netguard.DialService(ctx, r.target, r.resolver)
	if err != nil {
		return nil, err
	}
	if !r.secure {
		return newConn(raw, raw), nil
	}
	wire, err := netguard.Secure(ctx, raw, r.target.Host, r.roots)
	if err != nil {
		return nil, err
	}
	return newConn(raw, wire), nil
}
