package mcpservers

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// A Resource is a resource, or a template of resources, of one server.
type Resource struct {
	Server string
	// URI is its own, or the template.
	URI string
	// Raw is what the server says of it.
	Raw json.RawMessage
}

// exposes reports whether the configuration offers "resources" or "prompts".
func (s *Source) exposes(what string) bool { return slices.Contains(s.config.Expose, what) }

// isReserved reports whether an id stands for a request, and can be no tool's.
func isReserved(id string) bool {
	_, _, request := hubconfig.OfRequest(durward.ToolID(id))
	_, prompt := hubconfig.OfPrompt(durward.ToolID(id))
	return request || prompt
}

// findRequest gives what a server is sent that is about no tool or prompt.
func (s *Source) findRequest(id durward.ToolID) (durward.Tool, bool) {
	server, method, ok := hubconfig.OfRequest(id)
	one, known := s.servers[server]
	switch {
	case !ok || !known || one.Disabled:
		return durward.Tool{}, false
	case !s.exposes("resources") && (method != hubconfig.Complete || !s.exposes("prompts")):
		return durward.Tool{}, false
	}
	return durward.Tool{ID: id, Engine: Engine, Server: server, Spec: &hubconfig.Target{Server: server, Method: method}}, true
}

// addPrompts names the prompts as tools are named.
func (s *Source) addPrompts(v *View) {
	var all []*Entry
	for _, one := range s.config.Servers {
		if one.Disabled {
			continue
		}
		running := s.options.Servers.Running(one.Name)
		for _, item := range s.options.Servers.Prompts(one.Name) {
			all = append(all, &Entry{
				Server: one.Name, Original: item.Key, Said: Tool{Name: item.Key, Raw: item.Raw}, Running: running, bare: item.Key,
			})
		}
	}
	all = v.prompts.qualify(all)
	v.prompts.nameMCP(all, s.config.Prefix)
	for _, e := range all {
		name := e.MCPName
		if name == "" {
			name = e.Qualified
		}
		e.Tool = durward.Tool{
			ID: hubconfig.PromptID(name), Engine: Engine, Server: e.Server, Spec: &hubconfig.Target{Server: e.Server, Tool: e.Original, Method: hubconfig.GetPrompt},
		}
		if e.Running && e.MCPName != "" {
			v.Prompts = append(v.Prompts, e)
		}
	}
	slices.SortFunc(v.Prompts, func(a, b *Entry) int { return strings.Compare(a.MCPName, b.MCPName) })
	v.PromptsVersion = version(v.Prompts)
}

// Owners say which server a URI is for.
type owners struct {
	resources map[string]string // to the names of servers
	templates map[string]string
	order     []template // as the configuration and the servers have them
	servers   []string   // that have any
}

// A template matches the URIs that it may stand for.
type template struct {
	server  string
	matches func(uri string) bool
}

// addResources gives each URI to the first server, in the order of the configuration, that has it.
func (s *Source) addResources(v *View) {
	v.owners = owners{resources: map[string]string{}, templates: map[string]string{}}
	var parts []string
	for _, one := range s.config.Servers {
		if one.Disabled {
			continue
		}
		running := s.options.Servers.Running(one.Name)
		take := func(what string, items []hubconfig.Item, by map[string]string, list *[]Resource) {
			for _, item := range items {
				if owner, taken := by[item.Key]; taken {
					v.warn("the %s %.128q of server %q is left out, since server %q has it, too", what, item.Key, one.Name, owner)
					continue
				}
				by[item.Key] = one.Name
				if running {
					*list = append(*list, Resource{Server: one.Name, URI: item.Key, Raw: item.Raw})
					parts = append(parts, what, one.Name, string(item.Raw))
				}
			}
		}
		known, patterns := s.options.Servers.Resources(one.Name), s.options.Servers.Templates(one.Name)
		take("resource", known, v.owners.resources, &v.Resources)
		take("template", patterns, v.owners.templates, &v.Templates)
		if left := v.owners.add(one.Name, patterns); left > 0 {
			v.warn("server %q has %d templates of resources too many: no URI is looked for in them", one.Name, left)
		}
		if len(known)+len(patterns) > 0 {
			v.owners.servers = append(v.owners.servers, one.Name)
		}
	}
	v.ResourcesVersion = digest(parts)
}

// add takes in the templates of a server that are its own, and tells how many are left out since
// there are too many.
func (o *owners) add(server string, patterns []hubconfig.Item) (left int) {
	taken := 0
	for _, item := range patterns {
		switch {
		case o.templates[item.Key] != server:
		case taken == maxTemplates:
			left++
		default:
			taken++
			pattern := sync.OnceValue(func() matcher { return matcherOf(item.Key) }) // most are never looked at
			o.order = append(o.order, template{server, func(uri string) bool { return pattern().match(uri) }})
		}
	}
	return left
}

// OfResource finds the server that a URI is for, also one that does not run: that which lists it
// or, as it is, a template of it; else the first of which a template matches it; else the only one
// that has resources. One that is longer than [hubconfig.MaxURI] is for none.
func (v *View) OfResource(uri string) (server string, ok bool) {
	if len(uri) > hubconfig.MaxURI {
		return "", false
	}
	for _, by := range []map[string]string{v.owners.resources, v.owners.templates} {
		if server, ok = by[uri]; ok {
			return server, true
		}
	}
	for _, t := range v.owners.order {
		if t.matches(uri) {
			return t.server, true
		}
	}
	if len(v.owners.servers) == 1 {
		return v.owners.servers[0], true
	}
	return "", false
}
