package config

import (
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/durward/durward"
)

// toml reads one TOML document. It gives nil after a mistake in the syntax, and after
// a key or table that stands there twice.
func (p *parser) toml(data []byte) *Node {
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		p.tomlError(err)
		return nil
	}
	root := &Node{Kind: Map, Where: p.at(nil, 0)}
	r := &tomlReader{parser: p, into: root, data: data}
	r.tree.Reset(data)
	for r.tree.NextExpression() {
		r.expression(r.tree.Expression())
	}
	return root
}

func (p *parser) tomlError(err error) {
	where, message := p.at(nil, 0), err.Error()
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		where.Line, where.Column = p.line(line), column
	}
	p.problems.Add(where, "not TOML: %s", message)
}

// A tomlReader walks over a document that is known to be TOML.
type tomlReader struct {
	*parser
	tree unstable.Parser
	// into is the table that key-value lines go to.
	into *Node
	root *Node

	// data is read along with the tree, so that its lines are counted once.
	data  []byte
	read  int // how much of it was counted
	lines int // that end in what was read
	start int // of the line after them
}

func (r *tomlReader) expression(e *unstable.Node) {
	if r.root == nil {
		r.root = r.into
	}
	switch e.Kind {
	case unstable.KeyValue:
		r.keyValue(r.into, e, 1)
	case unstable.Table:
		r.into = r.table(e, false)
	case unstable.ArrayTable:
		r.into = r.table(e, true)
	}
}

// table gives the table of a header "[a.b]", or a new item of "[[a.b]]".
func (r *tomlReader) table(e *unstable.Node, item bool) *Node {
	at, depth := r.root, 0
	for key := e.Key(); key.Next(); depth++ {
		k := key.Node()
		if last := key.IsLast(); last && item {
			return r.item(at, k)
		}
		at = r.below(at, k)
		if depth > r.depth {
			r.tooDeep(r.where(k))
			return at
		}
	}
	return at
}

// item adds a table to the list of tables called key.
func (r *tomlReader) item(at *Node, key *unstable.Node) *Node {
	list := at.Get(string(key.Data))
	if list == nil {
		list = r.add(at, key, &Node{Kind: List})
	}
	n := &Node{Kind: Map, Where: r.where(key), Path: itemPath(list.Path, len(list.Items))}
	list.Items = append(list.Items, n)
	return n
}

// below gives the table called key in at, which is made where it is missing; in a list
// of tables it is the last one.
func (r *tomlReader) below(at *Node, key *unstable.Node) *Node {
	n := at.Get(string(key.Data))
	switch {
	case n == nil:
		return r.add(at, key, &Node{Kind: Map})
	case n.Kind == List && len(n.Items) > 0:
		return n.Items[len(n.Items)-1]
	}
	return n
}

func (r *tomlReader) add(at *Node, key *unstable.Node, n *Node) *Node {
	name := string(key.Data)
	n.Where, n.Path = r.where(key), childPath(at.Path, name)
	at.Fields = append(at.Fields, Field{Name: name, Where: n.Where, Value: n})
	return n
}

func (r *tomlReader) keyValue(at *Node, e *unstable.Node, depth int) {
	for key := e.Key(); key.Next(); depth++ {
		k := key.Node()
		switch {
		case depth > r.depth:
			r.tooDeep(r.where(k))
			return
		case key.IsLast():
			r.fill(r.add(at, k, &Node{}), e.Value(), depth)
		default:
			at = r.below(at, k)
		}
	}
}

// fill gives n the kind and content of a value. What has no place of its own stands
// where its key does.
func (r *tomlReader) fill(n *Node, v *unstable.Node, depth int) {
	if depth > r.depth {
		r.tooDeep(n.Where)
		return
	}
	if v.Raw.Length > 0 {
		n.Where = r.where(v)
	}
	n.Text = string(v.Data)
	switch v.Kind {
	case unstable.String:
		n.Kind = String
	case unstable.Bool:
		n.Kind = Bool
	case unstable.Integer:
		n.Kind = Int
	case unstable.Float:
		n.Kind = Float
	case unstable.Array:
		n.Kind = List
		for items := v.Children(); items.Next(); {
			if items.Node().Kind == unstable.Comment {
				continue
			}
			item := &Node{Where: n.Where, Path: itemPath(n.Path, len(n.Items))}
			r.fill(item, items.Node(), depth+1)
			n.Items = append(n.Items, item)
		}
	case unstable.InlineTable:
		n.Kind = Map
		for members := v.Children(); members.Next(); {
			if members.Node().Kind == unstable.KeyValue {
				r.keyValue(n, members.Node(), depth+1)
			}
		}
	default:
		n.Kind = Time
	}
}

func (r *tomlReader) where(n *unstable.Node) durward.Position {
	offset := int(n.Raw.Offset)
	if offset < r.read {
		r.read, r.lines, r.start = 0, 0, 0
	}
	for ; r.read < offset; r.read++ {
		if r.data[r.read] == '\n' {
			r.lines, r.start = r.lines+1, r.read+1
		}
	}
	return durward.Position{File: r.file, Line: r.line(r.lines + 1), Column: offset - r.start + 1}
}
