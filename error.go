package durward

import (
	"context"
	"errors"
)

// An Error is a failure that leaves the core. Callers ask [KindOf] and [ReasonOf] and
// never match text. Error() may hold paths and causes: it is for the log and the
// local terminal; a remote caller is shown Reason.Summary and nothing else.
type Error struct {
	// Kind decides every wire code. Zero means the kind of Reason, or Internal.
	Kind Kind
	// Reason is the closed word for the case; it may be empty.
	Reason Reason
	// Op is what was being done: "file.read", "sandbox.start".
	Op string
	// Rule is the policy rule that refused, if any, and Where its place.
	Rule  string
	Where Position
	// Hint is what the user can do.
	Hint string
	// Path is the path that was refused, as the caller wrote it; it may be empty.
	Path string
	// Retry is set when the same request may succeed later.
	Retry bool
	// Err is the cause; it may be nil.
	Err error
}

// Error gives "op: cause", or the summary of the reason where there is no cause.
func (e *Error) Error() string {
	text := e.Reason.Summary()
	if e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = e.kind().String()
	}
	if e.Op == "" {
		return text
	}
	return e.Op + ": " + text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) kind() Kind {
	if e.Kind != 0 {
		return e.Kind
	}
	if e.Reason != "" {
		return e.Reason.Kind()
	}
	return Internal
}

// KindOf gives the kind of err: that of the outermost [*Error] in its chain, else
// Internal. The kind of nil is zero.
func KindOf(err error) Kind {
	if err == nil {
		return 0
	}
	e := AsError(err)
	if e == nil {
		return Internal
	}
	return e.kind()
}

// ReasonOf gives the reason of the outermost [*Error] in err's chain that has one, or "".
func ReasonOf(err error) Reason {
	for e := AsError(err); e != nil; e = AsError(e.Err) {
		if e.Reason != "" {
			return e.Reason
		}
	}
	return ""
}

// AsError gives the outermost [*Error] in err's chain, or nil. It finds what errors.As
// finds, without its cost: every refused call is asked for its reason many times.
func AsError(err error) *Error {
	for err != nil {
		switch e := err.(type) {
		case *Error:
			return e
		case interface{ As(any) bool }:
			var found *Error
			if errors.As(err, &found) {
				return found
			}
			return nil
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if found := AsError(inner); found != nil {
					return found
				}
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// Ended is the error of a call whose context ended before it did. Its reason is that of the
// cause of ctx, if that has one, and else DeadlineExceeded or CallCancelled.
func Ended(ctx context.Context, op string) error {
	cause := context.Cause(ctx)
	reason := ReasonOf(cause)
	switch {
	case reason != "":
	case errors.Is(cause, context.DeadlineExceeded):
		reason = DeadlineExceeded
	default:
		reason = CallCancelled
	}
	return &Error{Reason: reason, Op: op, Err: cause}
}
