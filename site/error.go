package site

import (
	"errors"

	"github.com/durward/durward"
	doorsite "github.com/durward/durward/internal/door/site"
)

// A Code names one way in which a request is refused. It stands in the body of the
// answer.
type Code string

// The codes.
const (
	BadRequest     Code = "bad_request"
	BadContentType Code = "bad_content_type"
	BodyTooLarge   Code = "body_too_large"
	BadEnv         Code = "bad_env"
	PathDenied     Code = "path_denied"
	NotFound       Code = "not_found"
	NoFrontmatter  Code = "no_frontmatter"
	BadFrontmatter Code = "bad_frontmatter"
	NotAllowed     Code = "not_allowed"
	ArgDenied      Code = "arg_denied"
	ExecFailed     Code = "exec_failed"
	Timeout        Code = "timeout"
	OutputTooLarge Code = "output_too_large"
	URLDenied      Code = "url_denied"
	Network        Code = "network"
	OriginDenied   Code = "origin_denied"
	Method         Code = "method"
	Busy           Code = "busy"
	ShuttingDown   Code = "shutting_down"
	Internal       Code = "internal"
	// Unauthenticated is for a site that asks for credentials.
	Unauthenticated Code = "unauthenticated"
)

// An Error is a failure with its code. Callers find it with errors.As.
type Error struct {
	Code Code
	// Message may be shown to a caller.
	Message string
	// Err is the cause; it may be nil, and may hold what no caller should see.
	Err error
}

// Error gives the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Status is the HTTP status that the error is answered with.
func (e *Error) Status() int {
	status, _, _ := doorsite.Fault(inward(e))
	return status
}

// outward gives an error of ours its code.
func outward(err error) error {
	if err == nil {
		return nil
	}
	_, code, message := doorsite.Fault(err)
	return &Error{Code: Code(code), Message: message, Err: err}
}

// inner lists the reasons that stand for the codes of an embedding program's errors.
var inner = map[Code]durward.Reason{
	BadRequest: durward.BadRequest, BadContentType: durward.BadContentType, BodyTooLarge: durward.BodyTooLarge,
	BadEnv: durward.BadEnvName, PathDenied: durward.OutsideRoot, NotFound: durward.FileNotFound,
	NoFrontmatter: durward.NoFrontmatter, BadFrontmatter: durward.BadFrontmatter, NotAllowed: durward.CommandNotAllowed,
	ArgDenied: durward.ArgDenied, ExecFailed: durward.ExecFailed, Timeout: durward.DeadlineExceeded,
	OutputTooLarge: durward.OutputTooLarge, URLDenied: durward.HostDenied, Network: durward.ConnectFailed,
	OriginDenied: durward.OriginDenied, Method: durward.MethodNotAllowed, Busy: durward.QueueFull,
	ShuttingDown: durward.ShuttingDown, Internal: durward.Defect, Unauthenticated: durward.Unauthenticated,
}

// inward gives an error of an embedding program its reason. One without a code keeps
// none, and so is a failure of ours.
func inward(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	reason, ok := inner[e.Code]
	if !ok {
		return err
	}
	return &durward.Error{Reason: reason, Op: "site", Err: errors.New(e.Message)}
}
