package jsonrpc

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/durward/durward/internal/jsonx"
)

// An ID tells the requests of one peer apart: a string or an integer. Two are == when
// they are of one type and read the same, so "1" is not 1, and "\u0061" is "a".
//
// The zero ID stands for null, which answers a message whose id is not known.
type ID struct {
	text string // as JSON has it; a string by the rules of jsonx.AppendString
}

// IntID is the ID of an integer.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID is the ID of a string.
func StringID(s string) ID { return ID{string(jsonx.AppendString(nil, s))} }

// String gives the ID as JSON.
func (id ID) String() string {
	if id.text == "" {
		return "null"
	}
	return id.text
}

// MarshalJSON gives the ID as JSON.
func (id ID) MarshalJSON() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalJSON takes a string or an integer. It refuses null, so an ID that may be
// missing is a field like any other, and one that may be null is a pointer.
func (id *ID) UnmarshalJSON(text []byte) error {
	parsed, ok := parseID(text)
	if !ok {
		return errors.New("an id is a string or an integer")
	}
	*id = parsed
	return nil
}

// parseID makes an ID of one JSON value.
func parseID(value []byte) (id ID, ok bool) {
	if isInteger(value) || jsonx.IsPlain(value) {
		return ID{string(value)}, true
	}
	if s, ok := jsonx.Text(value); ok {
		return StringID(s), true
	}
	return ID{}, false
}

// isInteger reports whether a JSON value is a number without fraction and exponent.
func isInteger(value []byte) bool {
	return len(value) > 0 && (value[0] == '-' || '0' <= value[0] && value[0] <= '9') && !bytes.ContainsAny(value, ".eE")
}
