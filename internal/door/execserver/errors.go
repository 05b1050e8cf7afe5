package execserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// refusal is an error with the code that it is answered with.
func refusal(code protocol.Code, format string, args ...any) error {
	return &codedError{code, fmt.Sprintf(format, args...)}
}

type codedError struct {
	code protocol.Code
	text string
}

func (e *codedError) Error() string { return e.text }

// Unwrap gives the same for the record.
func (e *codedError) Unwrap() error {
	return &durward.Error{Reason: durward.BadCall, Op: Name, Err: errors.New(e.text)}
}

// answerOf gives an error as it is answered: the code that the contract of the method has
// for it, what and why in words, and the reason for programs.
func answerOf(method string, err error) *jsonrpc.Error {
	var coded *codedError
	var malformed *protocol.DecodeError
	switch {
	case errors.As(err, &coded):
		return &jsonrpc.Error{Code: int(coded.code), Message: coded.text}
	case errors.As(err, &malformed):
		return &jsonrpc.Error{Code: int(malformedCode(method, malformed)), Message: "malformed params: " + malformed.Error()}
	case errors.Is(err, errGone), errors.Is(err, errFull):
		return &jsonrpc.Error{Code: int(protocol.InternalError), Message: err.Error()}
	}
	return &jsonrpc.Error{Code: int(codeOf(method, err)), Message: wordsOf(err), Data: dataOf(err)}
}

// wordsOf says what went wrong and what the system said to it, and names no path.
func wordsOf(err error) string {
	words := durward.ReasonOf(err).Summary()
	if words == "" {
		words = durward.KindOf(err).String()
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) && errno.Error() != words {
		words += ": " + errno.Error()
	}
	return words
}

// malformedCode is InvalidParams but for the content of a file.
func malformedCode(method string, err error) protocol.Code {
	if method == protocol.FSWriteFile && errors.Is(err, protocol.ErrBase64) {
		return protocol.InvalidRequest
	}
	return protocol.InvalidParams
}

// codeOf gives the code of what the core and its engines refuse.
func codeOf(method string, err error) protocol.Code {
	switch family(method) {
	case "filesystem":
		return fsCode(method, err)
	case "http":
		return httpCode(err)
	}
	if durward.KindOf(err) == durward.Denied {
		return protocol.InvalidRequest
	}
	switch durward.ReasonOf(err) {
	case durward.BadPath, durward.MissingField, durward.WrongType:
		return protocol.InvalidParams
	case durward.PathElsewhere:
		return protocol.InvalidRequest
	}
	return protocol.InternalError
}

// CodeFor gives the code that a method answers a reason with.
func CodeFor(method string, reason durward.Reason) int {
	return int(codeOf(method, &durward.Error{Reason: reason}))
}

// dataOf says for programs which rule refused a call, and what can be done.
func dataOf(err error) json.RawMessage {
	e := durward.AsError(err)
	if e == nil || e.Reason == "" {
		return nil
	}
	data := jsonx.AppendString([]byte(`{"reason":`), string(e.Reason))
	for _, m := range []struct{ name, text string }{{"rule", e.Rule}, {"hint", e.Hint}} {
		if m.text != "" {
			data = append(append(append(data, `,"`...), m.name...), `":`...)
			data = jsonx.AppendString(data, m.text)
		}
	}
	return append(data, '}')
}
