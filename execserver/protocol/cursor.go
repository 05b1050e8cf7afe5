package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errMalformed = errors.New("malformed JSON")

// A cursor goes over the members of an object or the elements of an array. It trusts
// that the text is JSON as to what it tells apart, and never as to where it ends.
type cursor struct {
	text []byte // behind the opening bracket
	end  byte   // the closing bracket
	some bool   // something was read already
}

func (c *cursor) space() { c.text = bytes.TrimLeft(c.text, " \t\r\n") }

// take passes over a byte if it comes next.
func (c *cursor) take(b byte) bool {
	c.space()
	if len(c.text) == 0 || c.text[0] != b {
		return false
	}
	c.text = c.text[1:]
	return true
}

// more reports whether a member or element follows, and passes over what stands before.
func (c *cursor) more() (bool, error) {
	if c.take(c.end) {
		return false, nil
	}
	if c.some && !c.take(',') {
		return false, errMalformed
	}
	c.some = true
	return true, nil
}

// member reads a name and its value.
func (c *cursor) member() (name string, value []byte, err error) {
	quoted, err := c.value()
	if err != nil {
		return "", nil, err
	}
	if name, err = unquote(quoted); err != nil {
		return "", nil, err
	}
	if !c.take(':') {
		return "", nil, errMalformed
	}
	value, err = c.value()
	return name, value, err
}

// value reads the text of one value, which is not empty.
func (c *cursor) value() ([]byte, error) {
	c.space()
	n := valueLen(c.text)
	if n == 0 {
		return nil, errMalformed
	}
	value := c.text[:n:n]
	c.text = c.text[n:]
	return value, nil
}

// valueLen gives the length of the value at the start of a text, or 0 for none.
func valueLen(text []byte) int {
	for at, depth := 0, 0; at < len(text); {
		switch text[at] {
		case '"':
			n := stringLen(text[at:])
			if n == 0 {
				return 0
			}
			at += n
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		default:
			if depth == 0 {
				return at + scalarLen(text[at:])
			}
			at++
		}
		if depth <= 0 {
			return at
		}
	}
	return 0
}

func scalarLen(text []byte) int {
	if n := bytes.IndexAny(text, ",]} \t\r\n"); n >= 0 {
		return n
	}
	return len(text)
}

// stringLen gives the length of the string at the start of a text, or 0 for none. It
// goes by leaps: long strings are the bulk of large messages.
func stringLen(text []byte) int {
	for at := 1; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return 0
		}
		at += n + 1
		if !escaped(text[:at-1]) {
			return at
		}
	}
}

// escaped reports whether an odd number of backslashes ends a text.
func escaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 1
}

func unquote(quoted []byte) (string, error) {
	if quoted[0] != '"' {
		return "", errMalformed
	}
	if plain(quoted) {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// plain reports whether a string says what it is written as.
func plain(quoted []byte) bool {
	for _, c := range quoted {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}
