package mcpserve

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

const (
	subscribe   = "resources/subscribe"
	unsubscribe = "resources/unsubscribe"
)

// A watcher is a client that listens to resources: a session, or a request that stays open.
type watcher struct {
	alive context.Context // what it listens to is given up when it ends

	mu    sync.Mutex
	uris  uris     // guarded by mu; also those that are being asked for
	first *Request // guarded by mu; that listened to something; nil before
}

func (w *watcher) has(uri string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.uris.all[uri]
}

// add makes room for a resource; fresh is false where there was that before.
func (w *watcher) add(uri string) (fresh, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uris.all[uri] {
		return false, true
	}
	ok = w.uris.add(uri)
	return ok, ok
}

// remove reports whether the resource was listened to.
func (w *watcher) remove(uri string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	had := w.uris.all[uri]
	w.uris.remove(uri)
	return had
}

// Watches count who listens to each resource, so that its owner is asked to stop when the last one
// has gone, and not before. The zero value has none.
type watches struct {
	mu  sync.Mutex
	all map[string]*watch // guarded by mu
}

// A watch is of one resource.
type watch struct {
	counts int           // guarded by the mu of all; of watchers
	turn   chan struct{} // has an element while the owner is asked
	made   bool          // the owner may have agreed; guarded by turn
}

// join counts a watcher, which unwatch is for.
func (s *watches) join(uri string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*watch{}
	}
	w := s.all[uri]
	if w == nil {
		w = &watch{turn: make(chan struct{}, 1)}
		s.all[uri] = w
	}
	w.counts++
	return w
}

// leave takes a watcher back whose turn it is, and reports whether it was the last one.
func (s *watches) leave(uri string) (w *watch, last bool) {
	s.mu.Lock()
	w = s.all[uri]
	s.mu.Unlock()
	w.turn <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.counts--
	return w, w.counts == 0
}

// left ends what leave began.
func (s *watches) left(uri string, w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	<-w.turn
	if w.counts == 0 {
		delete(s.all, uri)
	}
}

// watch has a client listen to a resource, if there is room and the owner has nothing against it.
// Each client is judged by itself.
func (s *Server) watch(ctx context.Context, by *watcher, r *Request, uri string) (result json.RawMessage, err error) {
	w := s.watches.join(uri)
	fresh, ok := by.add(uri)
	if !ok {
		err = tooManyURIs()
	} else {
		result, err = s.askToWatch(ctx, w, r)
	}
	if err == nil {
		s.releaseAtEnd(by, r)
	}
	if !fresh || err != nil && by.remove(uri) { // else it is kept, or was let go of meanwhile
		_, _ = s.unwatch(r.about(unsubscribe, uri), uri)
	}
	return result, err
}

// askToWatch asks the owner of a resource when nobody else does.
func (s *Server) askToWatch(ctx context.Context, w *watch, r *Request) (json.RawMessage, error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, cancelled()
	}
	defer func() { <-w.turn }()
	result, err := s.Handle(ctx, r)
	w.made = w.made || err == nil || ctx.Err() != nil // then it may have heard of it
	return result, err
}

// unwatch is for a watcher that has let go of a resource. The owner is asked for no more if that
// was the last one.
func (s *Server) unwatch(r *Request, uri string) (result json.RawMessage, err error) {
	w, last := s.watches.leave(uri)
	defer s.watches.left(uri, w)
	if !last || !w.made {
		return json.RawMessage("{}"), nil
	}
	w.made = false
	return s.Handle(context.Background(), r)
}

// releaseAtEnd has a watcher let go of everything when it ends.
func (s *Server) releaseAtEnd(by *watcher, r *Request) {
	by.mu.Lock()
	defer by.mu.Unlock()
	if by.first != nil {
		return
	}
	by.first = r.about(unsubscribe, "")
	context.AfterFunc(by.alive, func() {
		if !s.enter() {
			return // all owners hear of the end
		}
		defer s.leave()
		by.mu.Lock()
		var uris []string
		for uri := range by.uris.all {
			uris = append(uris, uri)
		}
		by.mu.Unlock()
		for _, uri := range uris {
			if by.remove(uri) {
				_, _ = s.unwatch(by.first.about(unsubscribe, uri), uri)
			}
		}
	})
}

// about makes a request about a resource for the same client, which hears of nothing but the answer.
func (r *Request) about(method, uri string) *Request {
	return &Request{
		Method: method, Params: encode(map[string]string{"uri": uri}), ID: r.ID, Modern: r.Modern, Version: r.Version, Client: r.Client, Caller: r.Caller,
		Trace: r.Trace, Surface: r.Surface, message: jsonrpc.Message{Kind: jsonrpc.Request, ID: r.message.ID, Method: method},
		meta: mcpspec.Meta{Level: mcpspec.Silent}, out: newStream(0),
	}
}
