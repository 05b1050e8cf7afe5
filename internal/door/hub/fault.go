package hub

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

// A fault is how this door answers a reason for which no server was asked.
type fault struct {
	status int
	code   string
}

// Codes that several reasons share.
const (
	codeValidation = "validation"
	codeNotFound   = "not_found"
	codePath       = "path_validation"
	codeBusy       = "busy"
	codeInternal   = "internal"
)

// faults lists the reasons that a request can bring about before a server is asked.
var faults = map[durward.Reason]fault{
	durward.BadRequest:       {http.StatusBadRequest, "bad_request"},
	durward.BadJSON:          {http.StatusBadRequest, "bad_json"},
	durward.BadCall:          {http.StatusUnprocessableEntity, codeValidation},
	durward.BadTimeout:       {http.StatusUnprocessableEntity, codeValidation},
	durward.BodyTooLarge:     {http.StatusRequestEntityTooLarge, "body_too_large"},
	durward.BadContentType:   {http.StatusUnsupportedMediaType, "bad_content_type"},
	durward.MethodNotAllowed: {http.StatusMethodNotAllowed, "method_not_allowed"},
	durward.RequestTimeout:   {http.StatusRequestTimeout, "request_timeout"},
	durward.FileNotFound:     {http.StatusNotFound, codeNotFound},
	durward.ToolNotFound:     {http.StatusNotFound, "tool_not_found"},
	durward.ToolsChanged:     {http.StatusConflict, "tool_withheld"},
	durward.Unauthenticated:  {http.StatusUnauthorized, "unauthenticated"},
	durward.OriginDenied:     {http.StatusForbidden, "origin_denied"},
	durward.LimitDenied:      {http.StatusForbidden, "denied"},
	durward.ModeDenied:       {http.StatusForbidden, "denied"},
	durward.QueueFull:        {http.StatusTooManyRequests, codeBusy},
	durward.QueueTimeout:     {http.StatusTooManyRequests, codeBusy},
	durward.ServerStopped:    {http.StatusServiceUnavailable, "server_stopped"},
	durward.ShuttingDown:     {http.StatusServiceUnavailable, "shutting_down"},
	durward.CallCancelled:    {durward.StatusClientClosedRequest, "cancelled"},
}

// AnswerTo gives the status and the code for a reason, where that says it: ok is false where a
// request cannot bring it about, or the answer is one with status "error".
func AnswerTo(reason durward.Reason) (status int, code string, ok bool) {
	f, ok := faults[reason]
	return f.status, f.code, ok
}

// told are the reasons whose errors are made for the caller.
var told = map[durward.Reason]bool{
	durward.BadJSON: true, durward.BadCall: true, durward.BadTimeout: true, durward.ServerStopped: true, durward.ToolsChanged: true,
	durward.FileNotFound: true,
}

// faultOf gives the answer to an error. A refusal of the path check names a place in the
// arguments.
func faultOf(err error) (f fault, detail string) {
	reason := durward.ReasonOf(err)
	if pointer, ok := durward.DetailOf(err).Members["pointer"].(string); ok {
		given, _ := durward.DetailOf(err).Members["given"].(string)
		return fault{http.StatusBadRequest, codePath}, strings.TrimSpace(reason.Summary() + ": " + pointer + " " + strconv.Quote(given))
	}
	f, ok := faults[reason]
	if !ok {
		return fault{http.StatusInternalServerError, codeInternal}, durward.Defect.Summary()
	}
	if e := durward.AsError(err); told[reason] && e != nil && e.Err != nil {
		return f, e.Err.Error()
	}
	return f, cmp.Or(reason.Summary(), f.code)
}

// WriteError answers with an error. It is for servers, too, that refuse a request before the
// handler sees it.
func WriteError(w http.ResponseWriter, _ *http.Request, err error) {
	f, detail := faultOf(err)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if after := retryAfter(err, f); after != "" {
		h.Set("Retry-After", after)
	}
	body := map[string]any{"detail": detail, "code": f.code}
	if f.code == codePath {
		body["rule"] = durward.DetailOf(err).Members["rule"]
	}
	write(w, f.status, body)
}

// retryAfter is a whole number of seconds, or "".
func retryAfter(err error, f fault) string {
	after := time.Duration(0)
	switch f.code {
	case codeBusy, "shutting_down":
		after = time.Second
	case "server_stopped":
		after = time.Duration(durward.DetailOf(err).Limit) * time.Second
	}
	if after <= 0 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(after.Seconds())))
}

// writeError answers and logs.
func (d *door) writeError(w http.ResponseWriter, r *http.Request, err error) {
	f, _ := faultOf(err)
	d.Logger.Log(r.Context(), durward.KindOf(err).LogLevel(), "refused",
		"door", Name, "method", r.Method, "path", r.URL.EscapedPath(), "status", f.status, "code", f.code, "caller", httpedge.CallerOf(r.Context()).Name)
	WriteError(w, r, err)
}
