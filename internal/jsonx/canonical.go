package jsonx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/durward/durward"
)

// canonicalBytes is the largest text that [Canonical] takes.
const canonicalBytes = 16 << 20

// Canonical gives the one form of a JSON text that RFC 8785 defines: no white space,
// members sorted by the UTF-16 code units of their names, strings with the fewest
// escapes, numbers as ECMAScript writes them. Two texts with the same meaning give the
// same bytes.
//
// A number means the nearest double, so integers beyond 2^53 may meet in one form; a
// number beyond the range of doubles is refused. The text may be 16 MiB; the other
// limits are the defaults of [Limits].
func Canonical(data []byte) ([]byte, error) {
	if err := Check(data, Limits{Bytes: canonicalBytes}); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, misfit(data, err)
	}
	return appendCanonical(make([]byte, 0, len(data)), v)
}

func appendCanonical(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case map[string]any:
		return appendObject(b, v)
	case []any:
		return appendArray(b, v)
	case string:
		return appendText(b, v), nil
	case json.Number:
		return appendNumber(b, v)
	case bool:
		return strconv.AppendBool(b, v), nil
	}
	return append(b, "null"...), nil
}

func appendArray(b []byte, list []any) ([]byte, error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendCanonical(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, object map[string]any) ([]byte, error) {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUTF16)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		var err error
		if b, err = appendCanonical(b, object[name]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// compareUTF16 orders two strings by their UTF-16 code units. That is the order of
// code points, but that a surrogate (0xD800…) stands before U+E000…U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(firstUnit(x), firstUnit(y)), cmp.Compare(x, y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// firstUnit gives the first UTF-16 code unit of r.
func firstUnit(r rune) rune {
	if r < 0x10000 {
		return r
	}
	return 0xD800 + (r-0x10000)>>10
}

// shortEscapes holds the letters of the control characters that have one.
var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case shortEscapes[c] != 0:
			b = append(b, '\\', shortEscapes[c])
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(b, '"')
}

// appendNumber writes the shortest digits that give the same double: plain from 1e-6
// up to 1e21, with an exponent outside, and zero without a sign. But for that zero,
// encoding/json writes a float64 in the same way.
func appendNumber(b []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, &durward.Error{
			Reason: durward.BadJSON, Op: op,
			Err: fmt.Errorf("the number %s is beyond the range of a double", quoted(n.String())),
		}
	}
	if f == 0 {
		return append(b, '0'), nil
	}
	text, err := json.Marshal(f)
	return append(b, text...), err
}
