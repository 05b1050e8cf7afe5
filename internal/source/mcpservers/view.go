package mcpservers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/schema"
)

// A View is what is offered at one moment. It never changes.
type View struct {
	// Version is another one when other tools are offered, ResourcesVersion when other resources
	// or templates are, and PromptsVersion when other prompts are.
	Version, ResourcesVersion, PromptsVersion string
	// HTTP are the tools of the servers that run, by their ids; MCP are those that clients of MCP
	// see, by the names that these see.
	HTTP, MCP []*Entry
	// Resources, Templates and Prompts are those of the servers that run: the resources in the
	// order of the configuration and of their servers, the prompts by the names that clients see.
	// They are empty where the configuration does not expose them.
	Resources, Templates []Resource
	Prompts              []*Entry
	// Withheld are the tools that are not what they were when they were pinned.
	Withheld []Withheld
	// Warnings say what is not offered as it was meant.
	Warnings []string

	tools, prompts naming
	owners         owners
	schemas        map[string]*schema.Schema
}

// An Entry is one tool or prompt.
type Entry struct {
	// Tool has the id by which it is called: the name on the HTTP API of a tool, and what
	// [hubconfig.PromptID] gives of a prompt.
	durward.Tool
	// MCPName is the name that clients of MCP see; empty where it has none for them.
	MCPName string
	// Server, Original and Qualified are the name of the server, the server's own name of it, and the name by which it can always be called.
	Server, Original, Qualified string
	// Said is what the server says of it; of a prompt the name and Raw alone.
	Said Tool
	// Running reports whether its server ran at the moment of the view.
	Running bool

	bare     string // its name without the server's
	withheld bool   // it is not what it was when it was pinned: it keeps its names, and does nothing
}

// OfMCP finds a tool by the name that clients of MCP see, or by the qualified one, also of a
// server that does not run.
func (v *View) OfMCP(name string) (*Entry, bool) {
	e, ok := v.tools.byMCP[name]
	return e, ok
}

// OfPrompt finds a prompt as OfMCP does a tool. A call of it has its ID, and as the input the
// params of prompts/get; whatever name they have, the server is sent its own.
func (v *View) OfPrompt(name string) (*Entry, bool) {
	e, ok := v.prompts.byMCP[name]
	return e, ok
}

func (v *View) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, args...))
}

// build makes a view of what the servers have now.
func (s *Source) build(before *View) *View {
	v := &View{}
	names := s.enabled()
	v.tools, v.prompts = newNaming("tool", names, v.warn), newNaming("prompt", names, v.warn)
	v.tools.taken = s.options.Taken
	all := v.tools.qualify(s.collect(v))
	v.tools.nameHTTP(all)
	v.tools.nameMCP(all, s.config.Prefix)
	all = slices.DeleteFunc(all, func(e *Entry) bool { return e.withheld })
	for _, e := range all {
		if !e.Running {
			continue
		}
		v.HTTP = append(v.HTTP, e)
		if e.MCPName != "" {
			v.MCP = append(v.MCP, e)
		}
	}
	slices.SortFunc(v.HTTP, func(a, b *Entry) int { return strings.Compare(string(a.ID), string(b.ID)) })
	slices.SortFunc(v.MCP, func(a, b *Entry) int { return strings.Compare(a.MCPName, b.MCPName) })
	v.Version = version(v.HTTP)
	if s.exposes("prompts") {
		s.addPrompts(v)
	}
	if s.exposes("resources") {
		s.addResources(v)
	}
	if s.config.ValidateArguments {
		v.compile(all, before)
	}
	return v
}

// enabled lists the names of the servers that may run.
func (s *Source) enabled() (names []string) {
	for _, one := range s.config.Servers {
		if !one.Disabled {
			names = append(names, one.Name)
		}
	}
	return names
}

// collect lists the tools that may be offered, and those that are withheld, in the order of the
// configuration.
func (s *Source) collect(v *View) []*Entry {
	var all []*Entry
	for i := range s.config.Servers {
		one := &s.config.Servers[i]
		if one.Disabled {
			continue
		}
		running := s.options.Servers.Running(one.Name)
		known := s.options.Servers.Tools(one.Name)
		seen := map[string]bool{}
		for _, said := range known {
			e := entryOf(one, said, running)
			switch pin, pinned := one.ToolHashes[said.Name]; {
			case said.Name == "":
				v.warn("server %q has a tool without a name; it is left out", one.Name)
			case !one.Allows(said.Name):
			case isReserved(e.bare):
				v.warn("server %q has a tool called %q, which stands for something else here; it is left out", one.Name, e.bare)
			case seen[e.bare]:
				v.warn("server %q has two tools called %q; the first is kept", one.Name, e.bare)
			default:
				if e.withheld = pinned && pin != Pin(said); e.withheld {
					v.Withheld = append(v.Withheld, Withheld{Server: one.Name, Want: pin, Got: Pin(said), Tool: said})
					v.warn("the tool %q of server %q is not what it was when it was pinned; it is withheld", said.Name, one.Name)
				}
				seen[e.bare] = true
				all = append(all, e)
			}
		}
		if running {
			v.findMissing(one, known)
		}
	}
	return all
}

// findMissing warns of tools that the configuration names and the server does not have.
func (v *View) findMissing(one *hubconfig.Server, known []Tool) {
	named := map[string]string{}
	for name := range one.ToolHashes {
		named[name] = "toolHashes"
	}
	for name := range one.Rename {
		named[name] = "rename"
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !slices.ContainsFunc(known, func(t Tool) bool { return t.Name == name }) {
			v.warn("%s of server %q names a tool %q, which it does not have", named[name], one.Name, name)
		}
	}
}

func entryOf(one *hubconfig.Server, said Tool, running bool) *Entry {
	bare := said.Name
	if other, ok := one.Rename[bare]; ok {
		bare = other
	}
	return &Entry{
		Tool: durward.Tool{
			Title: said.Title, Doc: said.Description, Input: said.InputSchema, Output: said.OutputSchema, Effect: effectOf(said.Annotations),
			Engine: Engine, Server: one.Name, Spec: &hubconfig.Target{Server: one.Name, Tool: said.Name},
		},
		Server: one.Name, Original: said.Name, Said: said, Running: running, bare: bare,
	}
}

// effectOf takes what a server claims of a tool. What is malformed claims nothing.
func effectOf(annotations json.RawMessage) (e durward.Effect) {
	members, err := jsonx.Object(annotations, jsonx.Limits{})
	if err != nil {
		return e
	}
	for name, into := range map[string]*bool{
		"readOnlyHint": &e.ReadOnly, "destructiveHint": &e.Destructive, "idempotentHint": &e.Idempotent, "openWorldHint": &e.OpenWorld,
	} {
		*into = string(members[name]) == "true"
	}
	return e
}

// version tells two lists apart.
func version(list []*Entry) string {
	var parts []string
	for _, e := range list {
		parts = append(parts, string(e.ID), e.MCPName, e.Qualified, string(e.Said.Raw))
	}
	return digest(parts)
}

func digest(parts []string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compile reads the schemas of the arguments, and takes those from the view before that are as
// they were.
func (v *View) compile(all []*Entry, before *View) {
	v.schemas = map[string]*schema.Schema{}
	for _, e := range all {
		text := string(e.Input)
		if _, done := v.schemas[text]; done || text == "" {
			continue
		}
		if before != nil {
			if known, ok := before.schemas[text]; ok && known != nil {
				v.schemas[text] = known
				continue
			}
		}
		compiled, why := compiledOf(e.Input)
		if v.schemas[text] = compiled; compiled == nil {
			v.warn("the input schema of the tool %q cannot be used, and its arguments are not held to it: %s", e.Qualified, why)
		}
	}
}

// compiledOf compiles a schema that stands alone: it may refer to itself and to nothing else.
func compiledOf(text json.RawMessage) (_ *schema.Schema, why string) {
	const file = "inputSchema"
	folder := schema.NewFolder("", func(path string) ([]byte, error) {
		if path != file {
			return nil, fmt.Errorf("it refers to %.128q, which is not in it", path)
		}
		return text, nil
	})
	compiled, err := folder.Compile(file)
	if err != nil {
		return nil, err.Error()
	}
	if problems := folder.Problems(); len(problems) > 0 {
		return nil, problems[0].Message
	}
	return compiled, ""
}
