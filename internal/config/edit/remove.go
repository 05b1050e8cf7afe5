package edit

import (
	"slices"
	"strings"

	"github.com/durward/durward/internal/config"
)

// shrunk gives the node without one of its items or members.
func shrunk(n *config.Node, i int) *config.Node {
	less := *n
	if n.Kind == config.List {
		less.Items = slices.Delete(slices.Clone(n.Items), i, i+1)
	} else {
		less.Fields = slices.Delete(slices.Clone(n.Fields), i, i+1)
	}
	return &less
}

// remove takes away an entry with what belongs to it.
func (d *Document) remove(s *spot) error {
	want := s.parent.with(shrunk(s.parent.node, s.index))
	cut := d.removeBlock
	if s.within.flow {
		cut = d.removeFlow
	}
	splices, ok := cut(s)
	if !ok {
		return unsafe(s.node.Where)
	}
	return d.apply(s, want, splices...)
}

func (d *Document) removeBlock(s *spot) ([]splice, bool) {
	c, e := s.within, s.entry()
	end := d.blockEntryEnd(e, c.column)
	switch {
	case len(c.entries) == 1:
		return d.removeOnly(s, end)
	case d.leads(e.start):
		return []splice{d.wholeLines(e.start, end)}, true
	}
	// It is the first of several and stands behind the dash of what it is in.
	next := c.entries[s.index+1]
	if isSpaces(d.text[end:next.start]) {
		return []splice{{e.start, next.start, ""}}, true
	}
	from := len(strings.TrimRight(d.text[:e.start], " "))
	return []splice{{from, end, ""}}, true
}

// wholeLines takes away the lines from the comments above start to end.
func (d *Document) wholeLines(start, end int) splice {
	from, to := d.comments(start), d.nextLine(end)
	if to == len(d.text) && !strings.HasSuffix(d.text, "\n") && from > 0 {
		from -= len(d.newline(from - 1)) // the line before is the last one now
	}
	return splice{from, to, ""}
}

// comments gives the first of the comment lines directly above the line of i that are
// indented as it is, or that line.
func (s *source) comments(i int) int {
	from := s.lineStart(i)
	margin := s.margin(i)
	for from > 0 {
		above := s.lineStart(from - 1)
		if s.margin(above) != margin || s.at(above+len(margin)) != '#' {
			break
		}
		from = above
	}
	return from
}

// removeOnly leaves a collection in block style empty.
func (d *Document) removeOnly(s *spot, end int) ([]splice, bool) {
	e, empty := s.entry(), "[]"
	if s.parent.node.Kind == config.Map {
		empty = "{}"
	}
	if s.parent.parent == nil {
		return []splice{{d.comments(e.start), end, empty}}, true
	}
	mark := s.parent.entry().mark
	if !d.leads(e.start) {
		return []splice{{e.start, end, empty}}, true
	}
	return []splice{{mark, mark, " " + empty}, d.wholeLines(e.start, end)}, true
}

func (d *Document) removeFlow(s *spot) ([]splice, bool) {
	c, e := s.within, s.entry()
	last := s.index == len(c.entries)-1
	end, ends := d.tail(max(e.end, e.comma+1))
	alone := d.leads(e.start) && ends && end < c.close
	switch {
	case len(c.entries) == 1:
		return d.removeOnlyFlow(c, e, alone, end)
	case alone && last && e.comma < 0:
		comma := c.entries[s.index-1].comma
		return []splice{{comma, comma + 1, ""}, d.wholeLines(e.start, end)}, true
	case alone:
		return []splice{d.wholeLines(e.start, end)}, true
	case !last:
		next := c.entries[s.index+1].start
		return []splice{{e.start, next, ""}}, ends && isSpaces(d.text[end:next]) || end == next
	}
	before := c.entries[s.index-1]
	if isSpaces(strings.Replace(d.text[before.end:e.start], ",", "", 1)) {
		return []splice{{before.end, e.end, ""}}, true
	}
	if e.comma >= 0 {
		return []splice{{e.start, e.comma + 1, ""}}, true
	}
	return []splice{{before.comma, before.comma + 1, ""}, {e.start, e.end, ""}}, true
}

// removeOnlyFlow leaves nothing between brackets but the comments of others.
func (d *Document) removeOnlyFlow(c *collection, e entry, alone bool, end int) ([]splice, bool) {
	if !alone {
		return []splice{{e.start, min(end, c.close), ""}}, true
	}
	lines := d.wholeLines(e.start, end)
	if isSpaces(d.text[c.open+1:lines.from]) && isSpaces(d.text[lines.to:c.close]) {
		return []splice{{c.open + 1, c.close, ""}}, true
	}
	return []splice{lines}, true
}
