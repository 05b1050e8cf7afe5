package mcppolicy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/durward/durward/internal/config"
)

// A holder is what a member may hold. It is bound to the place in a document that the
// value goes to.
type holder interface {
	// reset puts the default there.
	reset()
	// decode puts there what was written.
	decode(*reader, *config.Node)
	// value gives what is there as encoding/json takes it, and whether that is the default.
	value() (v any, isDefault bool)
	// schema gives the JSON Schema of the value; at is the pointer to that schema.
	schema(at string) map[string]any
}

// A flag holds a boolean.
type flag struct {
	into   *Value[bool]
	preset bool
}

func (f *flag) reset() { *f.into = Value[bool]{Value: f.preset} }

func (f *flag) decode(r *reader, n *config.Node) {
	if v, ok := r.Bool(n); ok {
		*f.into = Value[bool]{v, n.Where}
	}
}

func (f *flag) value() (any, bool) { return f.into.Value, f.into.Value == f.preset }

func (f *flag) schema(string) map[string]any {
	return map[string]any{"type": "boolean", "default": f.preset}
}

// A count holds an integer from low to high. A preset of zero means that there is no
// default.
type count struct {
	into              *Value[int64]
	preset, low, high int64
}

func (c *count) reset() { *c.into = Value[int64]{Value: c.preset} }

func (c *count) decode(r *reader, n *config.Node) {
	low, high := c.low, c.high
	if low == high { // between makes no sense
		low, high = math.MinInt64, math.MaxInt64
	}
	switch v, ok := r.Int(n, low, high); {
	case !ok:
	case v < c.low || v > c.high:
		r.Problem(n, "%s must be %d, not %s", n.Path, c.low, n.Text)
	default:
		*c.into = Value[int64]{v, n.Where}
	}
}

func (c *count) value() (any, bool) { return c.into.Value, c.into.Value == c.preset }

// schema also takes what a reader of YAML without underscores in integers makes of them.
func (c *count) schema(string) map[string]any {
	s := map[string]any{"type": []string{"integer", "string"}, "minimum": c.low, "maximum": c.high, "pattern": "^[1-9][0-9]*(_[0-9]+)+$"}
	if c.preset != 0 {
		s["default"] = c.preset
	}
	return s
}

// A word holds one of a closed set of words.
type word struct {
	into   *Text
	preset string
	words  []string
}

func (w *word) reset() { *w.into = Text{Value: w.preset} }

func (w *word) decode(r *reader, n *config.Node) {
	if v, ok := r.Word(n, w.words...); ok {
		*w.into = Text{v, n.Where}
	}
}

func (w *word) value() (any, bool) { return w.into.Value, w.into.Value == w.preset }

func (w *word) schema(string) map[string]any {
	s := map[string]any{"type": "string", "enum": w.words}
	if w.preset != "" {
		s["default"] = w.preset
	}
	return s
}

// A text holds a string; empty means that there is none.
type text struct {
	into  *Text
	form  *form
	most  int // bytes; zero means any number
	check func(string) string
}

func (t *text) reset() { *t.into = Text{} }

func (t *text) decode(r *reader, n *config.Node) {
	if v, ok := r.text(n, t.form, t.most, t.check); ok {
		*t.into = Text{v, n.Where}
	}
}

func (t *text) value() (any, bool) { return t.into.Value, t.into.Value == "" }

func (t *text) schema(string) map[string]any { return textSchema(t.form, t.most) }

func textSchema(f *form, most int) map[string]any {
	s := map[string]any{"type": "string"}
	if f != nil {
		s["pattern"] = f.pattern
	}
	if most > 0 {
		s["maxLength"] = most
	}
	return s
}

// Texts are a list of strings: of a form, or out of a set of words.
type texts struct {
	into   *Value[[]Text]
	preset []string
	form   *form
	check  func(string) string
	words  []string
	least  int
}

func (t *texts) reset() {
	*t.into = Value[[]Text]{}
	for _, v := range t.preset {
		t.into.Value = append(t.into.Value, Text{Value: v})
	}
}

func (t *texts) decode(r *reader, n *config.Node) {
	*t.into = Value[[]Text]{Where: n.Where}
	r.List(n, func(item *config.Node) {
		v, ok := t.item(r, item)
		if !ok {
			v = "" // it keeps its place, so that the others have their numbers
		}
		t.into.Value = append(t.into.Value, Text{v, item.Where})
	})
	if n.Kind == config.List && len(n.Items) < t.least {
		r.Problem(n, "%s must have an entry", n.Path)
	}
}

func (t *texts) item(r *reader, n *config.Node) (string, bool) {
	if t.words != nil {
		return r.Word(n, t.words...)
	}
	return r.text(n, t.form, 0, t.check)
}

func (t *texts) value() (any, bool) {
	list := values(t.into.Value)
	return list, slices.Equal(list, t.preset)
}

func (t *texts) schema(string) map[string]any {
	items := textSchema(t.form, 0)
	if t.words != nil {
		items["enum"] = t.words
	}
	s := map[string]any{"type": "array", "items": items}
	switch {
	case t.least > 0:
		s["minItems"] = t.least
	case t.preset != nil:
		s["default"] = t.preset
	default:
		s["default"] = []string{}
	}
	return s
}

// values gives the strings of a list, never nil.
func values(list []Text) []string {
	plain := make([]string, len(list))
	for i, t := range list {
		plain[i] = t.Value
	}
	return plain
}

// text decodes a string of a form.
func (r *reader) text(n *config.Node, f *form, most int, check func(string) string) (string, bool) {
	if n.Kind == config.Null && n.Text == "~" {
		r.Problem(n, `%s must be a string; put it in quotes: "~"`, n.Path)
		return "", false
	}
	v, ok := r.String(n)
	if !ok {
		return "", false
	}
	wrong := ""
	switch {
	case strings.ContainsRune(v, 0):
		wrong = "holds a NUL byte"
	case most > 0 && len(v) > most:
		wrong = fmt.Sprintf("has %d bytes, more than %d", len(v), most)
	case f != nil && !f.matches(v):
		wrong = fmt.Sprintf("must be %s, not %q", f.want, v)
	case check != nil:
		wrong = check(v)
	}
	if wrong != "" {
		r.Problem(n, "%s %s", n.Path, wrong)
	}
	return v, wrong == ""
}
