package jsonx

import (
	"bytes"
	"encoding/json"
	"iter"
)

// What walks here over JSON that [Check] has passed trusts the grammar, and looks for
// nothing but where a value ends.

// Members gives what each name of an object's members says, and the value as it stands in
// the text. The text is one that was checked, and begins with the brace.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for at := skip(object, 1); object[at] != '}'; {
			end := stringEnd(object, at)
			name, _ := Unquote(object[at:end])
			at = skip(object, skip(object, end)+1) // over the colon
			end = valueEnd(object, at)
			if !yield(name, object[at:end:end]) {
				return
			}
			at = next(object, end)
		}
	}
}

// Object checks data, and gives the members of the object that it is. Their values share its
// memory.
func Object(data []byte, l Limits) (map[string]json.RawMessage, error) {
	if err := Check(data, l); err != nil {
		return nil, err
	}
	data = TrimSpace(data)
	if data[0] != '{' {
		return nil, refusal(data, 0, "expected an object")
	}
	members := make(map[string]json.RawMessage)
	for name, value := range Members(data) {
		members[string(name)] = value
	}
	return members, nil
}

// Elements gives the values of an array as they stand in the text. The text is one that was
// checked, and begins with the bracket.
func Elements(array []byte) []json.RawMessage {
	var list []json.RawMessage
	for at := skip(array, 1); array[at] != ']'; {
		end := valueEnd(array, at)
		list = append(list, array[at:end:end])
		at = next(array, end)
	}
	return list
}

// next gives the start of the member or element behind the one that ends at an offset,
// or the closing bracket.
func next(text []byte, end int) int {
	if end = skip(text, end); text[end] == ',' {
		return skip(text, end+1)
	}
	return end
}

// TrimSpace cuts off the white space before a value.
func TrimSpace(text []byte) []byte { return text[skip(text, 0):] }

// skip passes over white space.
func skip(text []byte, at int) int {
	for at < len(text) && isSpace(text[at]) {
		at++
	}
	return at
}

// valueEnd gives the offset behind the value that starts at an offset.
func valueEnd(text []byte, at int) int {
	for depth := 0; at < len(text); {
		switch c := text[at]; {
		case c == '"':
			at = stringEnd(text, at)
		case c == '{' || c == '[':
			depth++
			at++
		case depth == 0:
			return scalarEnd(text, at)
		case c == '}' || c == ']':
			depth--
			at++
		default:
			at++
			continue
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// scalarEnd gives the offset behind the number or word that starts at an offset.
func scalarEnd(text []byte, at int) int {
	for at < len(text) && !isSpace(text[at]) && text[at] != ',' && text[at] != '}' && text[at] != ']' {
		at++
	}
	return at
}

// stringEnd gives the offset behind the string that starts at an offset. Long strings
// are the bulk of large messages, and between two quotes it goes by leaps.
func stringEnd(text []byte, at int) int {
	for at++; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return len(text)
		}
		at += n + 1
		if !escaped(text, at-1) {
			return at
		}
	}
}

// escaped reports whether an odd number of backslashes stands before an offset.
func escaped(text []byte, at int) bool {
	odd := false
	for at--; at >= 0 && text[at] == '\\'; at-- {
		odd = !odd
	}
	return odd
}

// Text gives what a value says if it is a string. The value is one that was checked; it may
// be nil.
func Text(value []byte) (says string, ok bool) {
	said, ok := Unquote(value)
	return string(said), ok
}

// Unquote is [Text] without a copy where none is needed.
func Unquote(value []byte) (said []byte, ok bool) {
	if IsPlain(value) {
		return value[1 : len(value)-1], true
	}
	if len(value) == 0 || value[0] != '"' {
		return nil, false
	}
	var s string
	err := json.Unmarshal(value, &s)
	return []byte(s), err == nil
}

// IsPlain reports whether a value is a string that is written in one way only.
func IsPlain(value []byte) bool {
	return len(value) > 1 && value[0] == '"' && 1+plain(value[1:]) == len(value)-1
}

// AppendCompact appends a text that was checked without the white space between its tokens.
func AppendCompact(line, text []byte) []byte {
	for at := 0; at < len(text); {
		start := at
		for at < len(text) && !isSpace(text[at]) {
			if text[at] == '"' {
				at = stringEnd(text, at)
				continue
			}
			at++
		}
		line = append(line, text[start:at]...)
		at = skip(text, at)
	}
	return line
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
