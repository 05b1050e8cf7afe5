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
	// Version is another one when anything else is offered.
	Version string
	// HTTP are the tools of the servers that run, by their ids; MCP are those that clients of MCP
	// see, by the names that these see.
	HTTP, MCP []*Entry
	// Withheld are the tools that are not what they were when they were pinned.
	Withheld []Withheld
	// Warnings say what is not offered as it was meant.
	Warnings []string

	byID    map[string]*Entry // and by qualified names
	byMCP   map[string]*Entry // likewise
	schemas map[string]*schema.Schema
}

// An Entry is one tool.
type Entry struct {
	// Tool has the name on the HTTP API as its id.
	durward.Tool
	// MCPName is the name that clients of MCP see; empty where it has none for them.
	MCPName string
	// Server, Original and Qualified are the name of the server, the server's own name of the
	// tool, and the name by which it can always be called.
	Server, Original, Qualified string
	// Said is what the server says of it.
	Said Tool
	// Running reports whether its server ran at the moment of the view.
	Running bool

	bare string // its name without the server's
}

// OfMCP finds a tool by the name that clients of MCP see, or by the qualified one, also of a
// server that does not run.
func (v *View) OfMCP(name string) (*Entry, bool) {
	e, ok := v.byMCP[name]
	return e, ok
}

func (v *View) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, args...))
}

// build makes a view of what the servers have now.
func (s *Source) build(before *View) *View {
	v := &View{byID: map[string]*Entry{}, byMCP: map[string]*Entry{}}
	all := s.collect(v)
	v.qualify(all)
	v.nameHTTP(all)
	v.nameMCP(all, s.config.Prefix)
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
	if s.config.ValidateArguments {
		v.compile(all, before)
	}
	return v
}

// collect lists the tools that may be offered, in the order of the configuration.
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
			case seen[e.bare]:
				v.warn("server %q has two tools called %q; the first is kept", one.Name, e.bare)
			case pinned && pin != Pin(said):
				v.Withheld = append(v.Withheld, Withheld{Server: one.Name, Want: pin, Got: Pin(said), Tool: said})
				v.warn("the tool %q of server %q is not what it was when it was pinned; it is withheld", said.Name, one.Name)
			default:
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
			Engine: Engine, Spec: &hubconfig.Target{Server: one.Name, Tool: said.Name},
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
	h := sha256.New()
	for _, e := range list {
		for _, part := range []string{string(e.ID), e.MCPName, e.Qualified, string(e.Said.Raw)} {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			h.Write([]byte(part))
		}
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
