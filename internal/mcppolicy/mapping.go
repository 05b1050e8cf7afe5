package mcppolicy

import (
	"fmt"
	"math"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// An object holds a mapping with members of its own, and keeps its place.
type object struct {
	where  *durward.Position
	fields func() []field
}

func (o *object) reset() {
	*o.where = durward.Position{}
	reset(o.fields())
}

func (o *object) decode(r *reader, n *config.Node) {
	*o.where = n.Where
	r.object(n, o.fields())
}

func (o *object) value() (any, bool) {
	v := valuesOf(o.fields())
	return v, len(v) == 0
}

func (o *object) schema(at string) map[string]any { return objectSchema(o.fields(), at) }

// Objects are a list of such mappings. Fields binds the members to one item, which it
// gives its place.
type objects[T any] struct {
	into   *[]T
	fields func(*T, durward.Position) []field
}

func (o *objects[T]) reset() { *o.into = nil }

func (o *objects[T]) decode(r *reader, n *config.Node) {
	r.List(n, func(item *config.Node) {
		var t T
		fields := o.fields(&t, item.Where)
		reset(fields)
		r.object(item, fields)
		*o.into = append(*o.into, t)
	})
}

func (o *objects[T]) value() (any, bool) {
	list := make([]any, len(*o.into))
	for i := range *o.into {
		t := (*o.into)[i]
		list[i] = valuesOf(o.fields(&t, durward.Position{}))
	}
	return list, len(list) == 0
}

func (o *objects[T]) schema(at string) map[string]any {
	var t T
	items := objectSchema(o.fields(&t, durward.Position{}), at+"/items")
	return map[string]any{"type": "array", "items": items, "default": []any{}}
}

func reset(fields []field) {
	for _, f := range fields {
		f.holds.reset()
	}
}

// valuesOf gives the members that count for the hash.
func valuesOf(fields []field) map[string]any {
	all := map[string]any{}
	for _, f := range fields {
		if v, isDefault := f.holds.value(); f.hashed || !isDefault {
			all[f.name] = v
		}
	}
	return all
}

// Variables are a mapping from names to strings.
type variables struct{ into *map[string]Text }

func (v *variables) reset() { *v.into = nil }

func (v *variables) decode(r *reader, n *config.Node) {
	*v.into = map[string]Text{}
	r.Map(n, func(f config.Field) {
		value, ok := r.text(f.Value, nil, 0, nil)
		switch wrong := refuseLoader(f.Name); {
		case !envForm.matches(f.Name):
			r.problem(f.Where, "%s: %q must be %s", n.Path, f.Name, envForm.want)
		case wrong != "":
			r.problem(f.Where, "%s %s", n.Path, wrong)
		case ok:
			(*v.into)[f.Name] = Text{value, f.Where}
		}
	})
}

func (v *variables) value() (any, bool) {
	plain := map[string]string{}
	for name, t := range *v.into {
		plain[name] = t.Value
	}
	return plain, len(plain) == 0
}

func (v *variables) schema(string) map[string]any {
	return map[string]any{
		"type": "object", "propertyNames": map[string]any{"pattern": envForm.pattern},
		"additionalProperties": map[string]any{"type": "string"}, "default": map[string]any{},
	}
}

// A sandbox holds the mapping that package policy reads.
type sandbox struct{ into *Sandbox }

func (s *sandbox) reset() { *s.into = Sandbox{} }

func (s *sandbox) decode(r *reader, n *config.Node) {
	doc, err := policy.Read(n)
	for _, p := range config.ProblemsOf(err) {
		r.problem(p.Where, "%s", p.Message)
	}
	*s.into = Sandbox{Document: doc, written: plain(n)}
}

func (s *sandbox) value() (any, bool) { return s.into.written, s.into.written == nil }

func (s *sandbox) schema(string) map[string]any { return map[string]any{"type": "object"} }

// plain gives a value as encoding/json takes it, however its numbers were written.
func plain(n *config.Node) any {
	switch n.Kind {
	case config.Map:
		members := map[string]any{}
		for _, f := range n.Fields {
			members[f.Name] = plain(f.Value)
		}
		return members
	case config.List:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = plain(item)
		}
		return items
	case config.Bool:
		v, _ := new(config.Decoder).Bool(n)
		return v
	case config.Int:
		// In no policy is an integer that a double would round.
		if v, ok := new(config.Decoder).Int(n, math.MinInt64, math.MaxInt64); ok {
			return v
		}
	case config.Null:
		return nil
	}
	return fmt.Sprint(n.Text)
}
