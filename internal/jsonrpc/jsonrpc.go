// Package jsonrpc reads and writes the messages of JSON-RPC 2.0.
//
// A message is an object of one of three kinds. On a stream it is one line, ended by
// \n or \r\n; blank lines mean nothing:
//
//	{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs_read"}}   request
//	{"jsonrpc":"2.0","method":"notifications/initialized"}                       notification
//	{"jsonrpc":"2.0","id":1,"result":{}}                                         response
//	{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what for?"}}       response
//	[{"jsonrpc":"2.0","id":1,"method":"ping"}]                                   batch
//
//	id       a string, or an integer of any size: 1.0 and 1e2 are none
//	params   an object, if there
//
// Members that the envelope does not know are passed over, as is the custom. "ID" is
// such a member: names match exactly. A text that package jsonx refuses is not JSON
// here; so nothing stands twice in one object or deeper than 128, and no string holds
// half a surrogate pair, however far inside.
//
// The exec server speaks a dialect without the version and without batches, which
// [ParseBare] reads and [Message.AppendBare] writes.
//
// [Reader] gives lines, [Parse] and [Batch] make messages of them, [Writer] sends
// messages as lines, and [InFlight] knows which requests are being answered.
package jsonrpc

import (
	"encoding/json"
	"fmt"
)

// The codes that JSON-RPC itself defines.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// An Error is what a response says instead of a result.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil for none
}

// Error gives the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func invalid(message string) *Error { return &Error{Code: InvalidRequest, Message: message} }
