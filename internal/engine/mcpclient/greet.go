package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// The eras.
const (
	modern = "modern"
	legacy = "legacy"
	bare   = "bare"
)

const (
	greetTime = 10 * time.Second
	// silentTime is after how long without an answer something else is tried.
	silentTime = 2 * time.Second
)

var (
	// errGone is of a server that ended while it was being started.
	errGone = errors.New("the server ended while it was being started")
	// errUnfit is of one that may have ended because it did not know the first request.
	errUnfit = fmt.Errorf("%w, perhaps by what it was asked first", errGone)
	errMute  = errors.New("the server did not complete its handshake within 10 seconds")
)

// A greeting is what was agreed on with a server.
type greeting struct {
	era, version string
	can          abilities
}

// Abilities are what a server says that it can do: "resources", and "resources.subscribe" where it
// can do that, too.
type abilities map[string]bool

func abilitiesOf(said json.RawMessage) abilities {
	can := abilities{}
	if len(said) == 0 || said[0] != '{' {
		return can
	}
	for name, value := range jsonx.Members(said) {
		if value[0] != '{' {
			continue
		}
		can[string(name)] = true
		for more, on := range jsonx.Members(value) {
			can[string(name)+"."+string(more)] = string(on) == "true"
		}
	}
	return can
}

// A talk is a greeting that is going on. What was asked earlier may still be answered when
// something else has been tried: a server that is slow to start reads all of it at once.
type talk struct {
	*run
	ctx context.Context
	// discovered, initialized and listed get the answers; each is nil until that was asked, and the
	// first one once it was answered, too.
	discovered, initialized, listed chan reply
	failed                          error // what initialize was answered
}

// greet finds out how a server is to be spoken to, beginning with what fits an era; an empty one
// is not known yet.
func (p *run) greet(ctx context.Context, era string) (g greeting, err error) {
	clock := p.engine.options.clock
	limit, stop := clock.timer(greetTime)
	defer stop()
	t := &talk{run: p, ctx: ctx}
	switch era {
	case legacy:
		err = t.initialize()
	case bare:
		err = t.tryBare()
	default:
		err = t.discover()
	}
	for err == nil && g.era == "" {
		silent, stop := clock.timer(silentTime)
		g, err = t.hear(silent, limit)
		stop()
	}
	if err == nil && g.era != legacy { // who is legacy was told before the notification
		p.body.agree(g)
	}
	if errors.Is(err, errGone) && era == "" {
		err = errUnfit
	}
	return g, err
}

// hear takes in the next thing that happens. What was asked earlier comes first: who answers
// both is of that era.
func (t *talk) hear(silent, limit <-chan time.Time) (greeting, error) {
	select {
	case r := <-t.discovered:
		return t.heardDiscover(r)
	default:
	}
	select {
	case r := <-t.initialized:
		return t.heardInitialize(r)
	default:
	}
	select {
	case r := <-t.discovered:
		return t.heardDiscover(r)
	case r := <-t.initialized:
		return t.heardInitialize(r)
	case r := <-t.listed:
		return t.heardList(r)
	case <-silent:
		return greeting{}, t.tryNext()
	case <-limit:
		return greeting{}, errors.Join(errMute, t.failed)
	case <-t.ctx.Done():
		return greeting{}, t.ctx.Err()
	}
}

// tryNext asks what has not been asked yet.
func (t *talk) tryNext() error {
	switch {
	case t.initialized == nil && t.listed == nil:
		return t.initialize()
	case t.refused():
		return t.failed
	case t.listed == nil:
		return t.tryBare()
	}
	return nil
}

// refused reports whether the server knows initialize, and does not want this one.
func (t *talk) refused() bool {
	var said *jsonrpc.Error
	return t.failed != nil && !(errors.As(t.failed, &said) && said.Code == jsonrpc.MethodNotFound)
}

func (t *talk) discover() (err error) {
	t.discovered, err = t.question("server/discover", t.modernParams())
	return err
}

func (t *talk) initialize() (err error) {
	params, _ := json.Marshal(map[string]any{ // strings are never refused
		"protocolVersion": mcpspec.Newest, "capabilities": capabilities(t.own(), t.config.Offer), "clientInfo": t.engine.clientInfo(),
	})
	t.initialized, err = t.question("initialize", params)
	return err
}

// own are the capabilities of all clients of legacy servers.
func (t *talk) own() map[string]any {
	if !t.rooted() {
		return map[string]any{}
	}
	return map[string]any{"roots": struct{}{}}
}

func (t *talk) tryBare() (err error) {
	t.listed, err = t.question("tools/list", json.RawMessage(`{}`))
	return err
}

// question sends a request that is small enough for any pipe.
func (t *talk) question(method string, params json.RawMessage) (chan reply, error) {
	q, err := t.ask(t.ctx, method, func(int64) json.RawMessage { return params })
	switch {
	case t.ctx.Err() != nil:
		return nil, t.ctx.Err()
	case err != nil:
		return nil, errGone
	}
	return q.reply, nil
}

// heardDiscover takes a server for a modern one if it says so. Whatever else it says, it may be
// one that wants a handshake.
func (t *talk) heardDiscover(r reply) (greeting, error) {
	var said struct {
		Supported    []string        `json:"supportedVersions"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	t.discovered = nil // nothing more comes of it
	switch {
	case isGone(r.err):
		return greeting{}, errGone
	case r.err == nil && lax(r.result, &said) == nil && slices.Contains(said.Supported, mcpspec.Modern):
		return greeting{era: modern, version: mcpspec.Modern, can: abilitiesOf(said.Capabilities)}, nil
	case refusesVersion(r.err):
		return greeting{era: modern, version: mcpspec.Modern}, nil
	case t.initialized == nil:
		return greeting{}, t.initialize()
	}
	return greeting{}, nil
}

// refusesVersion reports whether a server has answered that it knows other revisions, as only
// modern ones do, and that none of those it knows begins with a handshake.
func refusesVersion(err error) bool {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != mcpspec.CodeVersion {
		return false
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	known := e.Data != nil && lax(e.Data, &data) == nil
	return !known || slices.Contains(data.Supported, mcpspec.Modern) || !slices.ContainsFunc(data.Supported, isLegacy)
}

// isLegacy reports whether a revision begins with a handshake. All are dates.
func isLegacy(version string) bool { return mcpspec.Oldest <= version && version <= mcpspec.Newest }

func (t *talk) heardInitialize(r reply) (greeting, error) {
	var said struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	var refused *jsonrpc.Error
	switch {
	case isGone(r.err):
		return greeting{}, errGone
	case errors.As(r.err, &refused) && refused.Code == jsonrpc.MethodNotFound:
		t.failed = refused
		return greeting{}, t.tryNext()
	case r.err != nil:
		t.failed = fmt.Errorf("it answered initialize with an error: %w", r.err)
		if t.discovered == nil {
			return greeting{}, t.failed
		}
		return greeting{}, nil // discover may be answered yet
	case lax(r.result, &said) != nil || !isLegacy(said.Version):
		return greeting{}, fmt.Errorf("it answered initialize with revision %q; known are those from %s to %s", said.Version, mcpspec.Oldest, mcpspec.Newest)
	}
	g := greeting{era: legacy, version: said.Version, can: abilitiesOf(said.Capabilities)}
	t.body.agree(g)
	t.notify(t.ctx, initialized, nil)
	return g, nil
}

func (t *talk) heardList(r reply) (greeting, error) {
	switch {
	case isGone(r.err):
		return greeting{}, errGone
	case len(t.discovered) > 0 || len(t.initialized) > 0:
		t.listed <- r // they were answered before
		return greeting{}, nil
	case r.err == nil:
		return greeting{era: bare}, nil
	case t.initialized == nil || t.failed != nil:
		return greeting{}, fmt.Errorf("it answered tools/list with an error: %w", r.err)
	}
	return greeting{}, nil // it waits for initialize to be done
}

// isGone reports whether a server cannot be asked any more.
func isGone(err error) bool {
	reason := durward.ReasonOf(err)
	return reason == durward.ServerDisconnected || reason == durward.ServerStopped
}

// lax decodes what has been checked, whatever else there is in it.
func lax(text []byte, into any) error {
	return jsonx.Decode(text, into, jsonx.Options{
		Limits: jsonx.Limits{Bytes: int64(len(text)), Depth: messageDepth, Values: len(text)}, IgnoreUnknown: true,
	})
}

type clientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

const clientName = "durward"

func (e *Engine) clientInfo() clientInfo { return clientInfo{clientName, e.options.Version} }

// meta is what each request to a modern server holds, and for a call whose progress is wanted
// the token to report it under. It is nil where there is nothing to say.
func (p *run) meta(era string, token int64, offered []string, level string) json.RawMessage {
	if era != modern && token == 0 {
		return nil
	}
	m := append(make([]byte, 0, metaBytes), '{')
	if era == modern {
		m = append(member(m, mcpspec.MetaCapabilities), '{')
		for _, offer := range offered {
			m = append(member(m, offer), offers[offer].holds...)
		}
		m = append(member(append(m, '}'), mcpspec.MetaClientInfo), '{')
		m = jsonx.AppendString(member(m, "name"), clientName)
		m = jsonx.AppendString(member(m, "version"), p.engine.options.Version)
		m = append(m, '}')
		if level != "" {
			m = jsonx.AppendString(member(m, mcpspec.MetaLogLevel), level)
		}
		m = jsonx.AppendString(member(m, mcpspec.MetaVersion), mcpspec.Modern)
	}
	if token != 0 {
		m = strconv.AppendInt(member(m, "progressToken"), token, 10)
	}
	return append(m, '}')
}

// member begins the next member of an object that is being written. Every call waits for this, so
// it is done without looking at types.
func member(object []byte, name string) []byte {
	if object[len(object)-1] != '{' {
		object = append(object, ',')
	}
	return append(jsonx.AppendString(object, name), ':')
}

// modernParams are those of a request to a modern server that says nothing but what it must.
func (p *run) modernParams() json.RawMessage {
	params, _ := json.Marshal(map[string]any{"_meta": p.meta(modern, 0, p.config.Offer, p.engine.levelFor(nil))}) // plain values are never refused
	return params
}
