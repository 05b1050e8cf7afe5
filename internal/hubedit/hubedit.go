// Package hubedit changes one server in the text of a hub's configuration, in the shape that the
// file has, and leaves every other byte as it is.
//
//	{"servers": [{"name": "files", "command": "durward", "args": ["mcp"]}]}      an item is added
//	{"mcpServers": {"files": {"command": "durward"}}}                            a member is
//	{"servers": {"files": {"type": "stdio", "command": "durward"}}}              likewise, with its type
//
// What [Add] has written [Remove] takes away to the byte. Nothing here judges what is added:
// whoever has changed a text reads it again by package hubconfig.
package hubedit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/hubconfig"
)

// Seed is the text that a configuration begins with.
const Seed = "{\n  \"servers\": []\n}\n"

// ErrUnknown is of a server that the document does not have.
var ErrUnknown = errors.New("there is no such server")

// A Pair is a variable or a header.
type Pair struct{ Name, Value string }

// An Entry is what is written of a server. Empty members are left out.
type Entry struct {
	Name string
	// Command starts the server; without one it is asked at URL, by Type "http" or "sse".
	Command      string
	Args         []string
	Env          []Pair
	EnvFile, Dir string
	Type, URL    string
	Headers      []Pair
	// Timeout is in seconds.
	Timeout  int64
	Disabled bool
	// AllowTools, DenyTools and InheritEnv stand in x-gateway.
	AllowTools, DenyTools, InheritEnv []string
}

// place tells the shape of a document, and where the servers stand in it.
func place(root *config.Node) (shape hubconfig.Shape, servers string, err error) {
	switch shape = hubconfig.ShapeOf(root); shape {
	case "":
		return shape, "", errors.New("there is neither servers nor mcpServers")
	case hubconfig.MCPServers:
		return shape, "mcpServers", nil
	}
	return shape, "servers", nil
}

// Add writes a server behind the others.
func Add(d *edit.Document, e Entry) error {
	shape, servers, err := place(d.Tree())
	switch {
	case err != nil:
		return err
	case shape == hubconfig.List:
		return d.Append(edit.Member(servers), append(edit.Map{{Name: "name", Value: edit.String(e.Name)}}, e.members(shape)...))
	}
	return d.Set(edit.Member(servers, e.Name), e.members(shape))
}

// Remove takes a server away.
func Remove(d *edit.Document, name string) error {
	at, err := find(d.Tree(), name)
	if err != nil {
		return err
	}
	return d.Remove(at)
}

// Pin has a tool of a server held to a digest.
func Pin(d *edit.Document, server, tool, digest string) error {
	at, err := pins(d, server)
	if err != nil {
		return err
	}
	return d.Set(at.Member(tool), edit.String(digest))
}

// Unpin has a tool that is pinned held to nothing.
func Unpin(d *edit.Document, server, tool string) error {
	at, err := pins(d, server)
	if err != nil {
		return err
	}
	return d.Remove(at.Member(tool))
}

func pins(d *edit.Document, server string) (edit.Path, error) {
	at, err := find(d.Tree(), server)
	return at.Member("x-gateway", "toolHashes"), err
}

// find gives the path to a server by the name that [hubconfig.Fold] makes of the written one.
func find(root *config.Node, name string) (edit.Path, error) {
	shape, servers, err := place(root)
	at, all := edit.Member(servers), root.Get(servers)
	if err != nil {
		return at, err
	}
	if shape == hubconfig.List {
		i := slices.IndexFunc(all.Items, func(n *config.Node) bool {
			written := n.Get("name")
			return written != nil && hubconfig.Fold(written.Text) == name
		})
		if i >= 0 {
			return at.Item(i), nil
		}
	}
	for _, f := range all.Fields {
		if hubconfig.Fold(f.Name) == name {
			return at.Member(f.Name), nil
		}
	}
	return at, fmt.Errorf("%w: %q", ErrUnknown, name)
}

// members are those of the entry in a document of that shape.
func (e Entry) members(shape hubconfig.Shape) edit.Map {
	kind := e.Type
	if e.Command != "" {
		if kind = ""; shape == hubconfig.VSCode {
			kind = "stdio"
		}
	}
	m := edit.Map{}
	text := func(name, value string) {
		if value != "" {
			m = append(m, edit.Entry{Name: name, Value: edit.String(value)})
		}
	}
	text("type", kind)
	text("command", e.Command)
	if len(e.Args) > 0 {
		m = append(m, edit.Entry{Name: "args", Value: edit.Strings(e.Args...)})
	}
	m = appendPairs(m, "env", e.Env)
	text("envFile", e.EnvFile)
	text("cwd", e.Dir)
	text("url", e.URL)
	m = appendPairs(m, "headers", e.Headers)
	if e.Timeout > 0 {
		m = append(m, edit.Entry{Name: "timeout", Value: edit.Int(e.Timeout)})
	}
	if e.Disabled {
		m = append(m, edit.Entry{Name: "disabled", Value: edit.Bool(true)})
	}
	if x := e.extras(); len(x) > 0 {
		m = append(m, edit.Entry{Name: "x-gateway", Value: x})
	}
	return m
}

func (e Entry) extras() edit.Map {
	m := edit.Map{}
	for _, list := range []struct {
		name  string
		texts []string
	}{{"allowTools", e.AllowTools}, {"denyTools", e.DenyTools}, {"inheritEnv", e.InheritEnv}} {
		if len(list.texts) > 0 {
			m = append(m, edit.Entry{Name: list.name, Value: edit.Strings(list.texts...)})
		}
	}
	return m
}

func appendPairs(m edit.Map, name string, pairs []Pair) edit.Map {
	if len(pairs) == 0 {
		return m
	}
	values := edit.Map{}
	for _, p := range pairs {
		values = append(values, edit.Entry{Name: p.Name, Value: edit.String(p.Value)})
	}
	return append(m, edit.Entry{Name: name, Value: values})
}
