package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonx"
)

// Reserve is how long before the deadline of a call its context ends.
const Reserve = 250 * time.Millisecond

// healthTime is how long a tool may take to find out whether it can work.
const healthTime = time.Second

const (
	runPath    = "/run"
	healthPath = "/healthz"
)

// A server answers the two endpoints.
type server struct {
	tool     Tool
	maxBytes int64
	logger   *slog.Logger
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case runPath:
		s.serveRun(w, r)
	case healthPath:
		s.serveHealth(w, r)
	default:
		refuse(w, r, &durward.Error{Kind: durward.NotFound, Op: "worker", Err: errors.New("no such path")})
	}
}

func (s *server) serveRun(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if err := httpedge.NeedMethod(w, r, http.MethodPost); err != nil {
		refuse(w, r, err)
		return
	}
	c, err := s.read(r, began)
	a := answer{Meta: answerMeta{TraceID: c.TraceID, ToolRunID: c.ToolRunID}}
	var failed *Error
	if err == nil {
		a.Output, failed = s.run(r.Context(), c)
	} else {
		failed = asError(r.Context(), err)
	}
	if a.OK = failed == nil; !a.OK {
		a.Error = failed.answer()
	}
	a.Meta.DurationMs = time.Since(began).Milliseconds()
	s.log(c, a, failed)
	write(w, http.StatusOK, a)
}

// read takes the call out of a request that came at a moment.
func (s *server) read(r *http.Request, came time.Time) (Call, error) {
	body, err := httpedge.ReadBody(r, s.maxBytes)
	if err != nil {
		return Call{}, &Error{Code: ValidationError, Message: durward.ReasonOf(err).Summary(), Err: err}
	}
	c, err := parse(body)
	if err != nil {
		return c, err
	}
	limit, err := remaining(r.Header, came)
	c.Deadline, c.Trace = earlier(c.Deadline, limit), httpedge.TraceOf(r)
	return c, err
}

// run has the tool do its work within the deadline.
func (s *server) run(ctx context.Context, c Call) (output []byte, failed *Error) {
	if !c.Deadline.IsZero() {
		if !time.Now().Before(c.Deadline) {
			return nil, &Error{Code: Timeout, Message: "the deadline had passed before the call came"}
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.Deadline.Add(-Reserve))
		defer cancel()
	}
	output, err := s.call(ctx, c)
	if err != nil {
		return nil, asError(ctx, err)
	}
	return output, nil
}

// call makes a panic an error. What the tool panicked with may be anything, so only
// what the runtime itself says is kept of it.
func (s *server) call(ctx context.Context, c Call) (output []byte, err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		text := fmt.Sprintf("panic with %T", cause)
		if fault, ok := cause.(runtime.Error); ok {
			text = fault.Error()
		}
		s.logger.Error("the tool panicked", "panic", text, "stack", string(debug.Stack()))
		err = &Error{Code: Internal, Message: "the tool failed", Err: errors.New(text)}
	}()
	given, err := s.tool.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	return encodeOutput(given)
}

// log tells of a call what no input, output or message is part of.
func (s *server) log(c Call, a answer, failed *Error) {
	const most = 128
	level, code := slog.LevelInfo, Code("")
	if failed != nil {
		code = failed.code()
	}
	if code == Internal {
		level = slog.LevelError
	}
	s.logger.Log(context.Background(), level, "run",
		"trace_id", c.TraceID[:min(len(c.TraceID), most)], "tool_run_id", c.ToolRunID[:min(len(c.ToolRunID), most)],
		"ok", a.OK, "code", code, "duration_ms", a.Meta.DurationMs)
	if failed != nil && failed.Err != nil {
		s.logger.Debug("cause", "tool_run_id", c.ToolRunID[:min(len(c.ToolRunID), most)], "error", failed.Err)
	}
}

func (s *server) serveHealth(w http.ResponseWriter, r *http.Request) {
	if err := httpedge.NeedMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
		refuse(w, r, err)
		return
	}
	checker, ok := s.tool.(Checker)
	if !ok {
		write(w, http.StatusOK, health{OK: true})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	err := checker.Healthy(ctx)
	if err == nil {
		write(w, http.StatusOK, health{OK: true})
		return
	}
	told := &Error{Code: Internal, Message: "the tool cannot work"}
	errors.As(err, &told)
	write(w, http.StatusInternalServerError, health{Error: told.answer(), Detail: told.answer().Message})
}

// A health is the answer of GET /healthz.
type health struct {
	OK    bool         `json:"ok"`
	Error *answerError `json:"error,omitempty"`
	// Detail is the message once more.
	Detail string `json:"detail,omitempty"`
}

// refuse answers a request that is not one to run the tool, or comes from somebody who
// may not: with an envelope in any case, and with status 200 where callers of the tool
// expect one.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, status := &Error{Code: ValidationError, Message: durward.ReasonOf(err).Summary(), Err: err}, httpedge.Status(err)
	switch durward.ReasonOf(err) {
	case durward.Unauthenticated:
		e.Code, e.Message = unauthenticated, "the worker asks for its token"
	case durward.OriginDenied:
		e.Message = "the worker does not answer to this host or origin"
	case durward.ShuttingDown:
		e = shuttingDown(err)
	case durward.Defect:
		e.Code, e.Message = Internal, "the worker failed"
	case "":
		e.Code, e.Message = "NOT_FOUND", "there is nothing but POST /run and GET /healthz"
	}
	if r.Method == http.MethodPost && r.URL.Path == runPath {
		status = http.StatusOK
	}
	write(w, status, answer{Error: e.answer()})
}

// write sends an answer. Details that are no JSON are a defect of the tool.
func write(w http.ResponseWriter, status int, what any) {
	text, err := jsonx.Marshal(what)
	if a, ok := what.(answer); err != nil && ok {
		a.Error = (&Error{Code: Internal, Message: "the tool failed"}).answer()
		text, _ = jsonx.Marshal(a)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone is noticed elsewhere
}
