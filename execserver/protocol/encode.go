package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Encode writes params, a result or the params of a notification. Required lists and
// maps that are nil are written as empty ones, and no character is escaped for HTML.
func Encode[T any](v T) (json.RawMessage, error) {
	fill(reflect.ValueOf(&v).Elem())
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// fill makes the required lists and maps of a struct, and of the structs in it.
func fill(v reflect.Value) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[Resume]() {
		return
	}
	for _, m := range membersOf(v.Type()).list {
		f := v.Field(m.field)
		switch {
		case f.Kind() == reflect.Struct:
			fill(f)
		case m.optional:
		case f.Kind() == reflect.Slice && f.IsNil():
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		case f.Kind() == reflect.Map && f.IsNil():
			f.Set(reflect.MakeMap(f.Type()))
		}
	}
}
