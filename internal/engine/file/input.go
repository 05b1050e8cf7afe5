package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A field is a member that an input may have.
type field struct {
	name   string
	needed bool
	value
}

// A value is what a field takes.
type value struct {
	wants string                                     // in words, behind "is not"
	take  func(value json.RawMessage) durward.Reason // "" when it fits
}

// decode hands the members of an input object to their fields. Of several faults it names
// one: an unknown member before one that is missing, and that before a value that does not
// fit.
func decode(op string, input json.RawMessage, fields []field) error {
	if !bytes.HasPrefix(bytes.TrimLeft(input, " \t\r\n"), []byte("{")) {
		return misfit(durward.WrongType, op, fields, "the input is no object")
	}
	if err := jsonx.Check(input, jsonx.Limits{Bytes: int64(len(input))}); err != nil { // the door has bounded it
		return err
	}
	values := make([]json.RawMessage, len(fields))
	unknown, others := "", false
	for name, value := range jsonx.Members(jsonx.TrimSpace(input)) {
		if i := slices.IndexFunc(fields, func(f field) bool { return f.name == string(name) }); i >= 0 {
			values[i] = value
		} else if !others || string(name) < unknown { // the first of all names
			unknown, others = string(name), true
		}
	}
	if others {
		return misfit(durward.UnknownField, op, fields, "there is no member %.64q", unknown) // it comes from outside, and is told
	}
	for i, f := range fields {
		if f.needed && values[i] == nil {
			return misfit(durward.MissingField, op, fields, "%q is missing", f.name)
		}
	}
	for i, f := range fields {
		if values[i] == nil {
			continue
		}
		if reason := f.take(values[i]); reason != "" {
			return misfit(reason, op, fields, "%q is not %s", f.name, f.wants)
		}
	}
	return nil
}

func misfit(reason durward.Reason, op string, fields []field, format string, args ...any) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return &durward.Error{
		Reason: reason, Op: op, Hint: "send an object of " + strings.Join(names, ", "), Err: fmt.Errorf(format, args...),
	}
}

// text takes a string.
func text(into *string) value {
	return value{"a string", func(value json.RawMessage) durward.Reason {
		says, ok := jsonx.Text(value)
		if !ok {
			return durward.WrongType
		}
		*into = says
		return ""
	}}
}

// truth takes true or false.
func truth(into *bool) value {
	return value{"true or false", func(value json.RawMessage) durward.Reason {
		*into = string(value) == "true"
		if !*into && string(value) != "false" {
			return durward.WrongType
		}
		return ""
	}}
}

// count takes an integer from 0. One that is too large for an int64 counts as the largest.
func count(into *int64, otherwise durward.Reason) value {
	return value{"a whole number from 0", func(value json.RawMessage) durward.Reason {
		if !strings.ContainsRune("-0123456789", rune(value[0])) {
			return durward.WrongType
		}
		n, whole := jsonx.Integer(string(value))
		if !whole || n < 0 {
			return otherwise
		}
		*into = n
		return ""
	}}
}

// An encoding is how bytes are written in JSON.
type encoding string

const (
	utf8Text encoding = "utf8"
	base64ed encoding = "base64"
)

// named takes the name of an encoding.
func named(into *encoding) value {
	return value{`"utf8" or "base64"`, func(value json.RawMessage) durward.Reason {
		var name string
		if reason := text(&name).take(value); reason != "" {
			return reason
		}
		switch encoding(name) {
		case utf8Text, base64ed:
			*into = encoding(name)
			return ""
		}
		return durward.BadEncoding
	}}
}
