package edit

import (
	"slices"

	"github.com/durward/durward/internal/config"
)

// A collection is a list or a mapping as it is written.
type collection struct {
	flow bool
	// entries are its items or members in their order.
	entries []entry
	// column is where entries begin, in block style.
	column int
	// open and close are the brackets, in flow style.
	open, close int
}

// An entry is an item or a member as it is written.
type entry struct {
	// start is the dash or the key, mark the byte after the dash or the key's colon, end
	// the one after the value.
	start, mark, end int
	// blank is set where no value is written.
	blank bool
	// comma is the one after the value in flow style, or -1.
	comma int
}

// collection finds the parts of a list or a mapping. What stands in brackets itself
// and has none is not understood.
func (s *source) collection(n *config.Node, inFlow bool) (*collection, error) {
	start := s.offset(n.Where)
	if s.at(start) == '!' {
		start = s.skipSpace(s.skipTag(start))
	}
	switch c := s.at(start); {
	case c == '[', c == '{':
		return s.flowCollection(n, start)
	case inFlow:
		return nil, unsafe(n.Where)
	case n.Kind == config.List:
		return s.blockList(n)
	}
	return s.blockMap(n)
}

func (s *source) blockList(n *config.Node) (*collection, error) {
	c := &collection{column: n.Where.Column - 1}
	at := s.offset(n.Where)
	for _, item := range n.Items {
		if s.at(at) != '-' || !isSpace(s.at(at+1)) || s.column(at) != c.column {
			return nil, unsafe(item.Where)
		}
		e := entry{start: at, mark: at + 1, comma: -1}
		if err := s.blockValue(&e, item, c.column); err != nil {
			return nil, err
		}
		c.entries = append(c.entries, e)
		at = s.skipSpace(e.end)
	}
	return c, nil
}

func (s *source) blockMap(n *config.Node) (*collection, error) {
	c := &collection{column: n.Fields[0].Where.Column - 1}
	for _, f := range n.Fields {
		at := s.offset(f.Where)
		e := entry{start: at, mark: s.keyEnd(at), comma: -1}
		if e.mark < 0 || f.Where.Column-1 != c.column {
			return nil, unsafe(f.Where)
		}
		if err := s.blockValue(&e, f.Value, c.column); err != nil {
			return nil, err
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

// column counts the bytes before i on its line. Before a dash there are no others than
// spaces and dashes.
func (s *source) column(i int) int { return i - s.lineStart(i) }

// blockValue finds the end of an entry in block style.
func (s *source) blockValue(e *entry, n *config.Node, indent int) error {
	if _, last := s.tail(e.mark); last && n.Kind == config.Null && n.Text == "" {
		e.end, e.blank = e.mark, true
		return nil
	}
	end, err := s.blockEnd(n, indent)
	if err != nil {
		return err
	}
	if _, last := s.tail(max(end, 0)); end < e.mark || !last {
		return unsafe(n.Where)
	}
	e.end = end
	return nil
}

func (s *source) blockEnd(n *config.Node, indent int) (int, error) {
	if !isScalar(n.Kind) {
		c, err := s.collection(n, false)
		if err != nil {
			return -1, err
		}
		if c.flow {
			return c.close + 1, nil
		}
		return c.entries[len(c.entries)-1].end, nil
	}
	start := s.offset(n.Where)
	if s.at(start) == '!' {
		tag := s.skipTag(start)
		if start = s.skipSpace(tag); n.Text == "" && s.at(start) != '"' && s.at(start) != '\'' {
			return tag, nil
		}
	}
	switch s.at(start) {
	case '"', '\'':
		return s.quotedEnd(start), nil
	case '|', '>':
		return s.literalEnd(start, indent), nil
	}
	return s.plainEnd(start, indent), nil
}

// flowCollection finds the parts of what begins with the bracket at open.
func (s *source) flowCollection(n *config.Node, open int) (*collection, error) {
	c := &collection{flow: true, open: open}
	at := s.skipSpace(open + 1)
	for s.at(at) != ']' && s.at(at) != '}' {
		e, ok := s.flowEntry(at, n.Kind)
		if !ok {
			return nil, unsafe(n.Where)
		}
		c.entries = append(c.entries, e)
		at = s.skipSpace(max(e.end, e.comma+1))
	}
	c.close = at
	if len(c.entries) != len(n.Items)+len(n.Fields) {
		return nil, unsafe(n.Where)
	}
	return c, nil
}

// flowEntry reads up to the comma or the bracket that ends an entry.
func (s *source) flowEntry(at int, kind config.Kind) (entry, bool) {
	e := entry{start: at, mark: at, comma: -1}
	for keyed := kind != config.Map; ; {
		switch c := s.at(at); {
		case c == ']', c == '}':
			return e, e.end > e.start
		case c == ',':
			e.comma = at
			return e, e.end > e.start
		case c == ':' && !keyed:
			keyed, e.mark, e.blank = true, at+1, true
			e.end = at + 1
		case c == '[', c == '{':
			e.end, e.blank = s.flowEnd(at), false
		default:
			e.end, e.blank = s.flowToken(at), false
		}
		if e.end < 0 {
			return e, false
		}
		at = s.skipSpace(e.end)
	}
}

// A spot is a value of the document with the way to it.
type spot struct {
	node   *config.Node
	parent *spot       // nil for the document itself
	within *collection // what parent is written as
	index  int         // in parent
	step   step
}

// entry is how the value is written, with its key or dash.
func (s *spot) entry() entry { return s.within.entries[s.index] }

// inFlow reports whether the value stands in brackets.
func (s *spot) inFlow() bool { return s.within != nil && s.within.flow }

func (s *spot) path() Path {
	if s.parent == nil {
		return Path{}
	}
	return Path{append(s.parent.path().steps, s.step)}
}

// find follows a path as far as it goes, and gives the names of the members that are
// not there.
func (d *Document) find(at Path) (s *spot, missing []string, err error) {
	s = &spot{node: d.root}
	for i, next := range at.steps {
		below, err := d.below(s, next)
		if err != nil {
			return nil, nil, err
		}
		if below == nil {
			missing, ok := names(at.steps[i:])
			if !ok {
				return nil, nil, refuse(s.node.Where, "there is no %s", at)
			}
			return s, missing, nil
		}
		s = below
	}
	return s, nil, nil
}

// below goes one step down; nil means that there is nothing.
func (d *Document) below(s *spot, next step) (*spot, error) {
	i, node := next.index, (*config.Node)(nil)
	switch {
	case i >= 0 && s.node.Kind == config.List && i < len(s.node.Items):
		node = s.node.Items[i]
	case i < 0 && s.node.Kind == config.Map:
		if i = slices.IndexFunc(s.node.Fields, func(f config.Field) bool { return f.Name == next.name }); i >= 0 {
			node = s.node.Fields[i].Value
		}
	}
	if node == nil {
		return nil, nil
	}
	c, err := d.collection(s.node, s.inFlow())
	if err != nil {
		return nil, err
	}
	return &spot{node: node, parent: s, within: c, index: i, step: next}, nil
}
