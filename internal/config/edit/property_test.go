package edit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/config/edit"
)

// A page draws the text of a document of many styles.
type page struct {
	t  *rapid.T
	nl string
}

func (p *page) oneOf(label string, texts ...string) string {
	return rapid.SampledFrom(texts).Draw(p.t, label)
}

func (p *page) some(label string, low, high int) int {
	return rapid.IntRange(low, high).Draw(p.t, label)
}

// comment is what may follow a value on its line.
func (p *page) comment() string {
	return p.oneOf("comment", "", "", "", " # [x, 'y", "   # \"z\": {")
}

// gap is a run of lines that hold no value.
func (p *page) gap(column int) string {
	indent := strings.Repeat(" ", column)
	line := p.oneOf("gap", "", "", "", "", "\n", indent+"# of what follows\n", indent+"# one\n"+indent+"# two\n", "\n"+indent+"# far\n\n", "   \n", indent+"    # deeper\n", "# out\n")
	return strings.ReplaceAll(line, "\n", p.nl)
}

func (p *page) scalar(inFlow bool) string {
	scalars := []string{"x", "-l", "~/code", "5_000", "true", "null", "~", `"q, ]"`, `"\"# "`, "'it''s'", "é ü", "a#b", "http://x/y", "!!str 5"}
	if !inFlow {
		scalars = append(scalars, "a 'b", "[x", "")[:len(scalars)+1]
		scalars = append(scalars, "it's, [x] {")
	}
	return p.oneOf("scalar", scalars...)
}

func (p *page) flow(depth int) string {
	open, end := "[", "]"
	isMap := rapid.Bool().Draw(p.t, "map")
	if isMap {
		open, end = "{", "}"
	}
	var entries []string
	for i := range p.some("entries", 0, 3) {
		value := p.scalar(true)
		if depth > 0 && p.some("nest", 0, 3) == 0 {
			value = p.flow(depth - 1)
		}
		if isMap {
			value = fmt.Sprintf(p.oneOf("key", "k%d: ", `"k%d": `, "'k%d': "), i) + value
		}
		entries = append(entries, value)
	}
	if len(entries) == 0 {
		return open + end
	}
	pad := p.oneOf("pad", "", "", " ")
	return open + pad + strings.Join(entries, p.oneOf("comma", ", ", ",  ", " , ")) + p.oneOf("trailing", "", "", ",") + pad + end
}

// spread is a list in brackets over lines that are indented to column.
func (p *page) spread(column int) string {
	text, inner := "["+p.comment()+p.nl, strings.Repeat(" ", column)
	n := p.some("items", 1, 3)
	for i := range n {
		text += p.oneOf("above", "", "", inner+"# of it"+p.nl) + inner + p.scalar(true)
		if i < n-1 || rapid.Bool().Draw(p.t, "comma") {
			text += ","
		}
		text += p.comment() + p.nl
	}
	return text + inner + "]"
}

// value is what follows a key or a dash, to the end of its last line.
func (p *page) value(column, depth int, dash bool) string {
	inner := strings.Repeat(" ", column+2)
	kind := p.oneOf("kind", "scalar", "scalar", "flow", "spread", "list", "list", "map", "literal", "folded", "wrapped", "nothing", "below")
	if depth == 0 && (kind == "list" || kind == "map") {
		kind = "scalar"
	}
	switch kind {
	case "flow":
		return " " + p.flow(2) + p.comment() + p.nl
	case "spread":
		return " " + p.spread(column+1+p.some("more", 0, 3)) + p.comment() + p.nl
	case "list", "map":
		at := column + p.some("step", 1, 4)
		if dash && rapid.Bool().Draw(p.t, "compact") {
			gap := p.oneOf("after dash", " ", "   ")
			return gap + strings.TrimLeft(p.block(kind, column+1+len(gap), depth-1, true), " ")
		}
		if kind == "list" && !dash && rapid.Bool().Draw(p.t, "flush") {
			at = column
		}
		return p.comment() + p.nl + p.gap(at) + p.block(kind, at, depth-1, false)
	case "literal":
		return p.oneOf("header", " |", " >-", " |2", " | # x") + p.nl + inner + "one # no" + p.nl + p.oneOf("blank", "", p.nl) + inner + " - two: ['" + p.nl
	case "folded":
		return " \"one" + p.nl + p.nl + inner + "# two\"" + p.comment() + p.nl
	case "wrapped":
		return " one" + p.nl + inner + "two's [" + p.comment() + p.nl
	case "nothing":
		return p.comment() + p.nl
	case "below":
		return p.comment() + p.nl + inner + p.scalar(false) + p.comment() + p.nl
	}
	return p.oneOf("blanks", " ", " ", "  ") + p.scalar(false) + p.comment() + p.nl
}

// block is a list or a mapping in lines.
func (p *page) block(kind string, column, depth int, compact bool) string {
	indent, text := strings.Repeat(" ", column), ""
	for i := range p.some("entries", 1, 4) {
		if i > 0 || !compact {
			text += p.gap(column)
		}
		if kind == "list" {
			text += indent + "-" + p.value(column, depth, true)
		} else {
			text += indent + fmt.Sprintf(p.oneOf("key", "k%d:", "k%d:", `"k%d":`, "'k%d':", "k%d :"), i) + p.value(column, depth, false)
		}
	}
	return text
}

// drawDocument gives a text that can be read.
func drawDocument(t *rapid.T) string {
	p := &page{t: t, nl: rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "newline")}
	text := p.oneOf("start", "", "", "---"+p.nl, "# top"+p.nl+p.nl, "\ufeff")
	text += p.block(p.oneOf("root", "map", "map", "list"), 0, 3, false) + p.gap(0)
	text += p.oneOf("end", "", "", "..."+p.nl)
	if rapid.Bool().Draw(t, "unended") {
		text = strings.TrimSuffix(text, p.nl)
	}
	if _, err := config.Parse("a.yaml", []byte(text)); err != nil {
		t.Skip(err)
	}
	return text
}

// A place is a value of a document and the way to it.
type place struct {
	at   edit.Path
	node *config.Node
}

func places(n *config.Node, at edit.Path) []place {
	all := []place{{at, n}}
	for i, item := range n.Items {
		all = append(all, places(item, at.Item(i))...)
	}
	for _, f := range n.Fields {
		all = append(all, places(f.Value, at.Member(f.Name))...)
	}
	return all
}

func drawPlace(t *rapid.T, doc *edit.Document, fits func(*config.Node) bool) place {
	all := slices.DeleteFunc(places(doc.Tree(), edit.Path{}), func(p place) bool { return !fits(p.node) })
	if len(all) == 0 {
		t.Skip("no such place")
	}
	return rapid.SampledFrom(all).Draw(t, "place")
}

func drawValue(depth int) *rapid.Generator[edit.Value] {
	return rapid.Custom(func(t *rapid.T) edit.Value {
		kinds := []string{"text", "known", "int", "bool"}
		if depth > 0 {
			kinds = append(kinds, "list", "map")
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case "text":
			return edit.String(rapid.String().Draw(t, "text"))
		case "known":
			return edit.String(rapid.SampledFrom([]string{"", "no", "-", "- x", "a: b", "a #b", "'", `"\`, "|", "a\nb", "1_0", ",", "{}", "!x", "&a", "*a", "---", "%", "@", "`", "?", "? x", ":", ":x", "x\t#y", "#", "a: ", "a:"}).Draw(t, "text"))
		case "int":
			return edit.Int(rapid.Int64().Draw(t, "int"))
		case "bool":
			return edit.Bool(rapid.Bool().Draw(t, "bool"))
		case "list":
			return edit.List(rapid.SliceOfN(drawValue(depth-1), 0, 3).Draw(t, "list"))
		}
		m := edit.Map{}
		for i, v := range rapid.SliceOfN(drawValue(depth-1), 0, 3).Draw(t, "map") {
			m = append(m, edit.Entry{Name: fmt.Sprintf("n%d", i), Value: v})
		}
		return m
	})
}

func parsed(t *rapid.T, text string) *edit.Document {
	doc, err := edit.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// What is appended to a list that has items can be removed, and the text is what it
// was; in between it is the former one with something put in.
func TestAppendAndRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawDocument(t)
		doc := parsed(t, text)
		p := drawPlace(t, doc, func(n *config.Node) bool { return len(n.Items) > 0 })
		if err := doc.Append(p.at, drawValue(2).Draw(t, "value")); err != nil {
			refusedForGoodReason(t, text, err)
			return
		}
		between := string(doc.Bytes())
		if !isInserted(text, between) {
			t.Errorf("%q\nbecame\n%q", text, between)
		}
		if err := doc.Remove(p.at.Item(len(p.node.Items))); err != nil {
			t.Fatalf("%q\nbecame\n%q\n%s", text, between, err)
		}
		if got := string(doc.Bytes()); got != text {
			t.Errorf("%q\nbecame\n%q\nand then\n%q", text, between, got)
		}
	})
}

// A member that is made can be removed likewise.
func TestSetAndRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawDocument(t)
		doc := parsed(t, text)
		p := drawPlace(t, doc, func(n *config.Node) bool { return len(n.Fields) > 0 })
		if err := doc.Set(p.at.Member("new"), drawValue(2).Draw(t, "value")); err != nil {
			refusedForGoodReason(t, text, err)
			return
		}
		between := string(doc.Bytes())
		if err := doc.Remove(p.at.Member("new")); err != nil {
			t.Fatalf("%q\nbecame\n%q\n%s", text, between, err)
		}
		if got := string(doc.Bytes()); got != text {
			t.Errorf("%q\nbecame\n%q\nand then\n%q", text, between, got)
		}
	})
}

// Whatever is removed or set, the result can be read, and a comment between blank lines
// stays; a refusal changes nothing.
func TestCommentsOfOthersStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawDocument(t)
		doc := parsed(t, text)
		p := drawPlace(t, doc, func(*config.Node) bool { return true })
		var err error
		if rapid.Bool().Draw(t, "set") {
			err = doc.Set(p.at, drawValue(1).Draw(t, "value"))
		} else {
			err = doc.Remove(p.at)
		}
		got := string(doc.Bytes())
		if err != nil {
			if got != text {
				t.Errorf("%q\nbecame\n%q\nin spite of %s", text, got, err)
			}
			return
		}
		parsed(t, got)
		if isCollection := len(p.node.Items)+len(p.node.Fields) > 0; !isCollection && strings.Count(got, "# far") != strings.Count(text, "# far") {
			t.Errorf("%q\nbecame\n%q", text, got)
		}
	})
}

// refusedForGoodReason lets pass what no edit is known for: a text of several lines
// that is the last value and has no end would change by getting one.
func refusedForGoodReason(t *rapid.T, text string, err error) {
	if !strings.HasSuffix(text, "\n") && strings.ContainsAny(text, "|>") {
		return
	}
	t.Fatalf("%q: %s", text, err)
}

// isInserted reports whether more is text with something put in at one place, or at two
// with what stood between them.
func isInserted(text, more string) bool {
	from, to := 0, 0
	for from < len(text) && text[from] == more[from] {
		from++
	}
	for to < len(text)-from && text[len(text)-1-to] == more[len(more)-1-to] {
		to++
	}
	return strings.Contains(more[from:len(more)-to], text[from:len(text)-to])
}

// FuzzEdit makes edits of any text at any place.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{"", "a: 1", "a:\n- b # c\n", "{\"a\": [1]}", "a: [b,\n  # c\n  d]", "- - a\n  -\n", "? a\n: b", "a: |+\n x\n\n", "%YAML 1.2\n---\na: !!seq [!!str 'b']\n...\n"} {
		for verb := range uint8(3) {
			f.Add([]byte(text), verb, uint8(1), "x", true)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, verb, which uint8, word string, member bool) {
		doc, err := edit.Parse("a.yaml", text)
		if err != nil {
			return
		}
		if string(doc.Bytes()) != string(text) {
			t.Fatal("it is not what was read")
		}
		all := places(doc.Tree(), edit.Path{})
		at := all[int(which)%len(all)].at
		if member {
			at = at.Member(word)
		}
		switch verb % 3 {
		case 0:
			err = doc.Append(at, edit.String(word))
		case 1:
			err = doc.Set(at, edit.String(word))
		case 2:
			err = doc.Remove(at)
		}
		if err != nil {
			if config.ProblemsOf(err) == nil || string(doc.Bytes()) != string(text) {
				t.Fatalf("%v, and then %q", err, doc.Bytes())
			}
			return
		}
		if _, err := config.Parse("a.yaml", doc.Bytes()); err != nil {
			t.Fatalf("%q became %q: %s", text, doc.Bytes(), err)
		}
	})
}
