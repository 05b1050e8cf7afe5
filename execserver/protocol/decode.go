package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A DecodeError says which member of params, a result or a notification is wrong.
type DecodeError struct {
	Member  string // "options.maxDepth", "argv[2]"; empty for the whole
	Problem string
	Err     error // ErrBase64 if the only thing wrong is the text of a [Base64]; else nil
}

func (e *DecodeError) Error() string {
	if e.Member == "" {
		return e.Problem
	}
	return e.Member + ": " + e.Problem
}

// Unwrap gives Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// Decode reads params, a result or the params of a notification into the struct for it.
//
//   - Absent params, which are nil here, and null count as {}.
//   - A required member that is missing or null is refused, as is a member that stands
//     twice, has the wrong type, or a word that its type does not have. Numbers of
//     unsigned members are digits and nothing else: neither -1 nor 1.0 nor 1e2.
//   - Names are matched exactly; members that the struct does not have are passed over.
//   - An optional member that is null is as absent, but for [Resume].
//   - A [Base64] is decoded from where it stands in the message. Text that is not base64
//     is reported only if nothing else is wrong, by an error that wraps [ErrBase64].
//
// The message is one that was found to be valid JSON before; Decode never panics on
// another, but does not notice everything that is wrong with it. Every error is a
// *[DecodeError]. Fields of json.RawMessage share the memory of the message.
func Decode[T any](raw json.RawMessage) (T, error) {
	var into T
	var d decoder
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || isNull(raw) {
		raw = json.RawMessage("{}")
	}
	err := d.value(raw, reflect.ValueOf(&into).Elem())
	if err == nil {
		err = d.badBase64
	}
	if err != nil {
		var zero T
		return zero, toDecodeError(err)
	}
	return into, nil
}

func toDecodeError(err error) *DecodeError {
	var known *DecodeError
	if errors.As(err, &known) {
		return known
	}
	return &DecodeError{Problem: err.Error()}
}

// within puts the name of what holds it before the member that an error is about.
func within(name string, err error) error {
	e := *toDecodeError(err)
	switch {
	case e.Member == "":
		e.Member = name
	case e.Member[0] == '[':
		e.Member = name + e.Member
	default:
		e.Member = name + "." + e.Member
	}
	return &e
}

// A checker has values that its Go type cannot rule out.
type checker interface{ check() error }

func oneOf[T ~string](got T, words ...T) error {
	if slices.Contains(words, got) {
		return nil
	}
	return fmt.Errorf("unknown word %q", string(got))
}

func expected(what string) error { return errors.New("expected " + what) }

func isNull(raw []byte) bool { return string(raw) == "null" }

type decoder struct {
	badBase64 error // the first; nothing else may turn out to be wrong after it
}

// value decodes what is there; raw is not empty.
func (d *decoder) value(raw []byte, into reflect.Value) error {
	if err := d.typed(raw, into); err != nil {
		return err
	}
	if c, ok := into.Interface().(checker); ok {
		return c.check()
	}
	return nil
}

func (d *decoder) typed(raw []byte, into reflect.Value) error {
	switch to := into.Addr().Interface().(type) {
	case *Base64:
		return d.base64(raw, to)
	case *Resume:
		return d.resume(raw, to)
	case *json.RawMessage:
		*to = raw
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return d.value(raw, into.Elem())
	case reflect.Struct:
		return d.object(raw, into)
	case reflect.Map:
		return d.entries(raw, into)
	case reflect.Slice:
		return d.elements(raw, into)
	default:
		return scalar(raw, into)
	}
}

func (d *decoder) base64(raw []byte, to *Base64) error {
	if raw[0] != '"' {
		return expected("a string")
	}
	err := to.unquote(raw)
	if !errors.Is(err, ErrBase64) {
		return err
	}
	if d.badBase64 == nil {
		d.badBase64 = err
	}
	return nil
}

func (d *decoder) resume(raw []byte, to *Resume) error {
	*to = ResumeNull()
	if isNull(raw) {
		return nil
	}
	return d.value(raw, reflect.ValueOf(&to.ID).Elem())
}

func (d *decoder) object(raw []byte, into reflect.Value) error {
	if raw[0] != '{' {
		return expected("an object")
	}
	members := membersOf(into.Type())
	seen := make([]bool, len(members.list))
	c := cursor{text: raw[1:], end: '}'}
	for {
		more, err := c.more()
		if err != nil {
			return err
		}
		if !more {
			return members.missing(seen)
		}
		name, value, err := c.member()
		if err != nil {
			return err
		}
		m, known := members.byName[name]
		if !known {
			continue
		}
		if err := d.member(members.list[m], value, into, &seen[m]); err != nil {
			return within(name, err)
		}
	}
}

func (d *decoder) member(m member, value []byte, into reflect.Value, seen *bool) error {
	if *seen {
		return errors.New("stands twice")
	}
	*seen = true
	field := into.Field(m.field)
	switch {
	case !isNull(value) || m.takesNull:
	case m.optional:
		return nil
	default:
		return errors.New("must not be null")
	}
	before := d.badBase64
	err := d.value(value, field)
	if before == nil && d.badBase64 != nil {
		d.badBase64 = &DecodeError{Member: m.name, Problem: d.badBase64.Error(), Err: ErrBase64}
	}
	return err
}

func (d *decoder) entries(raw []byte, into reflect.Value) error {
	if raw[0] != '{' {
		return expected("an object")
	}
	into.Set(reflect.MakeMap(into.Type()))
	c := cursor{text: raw[1:], end: '}'}
	for {
		more, err := c.more()
		if err != nil || !more {
			return err
		}
		name, value, err := c.member()
		if err != nil {
			return err
		}
		entry := reflect.New(into.Type().Elem()).Elem()
		if err := d.value(value, entry); err != nil {
			return within(name, err)
		}
		into.SetMapIndex(reflect.ValueOf(name), entry)
	}
}

func (d *decoder) elements(raw []byte, into reflect.Value) error {
	if raw[0] != '[' {
		return expected("an array")
	}
	list := reflect.MakeSlice(into.Type(), 0, 0)
	c := cursor{text: raw[1:], end: ']'}
	for {
		more, err := c.more()
		if err != nil {
			return err
		}
		if !more {
			into.Set(list)
			return nil
		}
		value, err := c.value()
		if err != nil {
			return err
		}
		n := list.Len()
		list = reflect.Append(list, reflect.Zero(into.Type().Elem()))
		if err := d.value(value, list.Index(n)); err != nil {
			return within("["+strconv.Itoa(n)+"]", err)
		}
	}
}

func scalar(raw []byte, into reflect.Value) error {
	switch into.Kind() {
	case reflect.String:
		return text(raw, into)
	case reflect.Bool:
		if s := string(raw); s != "true" && s != "false" {
			return expected("true or false")
		}
		into.SetBool(raw[0] == 't')
		return nil
	case reflect.Int, reflect.Int64:
		return integer(raw, into)
	case reflect.Uint16, reflect.Uint64:
		return unsigned(raw, into)
	}
	panic("protocol: no way to decode a " + into.Type().String())
}

func text(raw []byte, into reflect.Value) error {
	if raw[0] != '"' {
		return expected("a string")
	}
	s, err := unquote(raw)
	if err != nil {
		return err
	}
	into.SetString(s)
	return nil
}

func integer(raw []byte, into reflect.Value) error {
	n, err := strconv.ParseInt(string(raw), 10, into.Type().Bits())
	if err != nil || raw[0] == '+' {
		return expected("an integer")
	}
	into.SetInt(n)
	return nil
}

func unsigned(raw []byte, into reflect.Value) error {
	n, err := strconv.ParseUint(string(raw), 10, into.Type().Bits())
	if err != nil {
		return expected("an integer from 0 to " + strconv.FormatUint(1<<into.Type().Bits()-1, 10))
	}
	into.SetUint(n)
	return nil
}

// A member is a field of a struct as it stands in a message.
type member struct {
	name      string
	field     int
	optional  bool
	takesNull bool
}

type memberSet struct {
	list   []member
	byName map[string]int
}

// missing names the first required member that was not seen.
func (s *memberSet) missing(seen []bool) error {
	for i, m := range s.list {
		if !seen[i] && !m.optional {
			return &DecodeError{Member: m.name, Problem: "is missing"}
		}
	}
	return nil
}

// memberSets keeps the members of each struct that was ever decoded.
var memberSets sync.Map // of reflect.Type to *memberSet

func membersOf(t reflect.Type) *memberSet {
	if set, ok := memberSets.Load(t); ok {
		return set.(*memberSet)
	}
	set := &memberSet{byName: make(map[string]int)}
	for i := range t.NumField() {
		m := memberOf(t.Field(i), i)
		set.byName[m.name] = len(set.list)
		set.list = append(set.list, m)
	}
	memberSets.Store(t, set)
	return set
}

func memberOf(f reflect.StructField, i int) member {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return member{
		name:      name,
		field:     i,
		optional:  options != "" || f.Type.Kind() == reflect.Pointer || f.Tag.Get("wire") == "optional",
		takesNull: f.Type == reflect.TypeFor[Resume](),
	}
}
