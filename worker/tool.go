package worker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A Tool does the work of a worker.
type Tool interface {
	// Run carries out one call. It may be called concurrently.
	//
	// The output becomes JSON and has to be an object; nil stands for an empty one. A
	// json.RawMessage is passed on as it is, but for white space.
	//
	// An [*Error] tells the caller what went wrong. Of any other error, and of a panic, the
	// caller learns nothing but that there was one: its text is for the log.
	//
	// The context ends when the caller is gone, when the worker ends, and [Reserve] before
	// the deadline of the call, so that an answer still arrives in time. A call that comes
	// with less than that left is made with a context that is over: a tool that needs
	// nobody else can still answer it. Nobody answers for a tool that does not come back.
	Run(ctx context.Context, c Call) (output any, err error)
}

// A Checker is a [Tool] that knows whether it can work at all.
type Checker interface {
	// Healthy gives the reason why it cannot, or nil. GET /healthz shows the message of an
	// [*Error] to everybody who can connect, and nothing of other errors. It is given a
	// second, and may be called concurrently.
	Healthy(ctx context.Context) error
}

// A Call is one request to run the tool.
type Call struct {
	Meta
	// Input is the input object exactly as it was sent.
	Input json.RawMessage
	// Trace is that of the traceparent header, for requests that the tool makes itself.
	Trace durward.TraceContext
}

// Meta is what the gateway says of a call. A call that somebody made by hand may have
// none of it.
type Meta struct {
	TraceID, ToolRunID, DomainID string
	// Deadline is when the caller stops waiting; the zero time means never. It is the
	// earlier one of deadline_ms and what the header X-Request-Timeout-Ms leaves.
	Deadline time.Time
}

// Decode reads the input into a struct: an unknown member, one twice or one of another
// type is a VALIDATION_ERROR, which the tool can return as it is.
func (c Call) Decode(into any) error {
	if err := jsonx.Decode(c.Input, into, jsonx.Options{Limits: limits(int64(len(c.Input)))}); err != nil {
		return &Error{Code: ValidationError, Message: "the input is not what the tool takes: " + problem(err), Err: err}
	}
	return nil
}

// Func makes a tool of a function.
type Func func(ctx context.Context, c Call) (output any, err error)

// Run calls f.
func (f Func) Run(ctx context.Context, c Call) (any, error) { return f(ctx, c) }

// Typed makes a tool of a function that takes the input as a struct, read as
// [Call.Decode] does.
func Typed[In, Out any](f func(ctx context.Context, in In) (Out, error)) Tool {
	return Func(func(ctx context.Context, c Call) (any, error) {
		var in In
		if err := c.Decode(&in); err != nil {
			return nil, err
		}
		return f(ctx, in)
	})
}
