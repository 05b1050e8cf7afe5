package execclient

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/durward/durward/execserver/protocol"
)

// An Error is a server's refusal of a call. Where the code is protocol.NotFound, it is
// fs.ErrNotExist to errors.Is.
type Error struct {
	Method  string
	Code    protocol.Code
	Message string
	Data    []byte // JSON; nil for none
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (%d)", e.Method, e.Message, e.Code)
}

// Is reports whether the error is target by another name.
func (e *Error) Is(target error) bool {
	return target == fs.ErrNotExist && e.Code == protocol.NotFound
}

func hasCode(err error, code protocol.Code) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code == code
}

// A GapError stands for output that the server dropped before it could be had. What
// comes after the gap can be read on.
type GapError struct {
	ProcessID string
	First     uint64 // number of the first chunk that is lost
	Last      uint64 // number of the last one
}

func (e *GapError) Error() string {
	return fmt.Sprintf("process %q: output is lost, numbers %d to %d", e.ProcessID, e.First, e.Last)
}

var (
	// ErrClosed is what calls end with when the client was closed.
	ErrClosed = errors.New("execclient: the client is closed")
	// ErrInterrupted ends a call whose connection was lost before the answer came:
	// nobody knows whether it was carried out.
	ErrInterrupted = errors.New("execclient: the connection was lost before the answer")
	// ErrSessionLost is what everything ends with when the session cannot be resumed.
	ErrSessionLost = errors.New("execclient: the session is lost")
	// ErrStdinClosed refuses a write to a process that reads no more.
	ErrStdinClosed = errors.New("execclient: the process has no open stdin")
	// ErrUnknownProcess refuses a write to a process that the server does not know.
	ErrUnknownProcess = errors.New("execclient: the server does not know the process")
	// ErrTooLarge refuses a call that makes a larger message than a server takes.
	ErrTooLarge = errors.New("execclient: the message would be too large")
	// ErrAnswerTooLarge ends the calls that were on their way when a message of more than
	// 64 MiB came. Nobody knows whose answer it was, or whether they were carried out.
	ErrAnswerTooLarge = errors.New("execclient: an answer is too large")
	// ErrTooSlow ends the body of a response that was not read while it came.
	ErrTooSlow = errors.New("execclient: the body was not read in time")
)
