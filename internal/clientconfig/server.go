package clientconfig

import (
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/credential"
)

// A reader fills what is found.
type reader struct {
	dialect dialect
	found   *Found
	root    string // the way to the part at hand
}

// part reads the servers of one place, by their names or as a list.
func (r *reader) part(p part) {
	n := p.node
	r.root = p.path
	switch {
	case n == nil:
	case p.path == "inputs":
		r.inputs(n)
	case n.Kind == config.Map:
		for _, f := range n.Fields {
			r.server(p.path+"."+f.Name, f.Name, f.Value)
		}
	case n.Kind == config.List:
		for i, item := range n.Items {
			name := ""
			if at := item.Get("name"); at != nil {
				name = at.Text
			}
			r.server(p.path+"["+strconv.Itoa(i)+"]", name, item)
		}
	default:
		r.leave(p.path, "is "+n.Kind.String()+", and no servers")
	}
}

// inputs are what an editor asks its user for.
func (r *reader) inputs(n *config.Node) {
	for i, item := range n.Items {
		id := item.Get("id")
		if id == nil {
			continue
		}
		r.leave("inputs["+strconv.Itoa(i)+"]", "nobody is asked for "+id.Text+"; the variable "+credential.Variable(id.Text)+" stands for it")
	}
}

func (r *reader) leave(path, why string) { r.found.Left = append(r.found.Left, Left{path, why}) }

// server reads one entry. What is no server is left as a whole.
func (r *reader) server(path, name string, n *config.Node) {
	if n.Kind != config.Map || name == "" {
		r.leave(path, "is no server with a name")
		return
	}
	e := &entry{reader: r, path: path, Server: Server{Name: name}}
	for _, f := range n.Fields {
		e.member(f)
	}
	switch {
	case e.Command == "" && e.URL == "":
		r.leave(path, "has neither a command nor a URL")
		return
	case e.Command != "":
		e.Type, e.URL, e.Headers = "", "", nil
	case e.Type != "sse":
		e.Type = "http"
	}
	r.found.Servers = append(r.found.Servers, e.Server)
}

// An entry is a server on its way in.
type entry struct {
	*reader
	Server
	path string
}

// member takes one member, if durward has a word for it.
func (e *entry) member(f config.Field) {
	take, ok := e.dialect.members[f.Name]
	switch {
	case !ok && f.Name == "name":
	case !ok:
		e.left(f.Name, "durward has nothing like it")
	case !take(e, f.Value):
		e.left(f.Name, "is not what it should be")
	}
}

func (e *entry) left(member, why string) {
	e.Server.Left = append(e.Server.Left, Left{e.path + "." + member, why})
}

// leftAt is left for a value.
func (e *entry) leftAt(n *config.Node, why string) {
	path := n.Path
	if !strings.HasPrefix(path, e.root) {
		path = e.root + "." + path
	}
	e.Server.Left = append(e.Server.Left, Left{path, why})
}

// said gives a text with its variables in durward's words.
func (e *entry) said(n *config.Node) string {
	text := n.Text
	if e.dialect.variables != nil {
		text = e.dialect.variables(text)
	}
	for _, ref := range references(text) {
		inner := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		switch id, asked := strings.CutPrefix(inner, "input:"); {
		case asked:
			text = strings.ReplaceAll(text, ref, "${"+credential.Variable(id)+"}")
			e.Asked = append(e.Asked, credential.Variable(id))
		case inner == "workspaceFolder":
			e.leftAt(n, "${workspaceFolder} is the sandbox directory of the hub")
		case !isVariable(inner):
			e.leftAt(n, "it has a reference that means nothing here")
		}
	}
	return text
}

// A taker puts a value into an entry, and reports whether it could.
type taker func(e *entry, n *config.Node) bool

func text(into func(*entry) *string) taker {
	return func(e *entry, n *config.Node) bool {
		if n.Kind != config.String {
			return false
		}
		*into(e) = e.said(n)
		return true
	}
}

func texts(into func(*entry) *[]string) taker {
	return func(e *entry, n *config.Node) bool {
		if n.Kind != config.List {
			return false
		}
		for _, item := range n.Items {
			if item.Kind != config.String {
				return false
			}
			*into(e) = append(*into(e), e.said(item))
		}
		return true
	}
}

func pairs(into func(*entry) *[]Pair) taker {
	return func(e *entry, n *config.Node) bool {
		if n.Kind != config.Map {
			return false
		}
		for _, f := range n.Fields {
			switch f.Value.Kind {
			case config.String, config.Int, config.Float, config.Bool:
				*into(e) = append(*into(e), Pair{f.Name, e.said(f.Value)})
			default:
				return false
			}
		}
		return true
	}
}

// flag takes a boolean that disables a server, or enables it.
func flag(disables bool) taker {
	return func(e *entry, n *config.Node) bool {
		e.Disabled = (n.Text == "true") == disables
		return n.Kind == config.Bool
	}
}

// duration takes a number of units.
func duration(unit time.Duration) taker {
	return func(e *entry, n *config.Node) bool {
		number, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || !(number > 0 && number < 1e9) {
			return false
		}
		e.Timeout = time.Duration(number * float64(unit))
		return true
	}
}
