package edit

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/durward/durward/internal/config"
)

// A writer gives values the look that the document has.
type writer struct {
	d    *Document
	nl   string
	json bool
	// deeper is how far a mapping is indented in one, and dash how far a list is. gap is
	// what stands between a dash and an item.
	deeper, dash int
	dashed       bool // dash was seen
	gap          string
	// unit is the step of indentation in brackets that fill lines, and pad stands inside
	// of braces that do not.
	unit, pad string
	quoting   quoting
	// flowItems is set where the items that are collections stand in brackets.
	flowItems bool
}

// quoting is how strings are quoted.
type quoting struct {
	always bool // also where there is no need, as all others are
	sign   byte // 0 where none was seen
}

// writer learns from the document, and about quotes from the members called name.
func (d *Document) writer(name string) *writer {
	w := &writer{d: d, nl: d.newline(0), json: d.json, gap: " ", unit: "  "}
	d.walk(d.root, nil, nil, w.learn)
	if w.deeper == 0 {
		w.deeper = 2
	}
	if !w.dashed {
		w.dash = w.deeper
	}
	w.learnQuotes(d.named(name)...)
	return w
}

// learn looks at a collection and at the mapping that it is a member of, if it is.
func (w *writer) learn(n *config.Node, c, mapping *collection) {
	d, first := w.d, c.entries[0]
	switch {
	case c.flow && d.leads(first.start):
		if unit, ok := strings.CutPrefix(d.margin(first.start), d.margin(c.open)); ok && unit != "" && d.json {
			w.unit = unit
		}
	case c.flow && n.Kind == config.Map && isBlank(d.at(c.open+1)):
		w.pad = " "
	case c.flow || mapping == nil:
	case n.Kind == config.Map && w.deeper == 0:
		w.deeper = c.column - mapping.column
	case n.Kind == config.List && !w.dashed:
		w.dash, w.dashed = c.column-mapping.column, true
	}
	if !c.flow && n.Kind == config.List && w.gap == " " {
		w.learnGap(first)
	}
}

// learnGap looks at what stands between a dash and its item.
func (w *writer) learnGap(e entry) {
	if end := w.d.skipBlanks(e.mark); !e.blank && end > e.mark && end < w.d.lineEnd(e.mark) && !strings.Contains(w.d.text[e.mark:end], "\t") {
		w.gap = w.d.text[e.mark:end]
	}
}

// walk calls f for every collection that has entries and that is understood.
func (d *Document) walk(n *config.Node, in, mapping *collection, f func(n *config.Node, c, mapping *collection)) {
	if isScalar(n.Kind) || isEmpty(n, n.Kind) {
		return
	}
	c, err := d.collection(n, in != nil && in.flow)
	if err != nil {
		return
	}
	f(n, c, mapping)
	for _, item := range n.Items {
		d.walk(item, c, nil, f)
	}
	for _, field := range n.Fields {
		d.walk(field.Value, c, c, f)
	}
}

// named gives the values of all members that are called so, and the items of those.
func (d *Document) named(name string) []*config.Node {
	var all []*config.Node
	var visit func(n *config.Node)
	visit = func(n *config.Node) {
		for _, item := range n.Items {
			visit(item)
		}
		for _, f := range n.Fields {
			if visit(f.Value); f.Name == name {
				all = append(append(all, f.Value), f.Value.Items...)
			}
		}
	}
	visit(d.root)
	return all
}

// learnQuotes looks at the quotes of strings.
func (w *writer) learnQuotes(nodes ...*config.Node) {
	bare := false
	for _, n := range nodes {
		if n.Kind != config.String {
			continue
		}
		switch sign := w.d.at(w.d.offset(n.Where)); sign {
		case '"', '\'':
			w.quoting.sign = sign
			w.quoting.always = w.quoting.always || isPlain(n.Text, true)
		default:
			bare = true
		}
	}
	w.quoting.always = w.quoting.always && !bare
}

// neighbour looks at the entries beside the new one.
func (w *writer) neighbour(n *config.Node, c *collection) {
	for _, item := range n.Items {
		if !isScalar(item.Kind) && !isEmpty(item, item.Kind) {
			inner, err := w.d.collection(item, c.flow)
			w.flowItems = err == nil && inner.flow
		}
	}
	if n.Kind == config.List && !c.flow {
		w.learnGap(c.entries[len(c.entries)-1])
	}
}

// member gives the writer of the member called name.
func (w *writer) member(name string) *writer {
	inner := *w
	inner.quoting = quoting{}
	inner.learnQuotes(w.d.named(name)...)
	inner.flowItems = false
	return &inner
}

// blockEntry writes an item or a member whose first line is indented already.
func (w *writer) blockEntry(kind config.Kind, name string, v Value, column int) string {
	if kind == config.List {
		return w.item(v, column)
	}
	return w.key(name) + ":" + w.member(name).value(name, v, column)
}

func (w *writer) item(v Value, column int) string {
	if isCollection(v) && !w.flowItems {
		return "-" + w.gap + w.compact(v, column+1+len(w.gap))
	}
	return "-" + w.gap + w.flowOrScalar(v, false)
}

// value writes what follows a key.
func (w *writer) value(name string, v Value, column int) string {
	if !isCollection(v) || w.prefersFlow(name, v, column) {
		return " " + w.flowOrScalar(v, false)
	}
	return w.below(v, column)
}

// below writes a list or a mapping on the lines after its key.
func (w *writer) below(v Value, column int) string {
	column += w.dash
	if _, ok := v.(Map); ok {
		column += w.deeper - w.dash
	}
	return w.nl + spaces(column) + w.compact(v, column)
}

// compact writes a list or a mapping whose first line is indented already.
func (w *writer) compact(v Value, column int) string {
	kind := v.node().Kind
	var entries []string
	for _, e := range children(v) {
		entries = append(entries, w.blockEntry(kind, e.Name, e.Value, column))
	}
	return strings.Join(entries, w.nl+spaces(column))
}

// lineLength is how far a list goes on one line by itself.
const lineLength = 80

// prefersFlow reports whether a collection is written in brackets: as the last one of
// that name is, or else a short list of scalars that is not at the top.
func (w *writer) prefersFlow(name string, v Value, column int) bool {
	kind, prefers := v.node().Kind, false
	if list, ok := v.(List); ok {
		prefers = column > 0 && column+len(name)+2+len(w.flow(v, "", false)) <= lineLength
		for _, item := range list {
			prefers = prefers && isScalar(item.node().Kind)
		}
	}
	for _, n := range w.d.named(name) {
		if n.Kind == kind && !isEmpty(n, kind) {
			c := w.d.at(w.d.offset(n.Where))
			prefers = c == '[' || c == '{'
		}
	}
	return prefers
}

func (w *writer) flowOrScalar(v Value, inFlow bool) string {
	if !isScalar(v.node().Kind) {
		return w.flow(v, "", false)
	}
	return w.scalar(v, inFlow)
}

// flow writes a value for a place in brackets. What is spread stands on lines of its
// own, which margin begins; lists of scalars do not.
func (w *writer) flow(v Value, margin string, spread bool) string {
	kind := v.node().Kind
	if isScalar(kind) {
		return w.scalar(v, true)
	}
	open, end, pad, gap := "[", "]", "", " "
	if kind == config.Map {
		open, end, pad = "{", "}", w.pad
	}
	if w.d.tight() {
		gap = ""
	}
	if spread && kind == config.List {
		spread = false
		for _, e := range children(v) {
			spread = spread || isCollection(e.Value)
		}
	}
	var entries []string
	for _, e := range children(v) {
		entries = append(entries, w.flowEntry(kind, e.Name, e.Value, margin+w.unit, spread))
	}
	switch {
	case len(entries) == 0:
		return open + end
	case spread:
		inner := w.nl + margin + w.unit
		return open + inner + strings.Join(entries, ","+inner) + w.nl + margin + end
	}
	return open + pad + strings.Join(entries, ","+gap) + pad + end
}

func (w *writer) flowEntry(kind config.Kind, name string, v Value, margin string, spread bool) string {
	if kind == config.List {
		return w.flow(v, margin, spread)
	}
	colon := ": "
	if w.d.tight() {
		colon = ":"
	}
	return w.key(name) + colon + w.member(name).flow(v, margin, spread && !w.onOneLine(name))
}

// onOneLine reports whether the last collection of that name is.
func (w *writer) onOneLine(name string) bool {
	one := false
	for _, n := range w.d.named(name) {
		if isScalar(n.Kind) {
			continue
		}
		start := w.d.offset(n.Where)
		end := w.d.flowEnd(start)
		one = end > start && !strings.Contains(w.d.text[start:end], "\n")
	}
	return one
}

// tight reports whether a document that is JSON has no blanks between its tokens.
func (d *Document) tight() bool {
	if !d.json || isScalar(d.root.Kind) {
		return false
	}
	c, err := d.collection(d.root, false)
	return err == nil && d.root.Kind == config.Map && len(c.entries) > 0 && !isSpace(d.at(c.entries[0].mark))
}

// spread reports whether the document fills more than one line.
func (d *Document) spread() bool {
	return strings.Contains(strings.TrimSpace(d.text), "\n") || isEmpty(d.root, d.root.Kind)
}

func (w *writer) key(name string) string {
	if !w.json && isPlain(name, true) && !strings.Contains(name, ":") {
		return name
	}
	return w.quoted(name)
}

func (w *writer) scalar(v Value, inFlow bool) string {
	switch v := v.(type) {
	case Int:
		return v.text()
	case Bool:
		return v.text()
	case String:
		if !w.json && !w.quoting.always && isPlain(string(v), inFlow) {
			return string(v)
		}
		return w.quoted(string(v))
	}
	panic(fmt.Sprintf("edit: a scalar of type %T", v))
}

// quoted writes a text in the quotes that others have, or in those that need the fewest
// escapes.
func (w *writer) quoted(text string) string {
	sign := w.quoting.sign
	if sign == 0 && strings.ContainsAny(text, `"\`) {
		sign = '\''
	}
	if sign == '\'' && !w.json && isPrintable(text) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	var b strings.Builder
	for _, r := range text {
		b.WriteString(escaped(r))
	}
	return `"` + b.String() + `"`
}

func escaped(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
	case '\n':
		return `\n`
	case '\t':
		return `\t`
	case '\r':
		return `\r`
	}
	if unicode.IsPrint(r) || r > 0xffff { // YAML and JSON escape the latter differently
		return string(r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

func isPrintable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// otherTypes are the words that some reader of some version of YAML takes for something
// else than a string: nothing, booleans, numbers, dates and times, merge keys.
var otherTypes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:~|null|true|false|yes|no|on|off|y|n|=|<<|` +
		`[-+]?\.?(?:inf|nan)|[-+]?0[xob][0-9a-f_]*|[-+.]*[0-9][-+.0-9_:,e]*|` +
		`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?)$`)
})

// isPlain reports whether a text needs no quotes.
func isPlain(text string, inFlow bool) bool {
	switch {
	case text == "" || text != strings.TrimSpace(text) || !isPrintable(text) || otherTypes().MatchString(text):
		return false
	case strings.HasPrefix(text, "---"), strings.HasPrefix(text, "..."):
		return false
	case strings.Contains(text, ": "), strings.Contains(text, " #"), strings.HasSuffix(text, ":"):
		return false
	case inFlow && strings.ContainsAny(text, ",[]{}"):
		return false
	case text[0] == '-':
		return len(text) > 1 && text[1] != ' ' && !strings.ContainsRune(",[]{}", rune(text[1]))
	}
	return !strings.ContainsRune("?:,[]{}#&*!|>'\"%@`", rune(text[0]))
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }
