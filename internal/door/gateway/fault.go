package gateway

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

// Codes of an answer that is an error. Workers may have more of their own.
const (
	codeValidation      = "VALIDATION_ERROR"
	codeUnauthenticated = "UNAUTHENTICATED"
	codeDenied          = "POLICY_DENIED"
	codeNotFound        = "NOT_FOUND"
	codeRateLimited     = "RATE_LIMITED"
	codeInternal        = "INTERNAL"
	codeUpstream        = "UPSTREAM_ERROR"
	codeTimeout         = "TIMEOUT"

	// codeCancelled is in the log alone: nobody is there to be answered.
	codeCancelled = "CANCELLED"
)

// A fault is how this door answers a reason.
type fault struct {
	status    int
	code      string
	retryable bool
	// reason is what details say under that name, if anything.
	reason string
}

// faults lists the reasons that a request can bring about. What is not among them is a fault
// of the gateway.
var faults = map[durward.Reason]fault{
	durward.BadRequest:       {http.StatusBadRequest, codeValidation, false, ""},
	durward.BadJSON:          {http.StatusBadRequest, codeValidation, false, ""},
	durward.BadCall:          {http.StatusBadRequest, codeValidation, false, ""},
	durward.BadTimeout:       {http.StatusBadRequest, codeValidation, false, ""},
	durward.InputMismatch:    {http.StatusBadRequest, codeValidation, false, ""},
	durward.MethodNotAllowed: {http.StatusMethodNotAllowed, codeValidation, false, ""},
	durward.RequestTimeout:   {http.StatusRequestTimeout, codeValidation, false, ""},
	durward.BodyTooLarge:     {http.StatusRequestEntityTooLarge, codeValidation, false, ""},
	durward.BadContentType:   {http.StatusUnsupportedMediaType, codeValidation, false, ""},
	durward.KeyReused:        {http.StatusConflict, codeValidation, false, ""},

	durward.Unauthenticated: {http.StatusUnauthorized, codeUnauthenticated, false, ""},
	durward.OriginDenied:    {http.StatusForbidden, codeDenied, false, ""},
	durward.EgressDenied:    {http.StatusForbidden, codeDenied, false, ""},
	durward.LimitDenied:     {http.StatusForbidden, codeDenied, false, ""},
	durward.ToolNotFound:    {http.StatusNotFound, codeNotFound, false, ""},
	durward.FileNotFound:    {http.StatusNotFound, codeNotFound, false, ""},

	durward.QueueFull:    {http.StatusTooManyRequests, codeRateLimited, true, "queue_full"},
	durward.QueueTimeout: {http.StatusTooManyRequests, codeRateLimited, true, "queue_timeout"},

	durward.NonStandardReply:  {http.StatusBadGateway, codeInternal, false, "non_standard_response"},
	durward.ReplyTooLarge:     {http.StatusBadGateway, codeInternal, false, "response_too_large"},
	durward.OutputTooLarge:    {http.StatusBadGateway, codeInternal, false, "response_too_large"},
	durward.OutputMismatch:    {http.StatusBadGateway, codeInternal, false, "output_schema"},
	durward.WorkerUnreachable: {http.StatusBadGateway, codeUpstream, true, "worker_unreachable"},
	durward.AddressRefused:    {http.StatusBadGateway, codeUpstream, false, "address_refused"},
	durward.CircuitOpen:       {http.StatusServiceUnavailable, codeUpstream, true, "circuit_open"},
	durward.ShuttingDown:      {http.StatusServiceUnavailable, codeUpstream, true, "shutting_down"},
	durward.DeadlineExceeded:  {http.StatusGatewayTimeout, codeTimeout, true, ""},

	durward.CallCancelled: {durward.StatusClientClosedRequest, codeCancelled, false, ""},

	durward.DomainNotLoaded: {http.StatusInternalServerError, codeInternal, false, ""},
	durward.Defect:          {http.StatusInternalServerError, codeInternal, false, ""},
}

// AnswerTo gives the status and the code for a reason; ok is false for one that a request
// cannot bring about.
func AnswerTo(reason durward.Reason) (status int, code string, ok bool) {
	f, ok := faults[reason]
	return f.status, f.code, ok
}

// told are the reasons whose errors are made for the caller.
var told = map[durward.Reason]bool{
	durward.BadJSON: true, durward.BadCall: true, durward.BadTimeout: true, durward.DomainNotLoaded: true,
}

// A failure is what an answer says of an error.
type failure struct {
	fault
	message string
	details map[string]any
	// load is set where no domain is loaded.
	load bool
}

func failureOf(err error) failure {
	reason := durward.ReasonOf(err)
	f, ok := faults[reason]
	if !ok {
		reason, f = durward.Defect, faults[durward.Defect]
	}
	e := durward.AsError(err)
	if reason == durward.NonStandardReply && e != nil {
		f.retryable = e.Retry // the worker's status decides
	}
	return failure{fault: f, message: messageOf(e, reason), details: detailsOf(err, f), load: reason == durward.DomainNotLoaded}
}

func messageOf(e *durward.Error, reason durward.Reason) string {
	if told[reason] && e != nil && e.Err != nil {
		return e.Err.Error()
	}
	if reason == durward.FileNotFound {
		return "there is nothing at this path"
	}
	return cmp.Or(reason.Summary(), durward.Internal.String())
}

func detailsOf(err error, f fault) map[string]any {
	details := maps.Clone(durward.DetailOf(err).Members)
	if details == nil {
		details = map[string]any{}
	}
	if f.reason != "" {
		details["reason"] = f.reason
	}
	var broken *LoadError
	if errors.As(err, &broken) {
		details["file"], details["line"], details["reason"] = broken.File, broken.Line, broken.Reason
	}
	return details
}

// WriteError answers with an error that came before there was a call. It is for servers, too,
// that refuse a request before the handler sees it.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	h := w.Header()
	u := answeredRun(h, r)
	u.tell(h)
	f := failureOf(err)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", retryAfter(err))
	}
	if durward.ReasonOf(err) == durward.ShuttingDown {
		h.Set("Connection", "close")
	}
	write(w, f.status, u.refusal(f))
}

// retryAfter is a whole number of seconds, at least one.
func retryAfter(err error) string {
	seconds := int64(1)
	if durward.ReasonOf(err) == durward.CircuitOpen {
		seconds = min(max(durward.DetailOf(err).Limit, 1), math.MaxInt32)
	}
	return strconv.FormatInt(seconds, 10)
}

// Refuse answers a request that a server refuses before the door sees it, and tells the log.
func (d *Door) Refuse(w http.ResponseWriter, r *http.Request, err error) { d.writeError(w, r, err) }

// writeError answers what never became a run, and tells the log. That a run was asked for
// counts among the runs.
func (d *Door) writeError(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	u := runOf(r)
	if u.isRun {
		e := u.failed(err, durward.Result{}, nil)
		d.Shared.Metrics.count(d.tallyOf(u.tool), time.Since(u.began), e)
	}
	d.Logger.Log(r.Context(), durward.KindOf(err).LogLevel(), "refused",
		"trace_id", u.traceName(), "tool_run_id", u.id, "tool_id", u.tool, "method", r.Method, "path", clip(r.URL.EscapedPath()), "http_status", f.status, "code", f.code,
		"caller", httpedge.CallerOf(r.Context()).Name)
	WriteError(w, r, err)
}

// clip shortens a path for the log.
func clip(path string) string {
	if len(path) > longestTool {
		return path[:longestTool] + "…"
	}
	return path
}
