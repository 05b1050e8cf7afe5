// Package mcpservers offers what MCP servers have under one roof: which tools, prompts and
// resources there are, by which names, and what their arguments may name.
//
//	files:  read_file            read_file          and always files__read_file
//	notes:  read_file, list      notes__read_file   and list, or notes__list
//
// [Parse] reads a configuration, [New] makes a source of it. What the servers have is asked for
// whenever one of them has changed.
package mcpservers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/hubconfig"
)

// Engine is the engine that the tools name. Their Spec is a *[hubconfig.Target].
const Engine = "mcpclient"

// A Tool is what a server says of one of its tools.
type Tool struct {
	Name, Title, Description               string
	InputSchema, OutputSchema, Annotations json.RawMessage
	// Raw is all of it.
	Raw json.RawMessage
}

// Servers are what runs. The methods may be called concurrently.
type Servers interface {
	// Tools gives what was last known of a server's tools, in its order, also while it does not
	// run.
	Tools(server string) []Tool
	// Resources, Templates and Prompts do the same of what else a server has.
	Resources(server string) []hubconfig.Item
	Templates(server string) []hubconfig.Item
	Prompts(server string) []hubconfig.Item
	// Running reports whether calls would reach it.
	Running(server string) bool
}

// Options are the parts of a Source. Servers and Judge are required.
type Options struct {
	Servers Servers
	// Judge knows what is inside the sandbox directory.
	Judge Judge
	// Taken are names by which clients of MCP know something else: what a server calls so they see by
	// its qualified name.
	Taken []string
	// Warn is told once of whatever keeps a tool from being offered as it was meant. It must not
	// call the source. Nil tells nobody.
	Warn func(string)
}

// A Source is a [core.Source] and a [core.Binder]. It is safe for concurrent use.
//
// The id of a tool is the name that it has on the HTTP API; [Source.Find] knows its qualified
// name, too, and both also while its server does not run, or the tool is withheld: so nobody who
// trusts a name gets what another server calls so. What is exposed beside tools it knows by
// the ids that [hubconfig.PromptID] and [hubconfig.RequestID] give.
type Source struct {
	config  *hubconfig.Config
	options Options
	servers map[string]server // by name
	view    atomic.Pointer[View]

	mu     sync.Mutex      // held while the view is made
	warned map[string]bool // guarded by mu; what the last view warned of
}

// A server is what is known of one from its configuration.
type server struct {
	*hubconfig.Server
	members
}

// New makes a source of the servers of a configuration, with the tools that are known by now.
func New(c *hubconfig.Config, o Options) (*Source, error) {
	if o.Servers == nil || o.Judge == nil {
		return nil, errors.New("mcpservers: a part is missing")
	}
	s := &Source{config: c, options: o, servers: map[string]server{}}
	for i := range c.Servers {
		one := &c.Servers[i]
		s.servers[one.Name] = server{one, membersOf(one)}
	}
	s.Refresh()
	return s, nil
}

// View gives what is offered now.
func (s *Source) View() *View { return s.view.Load() }

// Refresh asks for the tools anew, of servers of which some may have changed, and reports whether
// what is offered has changed by it. Calls that were found before go on as they are.
func (s *Source) Refresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.view.Load()
	v := s.build(before)
	s.view.Store(v)
	now := map[string]bool{}
	for _, w := range v.Warnings {
		if now[w] = true; !s.warned[w] && s.options.Warn != nil {
			s.options.Warn(w)
		}
	}
	s.warned = now
	return before == nil || before.Version != v.Version || before.ResourcesVersion != v.ResourcesVersion || before.PromptsVersion != v.PromptsVersion
}

// Find gives the tool of that name, or what another request is about, also of a server that does
// not run.
func (s *Source) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	v := s.view.Load()
	if t, ok := s.findRequest(id); ok {
		return t, nil
	}
	if name, ok := hubconfig.OfPrompt(id); ok {
		if e, ok := v.OfPrompt(name); ok {
			return e.Tool, nil
		}
	}
	if e, ok := v.tools.byID[string(id)]; ok {
		return e.Tool, nil
	}
	return durward.Tool{}, &durward.Error{
		Reason: durward.ToolNotFound, Op: "find", Hint: "ask for the list of tools", Err: fmt.Errorf("no server offers a tool %.128q", string(id)),
	}
}

// Tools lists the tools of the servers that run, sorted by id.
func (s *Source) Tools(context.Context) ([]durward.Tool, error) {
	v := s.view.Load()
	tools := make([]durward.Tool, len(v.HTTP))
	for i, e := range v.HTTP {
		tools[i] = e.Tool
	}
	return tools, nil
}

// Bind refuses a tool that is withheld, and arguments that name what is outside the sandbox directory, and, where the
// configuration asks for it, those that do not fit the tool's schema. What it gives has absolute
// paths in the place of relative ones, unless the configuration has them left as they are. The
// detail of a refused path has the members "pointer", "rule" and "given". The params of other
// requests than calls of tools are held to the same; a URI in them may have any scheme.
func (s *Source) Bind(ctx context.Context, t durward.Tool, c durward.Call) (json.RawMessage, error) {
	target, ok := t.Spec.(*hubconfig.Target)
	if !ok {
		return nil, fmt.Errorf("the tool %q is none of an MCP server", t.ID)
	}
	one, ok := s.servers[target.Server]
	if !ok {
		return nil, fmt.Errorf("the tool %q is of no server that is configured", t.ID)
	}
	v := s.view.Load()
	if e, ok := v.tools.byID[string(t.ID)]; ok && e.withheld {
		return nil, &durward.Error{
			Reason: durward.ToolsChanged, Op: "bind", Hint: "look at the change with durward server diff, and approve it",
			Err: fmt.Errorf("the tool %q of server %q is withheld: it is not what was approved", e.Original, e.Server),
		}
	}
	input := c.Input
	if one.PathPolicy != "off" {
		w := walk{members: one.members, judge: s.options.Judge, verbatim: s.config.ForwardPaths == "verbatim", dir: one.Dir}
		var err error
		if input, err = w.request(ctx, target.Method, c.Input); err != nil {
			return nil, err
		}
	}
	return input, v.schemas[string(t.Input)].Judge(c.Input)
}

var (
	_ core.Source = (*Source)(nil)
	_ core.Binder = (*Source)(nil)
)
