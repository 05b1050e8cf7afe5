package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

const (
	// mostPages, mostTools and mostListBytes bound what one server may offer.
	mostPages     = 1000
	mostTools     = 10_000
	mostListBytes = 64 << 20
	// listTime is what a server gets to tell all its tools.
	listTime = 30 * time.Second
	// listPause is the least time between two lists of one server.
	listPause = 250 * time.Millisecond
)

// A Tool is one that a server offers, as it says. What is raw is JSON, and nil where there is
// none; the texts are a stranger's.
type Tool struct {
	Name, Title, Description               string
	InputSchema, OutputSchema, Annotations json.RawMessage
	// Raw is all of it.
	Raw json.RawMessage
}

// list asks for all tools.
func (p *process) list(ctx context.Context) ([]Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	l := &listing{names: map[string]bool{}, cursors: map[string]bool{}}
	for range mostPages {
		result, err := p.page(ctx, l.cursor)
		var said *jsonrpc.Error
		switch {
		case errors.As(err, &said) && said.Code == jsonrpc.MethodNotFound && p.greeting.era != bare && len(l.tools) == 0:
			return nil, nil // it has none, but may have other things
		case err != nil:
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		more, warning := l.take(result)
		if warning != "" {
			p.log.Warn("an MCP server has more tools than are offered, or calls them wrongly", "why", warning)
		}
		if !more {
			return l.tools, nil
		}
	}
	p.log.Warn("an MCP server has more tools than are offered, or calls them wrongly", "why", fmt.Sprintf("there are more than %d pages", mostPages))
	return l.tools, nil
}

// page asks for one page.
func (p *process) page(ctx context.Context, cursor string) (json.RawMessage, error) {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	if meta := p.meta(p.greeting.era, 0); meta != nil {
		params["_meta"] = meta
	}
	return p.inquire(ctx, "tools/list", params)
}

// inquire asks something that is no call, and waits for the answer.
func (p *process) inquire(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	text, _ := json.Marshal(params) // strings are never refused
	q, err := p.ask(ctx, method, func(int64) json.RawMessage { return text }, nil)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, errGone
	}
	select {
	case r := <-q.reply:
		if isGone(r.err) {
			return nil, errGone
		}
		return r.result, r.err
	case <-ctx.Done():
		p.forget(q.id)
		return nil, ctx.Err()
	}
}

// A listing is a list of tools that comes page by page.
type listing struct {
	tools   []Tool
	names   map[string]bool
	cursors map[string]bool
	cursor  string // of the next page
	bytes   int
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
		case string(name) == "tools" && value[0] == '[':
			for _, one := range jsonx.Elements(value) {
				if odd := l.add(one); odd != "" {
					warning = odd
				}
			}
		}
	}
	switch {
	case len(l.tools) > mostTools:
		l.tools = l.tools[:mostTools]
		return false, fmt.Sprintf("there are more than %d", mostTools)
	case l.cursor == "":
		return false, warning
	case l.cursors[l.cursor]:
		return false, "a page leads back to an earlier one"
	}
	l.cursors[l.cursor] = true
	return true, warning
}

// add takes one tool. Of those with one name the first stays.
func (l *listing) add(raw json.RawMessage) (warning string) {
	t := toolOf(raw)
	switch {
	case t.Name == "":
		return "one has no name"
	case l.names[t.Name]:
		return "there are several of one name"
	}
	l.names[t.Name] = true
	l.tools = append(l.tools, t)
	return ""
}

func toolOf(raw json.RawMessage) Tool {
	t := Tool{Raw: raw}
	if raw[0] != '{' {
		return t
	}
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

// followChanges lists the tools again whenever the server says that they are others, or it is
// time to, until the process ends.
func (p *process) followChanges() {
	if p.greeting.listens {
		p.listen()
	}
	for {
		var due <-chan time.Time
		stop := func() {}
		if every := p.engine.options.Refresh; every > 0 {
			due, stop = p.engine.options.clock.timer(every)
		}
		select {
		case <-p.changed:
		case <-due:
		case <-p.talk.Done():
			stop()
			return
		}
		stop()
		p.relist()
		pause, stop := p.engine.options.clock.timer(listPause)
		select {
		case <-pause:
		case <-p.talk.Done():
		}
		stop()
	}
}

// listen asks a modern server to tell of changes. The request stays open.
func (p *process) listen() {
	params, _ := json.Marshal(map[string]any{
		"_meta": p.meta(modern, 0), "notifications": map[string]bool{"toolsListChanged": true},
	})
	_, _ = p.ask(p.talk, "subscriptions/listen", func(int64) json.RawMessage { return params }, nil)
}

func (p *process) relist() {
	tools, err := p.list(p.talk)
	if err != nil {
		if p.talk.Err() == nil {
			p.log.Warn("an MCP server did not tell its tools", "error", err)
		}
		return
	}
	s := p.server
	s.mu.Lock()
	ours := s.process == p
	if ours {
		s.tools = tools
	}
	s.mu.Unlock()
	if ours {
		s.engine.options.Changed(s.config.Name)
	}
}
