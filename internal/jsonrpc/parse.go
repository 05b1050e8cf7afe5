package jsonrpc

import (
	"encoding/json"
	"errors"

	"github.com/durward/durward/internal/jsonx"
)

// Parse makes a message of one JSON text. What is raw in the message is exactly what
// stands in the text, and shares its memory.
//
// The error, if there is one, is the answer: Refuse of the message, which then has the
// id if that could be read, and the kind where the error is about params alone.
// A message of kind Response is not to be answered even then; its error says that it
// settles nothing, or settles the request it names as failed.
func Parse(text []byte) (Message, *Error) {
	return ParseWithin(text, jsonx.Limits{Bytes: int64(len(text))})
}

// ParseWithin is [Parse] with limits other than the usual ones, for messages of a peer whose
// answers may be large.
func ParseWithin(text []byte, l jsonx.Limits) (Message, *Error) {
	if err := checkWithin(text, l); err != nil {
		return Message{}, err
	}
	text = jsonx.TrimSpace(text)
	switch text[0] {
	case '{':
		return split(text).message()
	case '[':
		return Message{}, invalid("a batch is not accepted")
	}
	return Message{}, invalid("a message is an object")
}

// IsBatch reports whether a text is for [Batch] rather than for [Parse].
func IsBatch(text []byte) bool {
	text = jsonx.TrimSpace(text)
	return len(text) > 0 && text[0] == '['
}

// Batch gives the elements of an array, at least one, each of them for [Parse]. They
// share the memory of the text.
func Batch(text []byte) ([]json.RawMessage, *Error) {
	if err := check(text); err != nil {
		return nil, err
	}
	if !IsBatch(text) {
		return nil, invalid("a batch is an array")
	}
	list := jsonx.Elements(jsonx.TrimSpace(text))
	if len(list) == 0 {
		return nil, invalid("a batch holds at least one message")
	}
	return list, nil
}

// check is for a text whose size is bounded already.
func check(text []byte) *Error { return checkWithin(text, jsonx.Limits{Bytes: int64(len(text))}) }

func checkWithin(text []byte, l jsonx.Limits) *Error {
	err := jsonx.Check(text, l)
	if err == nil {
		return nil
	}
	var at *jsonx.SyntaxError
	if errors.As(err, &at) {
		err = at
	}
	return &Error{Code: ParseError, Message: "not JSON: " + err.Error()}
}

// An envelope holds the members of an object that make it a message; those that are
// missing are nil.
type envelope struct{ version, id, method, params, trace, result, err []byte }

func split(object []byte) envelope {
	var e envelope
	for name, value := range jsonx.Members(object) {
		switch string(name) {
		case "jsonrpc":
			e.version = value
		case "id":
			e.id = value
		case "method":
			e.method = value
		case "params":
			e.params = value
		case "trace":
			e.trace = value
		case "result":
			e.result = value
		case "error":
			e.err = value
		}
	}
	return e
}

func (e envelope) message() (Message, *Error) {
	if e.method == nil && (e.result != nil || e.err != nil) {
		return e.response()
	}
	id, known := parseID(e.id)
	method, isString := jsonx.Text(e.method)
	m := Message{ID: id}
	switch {
	case !e.isVersion2():
		return m, notVersion2()
	case e.id != nil && !known:
		return m, badID()
	case !isString:
		return m, invalid("method is missing or no string")
	}
	m.Kind, m.Method, m.Params = Request, method, e.params
	switch {
	case e.id == nil:
		m.Kind = Notification
	case e.params != nil && e.params[0] != '{':
		return m, &Error{Code: InvalidParams, Message: "params is not an object"}
	}
	return m, nil
}

// response reads what has a result or an error. Only an error may lack the id: it
// answers a message whose id could not be read.
func (e envelope) response() (Message, *Error) {
	id, known := parseID(e.id)
	unnamed := e.err != nil && (e.id == nil || string(e.id) == "null")
	m := Message{Kind: Response, ID: id}
	switch {
	case !e.isVersion2():
		return m, notVersion2()
	case e.result != nil && e.err != nil:
		return m, invalid("a response has a result or an error, not both")
	case !known && !unnamed:
		return m, badID()
	case e.result != nil:
		m.Result = e.result
		return m, nil
	}
	var bad *Error
	m.Error, bad = parseError(e.err)
	return m, bad
}

func parseError(value []byte) (*Error, *Error) {
	var e struct {
		Code    *int            `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	err := jsonx.Decode(value, &e, jsonx.Options{Limits: jsonx.Limits{Bytes: int64(len(value))}, IgnoreUnknown: true})
	if err != nil || e.Code == nil || e.Message == nil {
		return nil, invalid("error is not an object of a code, a message and perhaps data")
	}
	return &Error{Code: *e.Code, Message: *e.Message, Data: e.Data}, nil
}

func (e envelope) isVersion2() bool {
	version, _ := jsonx.Unquote(e.version)
	return string(version) == "2.0"
}

func notVersion2() *Error { return invalid(`jsonrpc is not "2.0"`) }

func badID() *Error { return invalid("id is neither a string nor an integer") }
