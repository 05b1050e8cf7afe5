package jsonrpc

import (
	"encoding/json"
	"strconv"

	"github.com/durward/durward/internal/jsonx"
)

// ParseBare makes a message of one JSON text in the dialect of the exec server. It differs
// from [Parse]: there is no version, and a member of that name means nothing; an id is a
// string or a signed integer of 64 bits; params may be any value, and null is none; a
// request may have a trace. What the text is no message by is always InvalidRequest.
func ParseBare(text []byte) (Message, *Error) {
	if err := check(text); err != nil {
		return Message{}, invalid(err.Message)
	}
	text = jsonx.TrimSpace(text)
	if text[0] != '{' {
		return Message{}, invalid("a message is an object")
	}
	return split(text).bare()
}

func (e envelope) bare() (Message, *Error) {
	id, known := parseShortID(e.id)
	m := Message{ID: id, Params: given(e.params), Trace: given(e.trace)}
	isString := false
	switch m.Method, isString = jsonx.Text(e.method); {
	case e.id != nil && !known:
		return Message{}, invalid("id is neither a string nor an integer of 64 bits")
	case m.Trace != nil && m.Trace[0] != '{':
		return Message{}, invalid("trace is not an object")
	case isString && e.id == nil:
		m.Kind = Notification
	case isString:
		m.Kind = Request
	case e.method == nil && e.id != nil && (e.result != nil || e.hasError()):
		m.Kind, m.Result = Response, e.result
	default:
		return Message{}, invalid("it has neither a method nor an id with a result or an error")
	}
	return m, nil
}

// hasError reports whether there is an error of the form that a response has.
func (e envelope) hasError() bool {
	_, bad := parseError(e.err)
	return e.err != nil && bad == nil
}

// parseShortID makes an ID of a string or an integer of 64 bits.
func parseShortID(value []byte) (id ID, ok bool) {
	if isInteger(value) {
		_, err := strconv.ParseInt(string(value), 10, 64)
		return ID{string(value)}, err == nil
	}
	return parseID(value)
}

// given leaves out a member that is null.
func given(value []byte) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// AppendBare is [Message.Append] for the dialect of [ParseBare]. What is raw in the message
// is taken as it stands, so it is to be compact.
func (m Message) AppendBare(text []byte) []byte {
	text = append(text, '{')
	if m.Kind != Notification {
		text = append(append(append(text, `"id":`...), m.ID.String()...), ',')
	}
	switch {
	case m.Kind != Response:
		text = jsonx.AppendString(append(text, `"method":`...), m.Method)
		if len(m.Params) > 0 {
			text = append(append(text, `,"params":`...), m.Params...)
		}
	case m.Error != nil:
		text = m.Error.append(append(text, `"error":`...))
	case len(m.Result) == 0:
		text = append(text, `"result":null`...)
	default:
		text = append(append(text, `"result":`...), m.Result...)
	}
	return append(text, '}')
}
