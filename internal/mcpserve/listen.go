package mcpserve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// A listener is a request of the newer era that stays open for changes.
type listener struct {
	request jsonrpc.Message // of it, the id
	caller  durward.Caller
	out     *stream
	lists   map[string]bool // methods of notifications; set before it is told anything
	uris    []string        // that were asked for

	watching watcher // those that are told
	end      context.CancelFunc
}

// Listeners are all that are open. The zero value has none.
type listeners struct {
	mu  sync.Mutex
	all map[*listener]struct{} // guarded by mu
}

// What may be open at once, of all callers and of one.
const (
	maxListeners = 256
	maxOfCaller  = 128
)

func (s *listeners) add(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ofCaller := 0
	for other := range s.all {
		if other.caller == l.caller {
			ofCaller++
		}
	}
	if len(s.all) >= maxListeners || ofCaller >= maxOfCaller {
		return false
	}
	if s.all == nil {
		s.all = map[*listener]struct{}{}
	}
	s.all[l] = struct{}{}
	return true
}

func (s *listeners) remove(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
	l.end()
}

func (s *listeners) each(f func(*listener)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.all {
		f(l)
	}
}

const resourceUpdated = "notifications/resources/updated"

// wishes are the members of a filter that name lists, and the notifications of these.
var wishes = []struct{ name, capability, method string }{
	{"toolsListChanged", "tools", "notifications/tools/list_changed"},
	{"promptsListChanged", "prompts", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "resources", "notifications/resources/list_changed"},
}

// listen reads what a request that stays open is to be told of, and keeps it. It is told nothing
// before confirm.
func (s *Server) listen(q *Request) (*listener, *jsonrpc.Error) {
	filter := q.Param("notifications")
	if len(filter) == 0 || filter[0] != '{' {
		return nil, badParams("notifications is not an object of what to listen to")
	}
	l := &listener{request: jsonrpc.Message{Kind: jsonrpc.Request, ID: q.message.ID}, caller: q.Caller, out: q.out}
	for _, wish := range wishes {
		if value := string(jsonx.Member(filter, wish.name)); value != "" && value != "true" && value != "false" {
			return nil, badParams(wish.name + " is neither true nor false")
		}
	}
	if bad := l.follow(jsonx.Member(filter, "resourceSubscriptions")); bad != nil {
		return nil, bad
	}
	l.watching.alive, l.end = context.WithCancel(context.Background())
	if !s.listeners.add(l) {
		l.end()
		return nil, badRequest("too many subscriptions are open")
	}
	return l, nil
}

// confirm says what will be told: what was asked for, is offered at all, and is for the caller.
func (s *Server) confirm(q *Request, l *listener) {
	told, lists, offered := map[string]any{}, map[string]bool{}, s.Capabilities()
	filter := q.Param("notifications")
	for _, wish := range wishes {
		if string(jsonx.Member(filter, wish.name)) == "true" && jsonx.Member(offered, wish.capability) != nil {
			lists[wish.method], told[wish.name] = true, true
		}
	}
	if len(l.uris) > 0 && jsonx.Member(offered, "resources") != nil {
		told["resourceSubscriptions"] = s.watchAll(q, l)
	}
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	l.lists = lists
	l.tell("notifications/subscriptions/acknowledged", encode(map[string]any{"notifications": told}))
}

// watchAll gives those resources that the client may listen to, and does.
func (s *Server) watchAll(q *Request, l *listener) []string {
	watched := []string{}
	for _, uri := range l.uris {
		if _, err := s.watch(l.watching.alive, &l.watching, q.about(subscribe, uri), uri); err == nil {
			watched = append(watched, uri)
		}
		if l.watching.alive.Err() != nil {
			break
		}
	}
	return watched
}

// follow reads the resources of a filter.
func (l *listener) follow(list json.RawMessage) *jsonrpc.Error {
	if list == nil {
		return nil
	}
	if list[0] != '[' {
		return badParams("resourceSubscriptions is no list")
	}
	var all uris
	for _, value := range jsonx.Elements(list) {
		uri, ok := jsonx.Text(value)
		switch {
		case !ok:
			return badParams("resourceSubscriptions is no list of strings")
		case all.all[uri]:
		case !all.add(uri):
			return tooManyURIs()
		default:
			l.uris = append(l.uris, uri)
		}
	}
	return nil
}

// tell sends a notification with the mark of the subscription.
func (l *listener) tell(method string, params json.RawMessage) {
	l.out.put(jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: appendOthers(l.mark(), params, "_meta")}, mayBeLost)
}

// mark begins an object with the _meta of the subscription.
func (l *listener) mark() []byte {
	text := jsonx.AppendString([]byte(`{"_meta":{`), mcpspec.MetaSubscription)
	return append(append(append(text, ':'), l.request.ID.String()...), '}')
}

// over is the answer to the request: nothing more will be told.
func (l *listener) over() jsonrpc.Message {
	return l.request.Answer(append(l.mark(), `,"resultType":"complete"}`...))
}

// wants reports whether a notification is one that was asked for.
func (l *listener) wants(method string, params json.RawMessage) bool {
	if method == resourceUpdated {
		uri, _ := jsonx.Text(jsonx.Member(params, "uri"))
		return l.lists != nil && l.watching.has(uri)
	}
	return l.lists[method]
}

// listenHTTP keeps a subscription open as long as its connection.
func (s *Server) listenHTTP(w http.ResponseWriter, r *http.Request, q *Request) {
	l, bad := s.listen(q)
	if bad != nil {
		refuse(w, http.StatusBadRequest, q.message, bad)
		return
	}
	defer s.listeners.remove(l)
	defer context.AfterFunc(r.Context(), l.end)()
	s.confirm(q, l)
	e := &eventWriter{w: w, stream: q.out, reader: q.out.attach(0)}
	e.begin()
	e.pump(r.Context(), s.done, nil)
	q.out.finish(l.over())
	e.write(q.out.take(e.reader))
}
