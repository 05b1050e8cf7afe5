package jsonx

import (
	"encoding/json"
	"slices"
)

// Member gives the member of an object of that name; nil where there is none, and where the value,
// which was checked or is nil, is no object. It shares the memory of the value.
func Member(value []byte, name string) json.RawMessage {
	value = TrimSpace(value)
	if len(value) == 0 || value[0] != '{' {
		return nil
	}
	for is, member := range Members(value) {
		if string(is) == name {
			return member
		}
	}
	return nil
}

// With gives an object, which was checked, in which a member that it has is another value.
func With(object []byte, name string, value json.RawMessage) json.RawMessage {
	text := make([]byte, 0, len(object)+len(value))
	text = append(text, '{')
	for is, member := range Members(object) {
		if string(is) == name {
			member = value
		}
		text = appendMember(text, is, member)
	}
	return append(text, '}')
}

// Put gives an object, which was checked, in which a member has a value, the last one if it is new.
func Put(object []byte, name string, value json.RawMessage) json.RawMessage {
	if Member(object, name) != nil {
		return With(object, name, value)
	}
	text := Without(object)
	return append(appendMember(text[:len(text)-1], []byte(name), value), '}')
}

// Without gives an object, which was checked, that lacks some members. What is no object stays as it
// is.
func Without(object []byte, names ...string) json.RawMessage {
	if len(object) == 0 || object[0] != '{' {
		return object
	}
	text := []byte{'{'}
	for is, member := range Members(object) {
		if !slices.Contains(names, string(is)) {
			text = appendMember(text, is, member)
		}
	}
	return append(text, '}')
}

// appendMember appends a member to an object whose brace is open.
func appendMember(text, name, value []byte) []byte {
	if text[len(text)-1] != '{' {
		text = append(text, ',')
	}
	text = append(AppendString(text, string(name)), ':')
	return append(text, value...)
}
