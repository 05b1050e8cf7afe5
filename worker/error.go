package worker

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A Code is the class of a failure. A tool may have codes of its own: a capital letter,
// then up to 63 capital letters, digits and "_". Any other code becomes [Internal].
type Code string

// The codes that every caller of a gateway knows.
const (
	// UpstreamError: what the tool asked for its part failed. Retryable.
	UpstreamError Code = "UPSTREAM_ERROR"
	// ValidationError: the input cannot be used. Not retryable.
	ValidationError Code = "VALIDATION_ERROR"
	// Timeout: the deadline passed. Retryable.
	Timeout Code = "TIMEOUT"
	// Internal: the worker has a defect, or is not set up. Not retryable.
	Internal Code = "INTERNAL"
)

// unauthenticated is the code of a call without the worker's token.
const unauthenticated Code = "UNAUTHENTICATED"

var ownCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`) })

// A Retry says whether the same call may succeed later.
type Retry int

// The zero value leaves it to the code.
const (
	ByCode Retry = iota
	Retryable
	Final
)

// An Error is a failure that the caller is told. All but Err goes to strangers: it holds
// no secret and no address.
type Error struct {
	// Code is the class; empty means [Internal].
	Code Code
	// Message is for people.
	Message string
	// Retry is whether to try again.
	Retry Retry
	// Details is what programs can use. Nil means none.
	Details map[string]any
	// Err is the cause, for the log; it may be nil.
	Err error
}

// Error gives the message, with its cause.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = string(e.code())
	}
	if e.Err == nil {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) code() Code {
	if !ownCode().MatchString(string(e.Code)) {
		return Internal
	}
	return e.Code
}

func (e *Error) retryable() bool {
	switch e.Retry {
	case Retryable:
		return true
	case Final:
		return false
	}
	return e.code() == UpstreamError || e.code() == Timeout
}

// problem says what is wrong with a text, and where. It may quote names from it, never
// values.
func problem(err error) string {
	var syntax *jsonx.SyntaxError
	if errors.As(err, &syntax) {
		return syntax.Error()
	}
	return durward.ReasonOf(err).Summary()
}

// asError is how the caller is told of an error that a tool came back with.
func asError(ctx context.Context, err error) *Error {
	var told *Error
	switch {
	case errors.As(err, &told) && told != nil:
		return told
	case ctx.Err() == nil:
		return &Error{Code: Internal, Message: "the tool failed", Err: err}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return &Error{Code: Timeout, Message: "the deadline of the call passed", Err: err}
	case durward.ReasonOf(context.Cause(ctx)) == durward.ShuttingDown:
		return shuttingDown(err)
	}
	return &Error{Code: cancelled, Message: "the caller is gone", Err: err}
}

// cancelled is the code of a call whose caller is gone; nobody reads it but the log.
const cancelled Code = "CANCELLED"

func shuttingDown(err error) *Error {
	return &Error{Code: UpstreamError, Message: "the worker is shutting down", Err: err}
}
