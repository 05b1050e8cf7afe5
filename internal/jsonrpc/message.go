package jsonrpc

import (
	"encoding/json"
	"strconv"

	"github.com/durward/durward/internal/jsonx"
)

// A Kind says what a message is for.
type Kind int

// The kinds. The zero Kind is that of a message that is none of them.
const (
	Request      Kind = iota + 1 // wants an answer
	Notification                 // is never answered, whatever it says
	Response                     // answers a request, and is never answered itself
)

// A Message is one message of any kind. What is raw in it is JSON that was checked.
type Message struct {
	Kind   Kind
	ID     ID              // of a request, or of the request that a response answers
	Method string          // of a request or notification
	Params json.RawMessage // of a request or notification; nil for none
	Trace  json.RawMessage // of a request in the dialect of [ParseBare]; nil for none
	Result json.RawMessage // of a response without Error; nil is written as null
	Error  *Error          // of a response that has no result
}

// Answer is the response to m with a result, which is JSON.
func (m Message) Answer(result json.RawMessage) Message {
	return Message{Kind: Response, ID: m.ID, Result: result}
}

// Refuse is the response to m with an error. It answers the zero Message, too, which
// stands for one that could not be read.
func (m Message) Refuse(e *Error) Message {
	return Message{Kind: Response, ID: m.ID, Error: e}
}

// Append appends the message as compact JSON, without a newline. Texts that are raw
// keep their numbers, escapes and the order of their members.
func (m Message) Append(text []byte) []byte {
	text = append(text, `{"jsonrpc":"2.0"`...)
	if m.Kind != Notification {
		text = append(append(text, `,"id":`...), m.ID.String()...)
	}
	switch {
	case m.Kind != Response:
		text = m.appendCall(text)
	case m.Error != nil:
		text = m.Error.append(append(text, `,"error":`...))
	case len(m.Result) == 0:
		text = append(text, `,"result":null`...)
	default:
		text = jsonx.AppendCompact(append(text, `,"result":`...), m.Result)
	}
	return append(text, '}')
}

func (m Message) appendCall(text []byte) []byte {
	text = jsonx.AppendString(append(text, `,"method":`...), m.Method)
	if len(m.Params) > 0 {
		text = jsonx.AppendCompact(append(text, `,"params":`...), m.Params)
	}
	return text
}

func (e *Error) append(text []byte) []byte {
	text = strconv.AppendInt(append(text, `{"code":`...), int64(e.Code), 10)
	text = jsonx.AppendString(append(text, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		text = jsonx.AppendCompact(append(text, `,"data":`...), e.Data)
	}
	return append(text, '}')
}
