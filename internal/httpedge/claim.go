package httpedge

import (
	"errors"
	"net/http"

	"github.com/durward/durward"
)

// reserve is the part of all connections that no caller can have: one in so many. Others need
// few to see how a server is.
const reserve = 64

// claim notes whose request is answered, and refuses one of a caller whose requests hold all
// that one may. It is counted only when there are that many at all.
func claim(r *http.Request, caller durward.Caller) error {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return nil // some other server counts
	}
	c.mu.Lock()
	c.caller = caller
	c.mu.Unlock()
	most := cap(c.listener.slots) - cap(c.listener.slots)/reserve
	if len(c.listener.slots) <= most || c.listener.heldBy(caller) <= most {
		return nil
	}
	return &durward.Error{
		Reason: durward.QueueFull, Op: op, Retry: true, Hint: "wait for the answers to earlier requests",
		Err: errors.New("the caller has a request open on nearly every connection that there may be"),
	}
}

// heldBy counts the connections on which requests of a caller are answered.
func (l *listener) heldBy(caller durward.Caller) (held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if c.serves(caller) {
			held++
		}
	}
	return held
}

func (c *conn) serves(caller durward.Caller) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rest.since == 0 && c.caller == caller
}
