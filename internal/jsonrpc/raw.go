package jsonrpc

import (
	"bytes"
	"encoding/json"
	"iter"
)

// What stands here walks over JSON that has been checked. It trusts the grammar and
// looks for nothing but where a value ends.

// members gives the name and the value of each member of an object.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for at := skip(object, 1); object[at] != '}'; {
			end := stringEnd(object, at)
			name, _ := unquote(object[at:end])
			at = skip(object, skip(object, end)+1) // over the colon
			end = valueEnd(object, at)
			if !yield(name, object[at:end:end]) {
				return
			}
			at = next(object, end)
		}
	}
}

// elements gives the values of an array.
func elements(array []byte) []json.RawMessage {
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

// appendCompact appends a JSON text without the white space between its tokens.
func appendCompact(line, text []byte) []byte {
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
