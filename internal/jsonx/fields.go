package jsonx

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// A fieldSet holds the members that a struct takes, by their exact names.
type fieldSet map[string]reflect.Type

// fieldSets keeps the set of every struct that was ever decoded into.
var fieldSets sync.Map // of reflect.Type to fieldSet

func fieldsOf(t reflect.Type) fieldSet {
	if set, ok := fieldSets.Load(t); ok {
		return set.(fieldSet)
	}
	set := make(fieldSet)
	set.add(t)
	fieldSets.Store(t, set)
	return set
}

// add puts in the fields of t; a name that is there already stands for an outer field
// and stays.
func (set fieldSet) add(t reflect.Type) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			embedded = append(embedded, f.Type)
		case f.IsExported():
			set.put(name, f)
		}
	}
	for _, e := range embedded {
		set.add(e)
	}
}

func (set fieldSet) put(name string, f reflect.StructField) {
	if name == "" {
		name = f.Name
	}
	if _, there := set[name]; !there {
		set[name] = f.Type
	}
}

// structOf gives the struct behind t, or nil when an object that goes into t is not
// judged by fields.
func structOf(t reflect.Type) reflect.Type {
	if t = target(t); t != nil && t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

// elementOf gives the type that each element of a list or map goes into, or nil.
func elementOf(t reflect.Type) reflect.Type {
	if t = target(t); t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	}
	return nil
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// target follows pointers to the type that is filled in the end. It is nil for a type
// that reads JSON by itself.
func target(t reflect.Type) reflect.Type {
	for t != nil {
		if p := reflect.PointerTo(t); p.Implements(unmarshaler) || p.Implements(textUnmarshaler) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

// masked gives the text with the name of each ignored member overwritten, so that
// encoding/json, which ignores case, cannot take it for a field. A name made of single
// quotes cannot be a field's; and nothing moves, so offsets stay true.
func (s *scanner) masked() []byte {
	if len(s.unknown) == 0 {
		return s.data
	}
	text := bytes.Clone(s.data)
	for _, name := range s.unknown {
		for i := name.from; i < name.to; i++ {
			text[i] = '\''
		}
	}
	return text
}
