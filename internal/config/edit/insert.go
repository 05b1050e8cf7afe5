package edit

import (
	"slices"
	"strings"

	"github.com/durward/durward/internal/config"
)

// grown gives the node with one more item or member.
func grown(n *config.Node, name string, v Value) *config.Node {
	more := *n
	if n.Kind == config.List {
		more.Items = append(slices.Clip(n.Items), v.node())
	} else {
		more.Fields = append(slices.Clip(n.Fields), config.Field{Name: name, Value: v.node()})
	}
	return &more
}

// insert puts an entry behind the last one of a list or a mapping that has some.
func (d *Document) insert(s *spot, name string, v Value) error {
	if err := check(Map{{name, v}}); err != nil {
		return err
	}
	c, err := d.collection(s.node, s.inFlow())
	if err != nil {
		return err
	}
	want := s.with(grown(s.node, name, v))
	last := c.entries[len(c.entries)-1]
	w := d.writer(s.name())
	w.neighbour(s.node, c)
	if !c.flow {
		at := d.blockEntryEnd(last, c.column)
		nl := d.newline(at)
		return d.apply(s, want, splice{at, at, nl + spaces(c.column) + w.blockEntry(s.node.Kind, name, v, c.column)})
	}
	if !d.leads(last.start) {
		return d.apply(s, want, d.insertInline(c, w.flowEntry(s.node.Kind, name, v, d.margin(last.start), false)))
	}
	spread := strings.Contains(d.text[last.start:last.end], "\n") || d.json && isScalar(lastOf(s.node).Kind)
	return d.apply(s, want, d.insertLine(c, w.flowEntry(s.node.Kind, name, v, d.margin(last.start), spread))...)
}

// name is the member that a value is or, for an item, that its list is.
func (s *spot) name() string {
	for ; s.parent != nil; s = s.parent {
		if s.step.index < 0 {
			return s.step.name
		}
	}
	return ""
}

func lastOf(n *config.Node) *config.Node {
	if n.Kind == config.List {
		return n.Items[len(n.Items)-1]
	}
	return n.Fields[len(n.Fields)-1].Value
}

// blockEntryEnd gives the end of the last line of an entry in block style, and of the
// comments below it that are indented deeper.
func (s *source) blockEntryEnd(e entry, column int) int {
	end := s.lineEnd(e.end)
	for line := s.nextLine(end); line < len(s.text); line = s.nextLine(line) {
		indent, first := s.indent(line)
		if first == '#' && indent > column {
			end = s.lineEnd(line)
		} else if first != 0 {
			break
		}
	}
	return end
}

// insertInline puts an entry into brackets, on the line of the one before it.
func (d *Document) insertInline(c *collection, text string) splice {
	last, gap := c.entries[len(c.entries)-1], " "
	if n := len(c.entries); n > 1 {
		before := c.entries[n-2]
		if between := d.text[before.comma+1 : last.start]; strings.Trim(between, " ") == "" {
			gap = between
		}
	} else if d.tight() {
		gap = ""
	}
	if last.comma >= 0 {
		return splice{last.comma + 1, last.comma + 1, gap + text + ","}
	}
	return splice{last.end, last.end, "," + gap + text}
}

// insertLine puts an entry into brackets, on a line of its own.
func (d *Document) insertLine(c *collection, text string) []splice {
	last := c.entries[len(c.entries)-1]
	after := max(last.end, last.comma+1)
	var splices []splice
	if last.comma < 0 {
		splices = append(splices, splice{last.end, last.end, ","})
	} else {
		text += ","
	}
	if end, ends := d.tail(after); ends {
		after = end
	}
	return append(splices, splice{after, after, d.newline(last.start) + d.margin(last.start) + text})
}

// fill gives a list or a mapping to a place that holds nothing.
func (d *Document) fill(s *spot, v Value) error {
	if err := check(v); err != nil {
		return err
	}
	want, w := s.with(v.node()), d.writer(s.name())
	switch {
	case !isScalar(s.node.Kind):
		c, err := d.collection(s.node, s.inFlow())
		if err != nil {
			return err
		}
		if s.parent == nil || s.inFlow() || !isSpaces(d.text[c.open+1:c.close]) {
			return d.apply(s, want, d.fillBrackets(w, c, v))
		}
		return d.apply(s, want, d.fillBlock(s, w, v, splice{c.open, c.close + 1, ""})...)
	case s.parent == nil:
		return d.apply(s, want, d.begin(w, v))
	case s.inFlow():
		return d.apply(s, want, d.put(s, w.flow(v, d.margin(s.entry().start), false)))
	}
	e := s.entry()
	start := e.end
	if !e.blank {
		start = d.offset(s.node.Where)
	}
	return d.apply(s, want, d.fillBlock(s, w, v, splice{start, e.end, ""})...)
}

// begin writes the first entry of a document that has none.
func (d *Document) begin(w *writer, v Value) splice {
	text, nl, end := w.compact(v, 0), d.newline(0), len(d.text)
	switch {
	case end == 0:
		text += nl
	case d.text[end-1] == '\n':
		text += nl
	default:
		text = nl + text
	}
	return splice{end, end, text}
}

// fillBlock writes a collection in block style, instead of what is in the way.
func (d *Document) fillBlock(s *spot, w *writer, v Value, was splice) []splice {
	e := s.entry()
	if s.parent.node.Kind == config.List {
		if e.blank {
			was.text = " "
		}
		was.text += w.compact(v, was.from+len(was.text)-d.lineStart(was.from))
		return []splice{was}
	}
	if d.lineStart(was.from) == d.lineStart(e.mark) && !e.blank {
		was.from = e.mark // with the blanks before it
	}
	at := d.lineEnd(was.to)
	return []splice{was, {at, at, w.below(v, s.within.column)}}
}

// fillBrackets writes the first entry between brackets.
func (d *Document) fillBrackets(w *writer, c *collection, v Value) splice {
	first := children(v)[0]
	kind := v.node().Kind
	between := d.text[c.open+1 : c.close]
	margin := d.margin(c.open)
	switch {
	case strings.Contains(between, "\n"):
		at := d.lineStart(c.close)
		if !d.leads(c.close) {
			return splice{c.close, c.close, w.flowEntry(kind, first.Name, first.Value, margin, false)}
		}
		inner := margin + w.unit
		return splice{at, at, inner + w.flowEntry(kind, first.Name, first.Value, inner, true) + d.newline(c.open)}
	case between == "" && d.json && d.spread() && isCollection(first.Value), between == "" && d.json && d.spread() && kind == config.Map:
		inner, nl := margin+w.unit, d.newline(c.open)
		return splice{c.close, c.close, nl + inner + w.flowEntry(kind, first.Name, first.Value, inner, true) + nl + margin}
	}
	pad := ""
	if between == "" && kind == config.Map {
		pad = w.pad
	}
	return splice{c.close, c.close, pad + w.flowEntry(kind, first.Name, first.Value, margin, false) + pad + between}
}

// put writes a value behind the mark of an entry or instead of its value, on the same
// line.
func (d *Document) put(s *spot, text string) splice {
	e := s.entry()
	switch {
	case !e.blank:
		return splice{d.offset(s.node.Where), e.end, text}
	case s.within.flow && d.at(e.mark-1) != ':' && s.parent.node.Kind == config.Map:
		return splice{e.end, e.end, ": " + text}
	case isSpaces(d.text[e.mark:e.end]):
		return splice{e.mark, e.end, " " + text}
	}
	return splice{e.mark, e.mark, " " + text}
}

// replace gives a scalar, or what is empty, another value.
func (d *Document) replace(s *spot, v Value) error {
	if err := check(v); err != nil {
		return err
	}
	if config.Equal(s.node, v.node()) {
		return nil
	}
	if isCollection(v) && s.node.Kind == config.Null {
		return d.fill(s, v)
	}
	if !isScalar(v.node().Kind) && s.node.Kind != config.Null {
		return refuse(s.node.Where, "%s is %s, which is not set to %s", s.path(), s.node.Kind, v.node().Kind)
	}
	w := d.writer(s.name())
	if s.node.Kind == config.String {
		w.quoting = quoting{}
		w.learnQuotes(s.node)
	}
	if s.parent == nil {
		return unsafe(s.node.Where)
	}
	return d.apply(s, s.with(v.node()), d.put(s, w.flowOrScalar(v, s.inFlow())))
}
