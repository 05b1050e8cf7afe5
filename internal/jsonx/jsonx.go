// Package jsonx reads JSON that can be understood in one way only.
//
// The grammar is that of RFC 8259, and a text is refused for what a lenient reader
// would mend in silence:
//
//	{"a":1,"\u0061":2}    a member twice, however its name is spelt
//	{"Path":"x"}          a member that differs from a field by case ("path")
//	"\ud800"              half a surrogate pair, or bytes that are not UTF-8
//	{} {}                 anything behind the one value
//	NaN, 01, 1., +1, //   everything else that only looks like JSON
//
// [Check] judges a text, [Decode] also turns it into a Go value, [Marshal] writes one
// line, and [Canonical] gives the one form that is hashed (RFC 8785). A refusal is a
// *durward.Error with reason BadJSON, or BodyTooLarge where only the size is wrong;
// its cause is a [*SyntaxError] that tells the place.
package jsonx

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/durward/durward"
)

// Limits bound a text before anything is made of it. The zero value of each member
// means its default; there is no "unlimited".
type Limits struct {
	// Bytes is the size of the text. Zero means 1 MiB.
	Bytes int64
	// Depth is how many arrays and objects may stand inside each other. Zero means
	// 128; more than 10 000 counts as 10 000.
	Depth int
	// Values is how many values the text may hold: each object, array, string,
	// number, boolean and null counts one, names of members do not. Zero means
	// 262 144.
	Values int
}

const (
	defaultBytes  = 1 << 20
	defaultDepth  = 128
	defaultValues = 262_144
	maxDepth      = 10_000 // encoding/json goes no deeper
)

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Values <= 0 {
		l.Values = defaultValues
	}
	l.Depth = min(l.Depth, maxDepth)
	return l
}

// Options say how a text is turned into a value.
type Options struct {
	Limits Limits
	// IgnoreUnknown passes over members that a struct has no field for. Without it
	// they are refused. A member whose name differs from a field only by case is
	// unknown in either way; it never sets the field.
	IgnoreUnknown bool
}

// Read reads r to its end, and refuses with BodyTooLarge what is longer than the limit
// for bytes; it reads at most one byte more than that.
func Read(r io.Reader, l Limits) ([]byte, error) {
	l = l.withDefaults()
	data, err := io.ReadAll(io.LimitReader(r, l.Bytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > l.Bytes {
		return nil, tooLarge(l.Bytes)
	}
	return data, nil
}

// Check reports whether data is one strict JSON value within the limits. It needs
// memory for the names of the members of the objects that are open at once, and for
// nothing else.
func Check(data []byte, l Limits) error {
	return newScanner(data, l).document(nil)
}

// Decode checks data and stores it in the value that into points to, by the rules of
// encoding/json but for these: names of members match fields exactly, unknown members
// are refused unless the options say otherwise, and a number that meets an interface
// becomes a json.Number. A json.RawMessage receives exactly the bytes of its value.
// When Decode fails the target may be half filled.
//
// Fields of embedded structs count as fields of the outer one if the struct is embedded
// by value. A type with an UnmarshalJSON method judges its own members.
func Decode(data []byte, into any, o Options) error {
	s := newScanner(data, o.Limits)
	s.ignoreUnknown = o.IgnoreUnknown
	if err := s.document(reflect.TypeOf(into)); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(s.masked()))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return misfit(data, err)
	}
	return nil
}

// misfit turns the complaint of encoding/json about a type into one of ours.
func misfit(data []byte, err error) error {
	var programmer *json.InvalidUnmarshalError
	if errors.As(err, &programmer) {
		return err
	}
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return &durward.Error{Reason: durward.BadJSON, Op: op, Err: err}
	}
	what := kind.Value + " does not fit"
	if kind.Field != "" {
		what += " in " + quoted(kind.Field)
	}
	return refusal(data, int(kind.Offset), what)
}
