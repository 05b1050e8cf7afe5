package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

const (
	// mostPages, mostItems and mostListBytes bound what one server may offer of a kind.
	mostPages     = 1000
	mostItems     = 10_000
	mostListBytes = 64 << 20
	// mostItemBytes and itemDepth bound one item; a longer or deeper one is left out. It stands in
	// a list, in a result, in a message.
	mostItemBytes = 256 << 10
	itemDepth     = messageDepth - 3
	// listTime is what a server gets to tell all that it has of a kind.
	listTime = 30 * time.Second
	// restTime is what it gets while it is started for what it has beside tools.
	restTime = 3 * time.Second
	// listPause is the least time between two lists of one server.
	listPause = 250 * time.Millisecond
	// leastFresh and mostFresh bound how long a list that a server gives a time counts as its newest:
	// one that is asked for more often than that tells of changes better by itself.
	leastFresh = time.Second
	mostFresh  = 365 * 24 * time.Hour
)

// A Tool is one that a server offers, as it says. What is raw is JSON, and nil where there is
// none; the texts are a stranger's.
type Tool struct {
	Name, Title, Description               string
	InputSchema, OutputSchema, Annotations json.RawMessage
	// Raw is all of it.
	Raw json.RawMessage
}

// A kind is something that servers have a list of.
type kind int

// The kinds, by their places in kinds.
const (
	tools kind = iota
	resources
	templates
	prompts
)

// kinds says of each how the list is asked for, the member of a page that holds it, and the member
// by which its items differ.
var kinds = [...]struct{ method, member, key string }{
	tools:     {"tools/list", "tools", "name"},
	resources: {"resources/list", "resources", "uri"},
	templates: {"resources/templates/list", "resourceTemplates", "uriTemplate"},
	prompts:   {"prompts/list", "prompts", "name"},
}

// isList reports whether a method asks for a list.
func isList(method string) bool {
	return slices.ContainsFunc(kinds[:], func(k struct{ method, member, key string }) bool { return k.method == method })
}

// Item is a resource, a template of resources or a prompt that a server has. Its texts are a
// stranger's.
type Item = hubconfig.Item

// An offer is what a server has.
type offer struct {
	tools []Tool
	items [len(kinds)][]Item // but for the tools
}

func (o *offer) set(k kind, items []Item) {
	if k != tools {
		o.items[k] = items
		return
	}
	o.tools = make([]Tool, len(items))
	for i, one := range items {
		o.tools[i] = toolOf(one.Raw)
	}
}

// is reports whether items are what there is of a kind.
func (o *offer) is(k kind, items []Item) bool {
	if k != tools {
		return slices.EqualFunc(o.items[k], items, func(a, b Item) bool { return bytes.Equal(a.Raw, b.Raw) })
	}
	return slices.EqualFunc(o.tools, items, func(a Tool, b Item) bool { return bytes.Equal(a.Raw, b.Raw) })
}

// listAll asks for all that the process has. Without its tools a server is of no use, and they are
// not kept waiting for long by what else there is: what it does not tell soon it is asked again
// while it runs.
func (p *run) listAll(ctx context.Context) error {
	items, err := p.list(ctx, tools)
	if err != nil {
		return err
	}
	p.offer.set(tools, items)
	starting := ctx
	ctx, over := p.engine.within(ctx, restTime)
	defer over()
	lists := p.listThese(ctx, [len(kinds)]bool{resources: true, templates: true, prompts: true}, nil)
	for k, l := range lists {
		switch {
		case l.err == nil && l.asked:
			p.offer.set(kind(k), l.items)
		case errors.Is(l.err, errGone) || starting.Err() != nil:
			return cmp.Or(l.err, starting.Err())
		case l.err != nil:
			p.untold[k] = true
			p.mark(kind(k))
			p.log.Warn("an MCP server did not tell what it has", "list", kinds[k].method, "error", l.err)
		}
	}
	return nil
}

// within gives a context that ends when a time is over, and says so.
func (e *Engine) within(ctx context.Context, time time.Duration) (_ context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer, stop := e.options.clock.timer(time)
	go func() {
		select {
		case <-timer:
			cancel(fmt.Errorf("it did not answer within %s", time))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); cancel(nil) }
}

// Told is what became of a list that may have been asked for.
type told struct {
	asked bool
	items []Item
	err   error
}

// listThese asks for the lists of all these kinds at once, and tells each, unless nil, what was answered.
func (p *run) listThese(ctx context.Context, these [len(kinds)]bool, each func(k kind, items []Item)) (lists [len(kinds)]told) {
	var all sync.WaitGroup
	for k, wanted := range these {
		if !wanted || !p.has(kind(k)) {
			continue
		}
		all.Go(func() {
			items, err := p.list(ctx, kind(k))
			if err == nil && each != nil {
				each(kind(k), items)
			}
			lists[k] = told{true, items, err}
		})
	}
	all.Wait()
	return lists
}

// has reports whether a kind is asked for.
func (p *run) has(k kind) bool {
	expose := p.engine.options.Expose
	switch k {
	case tools:
		return true
	case prompts:
		return p.greeting.can["prompts"] && slices.Contains(expose, "prompts")
	}
	return p.greeting.can["resources"] && slices.Contains(expose, "resources")
}

// list asks for all that there is of a kind.
func (p *run) list(ctx context.Context, k kind) ([]Item, error) {
	ctx, over := p.engine.within(ctx, listTime)
	defer over()
	p.listed[k] = p.engine.options.clock.now()
	l := newListing(k)
	warn := func(why string) {
		p.log.Warn("an MCP server has more than is offered, or calls it wrongly", "list", kinds[k].method, "why", why)
	}
	for range mostPages {
		result, err := p.page(ctx, l)
		var said *jsonrpc.Error
		switch {
		case errors.As(err, &said) && said.Code == jsonrpc.MethodNotFound && p.greeting.era != bare && len(l.items) == 0:
			return nil, nil // it has none, but may have other things
		case err != nil:
			return nil, fmt.Errorf("%s: %w", kinds[k].method, err)
		}
		more, warning := l.take(result)
		if warning != "" {
			warn(warning)
		}
		if !more {
			if p.greeting.era == modern {
				p.fresh[k] = l.fresh
			}
			return l.items, nil
		}
	}
	warn(fmt.Sprintf("there are more than %d pages", mostPages))
	return l.items, nil
}

// page asks for one page.
func (p *run) page(ctx context.Context, l *listing) (json.RawMessage, error) {
	params := map[string]any{}
	if l.cursor != "" {
		params["cursor"] = l.cursor
	}
	if meta := p.meta(p.greeting.era, 0, p.config.Offer, p.engine.levelFor(nil)); meta != nil {
		params["_meta"] = meta
	}
	return p.inquire(ctx, kinds[l.kind].method, params)
}

// inquire asks something that is no call, and waits for the answer.
func (p *run) inquire(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	text, _ := json.Marshal(params) // strings are never refused
	q, err := p.pose(ctx, method, func(int64) json.RawMessage { return text }, nil, nil)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, errGone
	}
	p.hearOut(ctx, q)
	select {
	case r := <-q.reply:
		if isGone(r.err) {
			return nil, errGone
		}
		return r.result, r.err
	case <-ctx.Done():
		p.forget(q.id)
		return nil, context.Cause(ctx)
	}
}

// A listing is a list that comes page by page.
type listing struct {
	kind    kind
	items   []Item
	keys    map[string]bool
	cursors map[string]bool
	cursor  string // of the next page
	bytes   int
	fresh   time.Duration // what the server says of the page that is old first; zero is nothing
}

func newListing(k kind) *listing {
	return &listing{kind: k, keys: map[string]bool{}, cursors: map[string]bool{}}
}

// take takes in a page, and tells whether there is another one, and what is wrong.
func (l *listing) take(result json.RawMessage) (more bool, warning string) {
	if result[0] != '{' {
		return false, "a page is not an object"
	}
	l.cursor = ""
	if l.bytes += len(result); l.bytes > mostListBytes {
		return false, fmt.Sprintf("the list is longer than %d bytes", mostListBytes)
	}
	for name, value := range jsonx.Members(result) {
		switch {
		case string(name) == "nextCursor":
			l.cursor, _ = jsonx.Text(value)
		case string(name) == "ttlMs":
			l.age(value)
		case string(name) == kinds[l.kind].member && value[0] == '[':
			for _, one := range jsonx.Elements(value) {
				if odd := l.add(one); odd != "" {
					warning = odd
				}
			}
		}
	}
	switch {
	case len(l.items) > mostItems:
		l.items = l.items[:mostItems]
		return false, fmt.Sprintf("there are more than %d", mostItems)
	case l.cursor == "":
		return false, warning
	case l.cursors[l.cursor]:
		return false, "a page leads back to an earlier one"
	}
	l.cursors[l.cursor] = true
	return true, warning
}

// age takes in for how many milliseconds a page is fresh. Zero says no more than nothing does: it is
// what servers send that nobody told how long, and asking them without end would help nobody.
func (l *listing) age(ms json.RawMessage) {
	n, err := strconv.ParseFloat(string(ms), 64)
	if err != nil || n <= 0 {
		return
	}
	fresh := time.Duration(min(max(n, float64(leastFresh.Milliseconds())), float64(mostFresh.Milliseconds()))) * time.Millisecond
	if l.fresh == 0 || fresh < l.fresh {
		l.fresh = fresh
	}
}

// add takes one item. Of those with one name the first stays.
func (l *listing) add(raw json.RawMessage) (warning string) {
	key := keyOf(raw, kinds[l.kind].key)
	switch {
	case len(raw) > mostItemBytes:
		return fmt.Sprintf("one is longer than %d bytes; it is left out", mostItemBytes)
	case jsonx.Check(raw, jsonx.Limits{Bytes: mostItemBytes, Depth: itemDepth, Values: len(raw)}) != nil:
		return fmt.Sprintf("one is nested deeper than %d; it is left out", itemDepth)
	case key == "":
		return "one has no " + kinds[l.kind].key
	case l.keys[key]:
		return "there are several of one " + kinds[l.kind].key
	}
	raw, wrong := formed(raw, l.kind)
	if wrong != "" {
		return "one has a member " + wrong + "; it is left out"
	}
	l.keys[key] = true
	l.items = append(l.items, Item{Key: key, Raw: bytes.Clone(raw)}) // the page may be mostly what is left out
	return ""
}

// keyOf gives a member of an object that is a text.
func keyOf(raw json.RawMessage, member string) string {
	key, _ := jsonx.Text(jsonx.Member(raw, member))
	return key
}

// toolOf reads an item that has a name.
func toolOf(raw json.RawMessage) Tool {
	t := Tool{Raw: raw}
	for name, value := range jsonx.Members(raw) {
		switch string(name) {
		case "name":
			t.Name, _ = jsonx.Text(value)
		case "title":
			t.Title, _ = jsonx.Text(value)
		case "description":
			t.Description, _ = jsonx.Text(value)
		case "inputSchema":
			t.InputSchema = value
		case "outputSchema":
			t.OutputSchema = value
		case "annotations":
			t.Annotations = value
		}
	}
	return t
}
