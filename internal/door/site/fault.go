package site

import (
	"cmp"
	"net/http"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonx"
)

// A fault is how this door answers a reason.
type fault struct {
	status int
	code   string
}

// faults lists the reasons that this door has words of its own for.
var faults = map[durward.Reason]fault{
	durward.BadJSON:      {http.StatusBadRequest, codeBadRequest},
	durward.BadRequest:   {http.StatusBadRequest, codeBadRequest},
	durward.BadCall:      {http.StatusBadRequest, codeBadRequest},
	durward.ArgvEmpty:    {http.StatusBadRequest, codeBadRequest},
	durward.ArgNUL:       {http.StatusBadRequest, codeBadRequest},
	durward.ArgNotUTF8:   {http.StatusBadRequest, codeBadRequest},
	durward.TooManyArgs:  {http.StatusBadRequest, codeBadRequest},
	durward.ArgTooLong:   {http.StatusBadRequest, codeBadRequest},
	durward.NotSupported: {http.StatusBadRequest, codeBadRequest},

	durward.BadEnvName: {http.StatusBadRequest, codeBadEnv},
	durward.EnvDenied:  {http.StatusBadRequest, codeBadEnv},

	durward.OutsideRoot:  {http.StatusForbidden, codePathDenied},
	durward.FileNotFound: {http.StatusNotFound, codeNotFound},
	durward.ToolNotFound: {http.StatusNotFound, codeNotFound},
	durward.MaxFileBytes: {http.StatusRequestEntityTooLarge, "body_too_large"},

	durward.LimitDenied:   {http.StatusForbidden, codeNotAllowed},
	durward.NetworkDenied: {http.StatusForbidden, codeNotAllowed},
	durward.ModeDenied:    {http.StatusForbidden, codeNotAllowed},
	durward.DirDenied:     {http.StatusForbidden, codeNotAllowed},

	durward.ProgramNotFound:      {http.StatusInternalServerError, codeExecFailed},
	durward.ProgramNotExecutable: {http.StatusInternalServerError, codeExecFailed},
	durward.DirUnavailable:       {http.StatusInternalServerError, codeExecFailed},
	durward.DirUnreadable:        {http.StatusInternalServerError, codeExecFailed},
	durward.ExecFailed:           {http.StatusInternalServerError, codeExecFailed},
	durward.SandboxUnavailable:   {http.StatusInternalServerError, codeExecFailed},
	durward.SandboxError:         {http.StatusInternalServerError, codeExecFailed},
	durward.LimitMemory:          {http.StatusInternalServerError, codeExecFailed},

	durward.DeadlineExceeded: {http.StatusRequestTimeout, codeTimeout},
	durward.LimitCPU:         {http.StatusRequestTimeout, codeTimeout},
	durward.RequestTimeout:   {http.StatusRequestTimeout, codeTimeout},
	durward.OutputTooLarge:   {http.StatusRequestEntityTooLarge, codeOutputTooLarge},
	durward.LimitOutput:      {http.StatusRequestEntityTooLarge, codeOutputTooLarge},

	durward.BadHost:        {http.StatusForbidden, codeURLDenied},
	durward.AddressRefused: {http.StatusForbidden, codeURLDenied},
	durward.LookupFailed:   {http.StatusBadGateway, codeNetwork},

	durward.AuditUnavailable: {http.StatusInternalServerError, codeInternal},
	durward.FilePermission:   {http.StatusInternalServerError, codeInternal},
	durward.FileIO:           {http.StatusInternalServerError, codeInternal},
	durward.Defect:           {http.StatusInternalServerError, codeInternal},
	"":                       {http.StatusInternalServerError, codeInternal},
}

// plain are the reasons whose word is the code, and whose kind has the status. What is
// in neither list is nothing that a request can bring about.
var plain = map[durward.Reason]bool{
	durward.BodyTooLarge: true, durward.BadContentType: true, durward.OriginDenied: true, durward.MethodNotAllowed: true,
	durward.Unauthenticated: true, durward.NoFrontmatter: true, durward.BadFrontmatter: true, durward.CommandNotAllowed: true,
	durward.ArgDenied: true, durward.HostDenied: true, durward.ConnectFailed: true, durward.QueueFull: true,
	durward.ShuttingDown: true, durward.CallCancelled: true,
}

// Codes that several reasons share.
const (
	codeBadRequest     = "bad_request"
	codeBadEnv         = "bad_env"
	codePathDenied     = "path_denied"
	codeNotFound       = "not_found"
	codeNotAllowed     = "not_allowed"
	codeExecFailed     = "exec_failed"
	codeTimeout        = "timeout"
	codeOutputTooLarge = "output_too_large"
	codeURLDenied      = "url_denied"
	codeNetwork        = "network"
	codeInternal       = "internal"
)

// told are the reasons whose errors are made for the caller: they speak of the request
// and of the page, and of nothing else on this machine.
var told = map[durward.Reason]bool{
	durward.BadJSON: true, durward.BadCall: true, durward.BadEnvName: true, durward.EnvDenied: true, durward.OutsideRoot: true,
	durward.NoFrontmatter: true, durward.BadFrontmatter: true, durward.ArgDenied: true, durward.MaxFileBytes: true,
	durward.HostDenied: true, durward.BadHost: true, durward.AddressRefused: true,
}

// Fault gives the status, the code and the message that an error is answered with.
func Fault(err error) (status int, code, message string) {
	f, ok := faultOf(err)
	if !ok {
		f = faults[durward.Defect]
	}
	return f.status, f.code, messageOf(err, durward.ReasonOf(err))
}

func faultOf(err error) (f fault, ok bool) {
	reason := durward.ReasonOf(err)
	if plain[reason] {
		return fault{httpedge.Status(err), string(reason)}, true
	}
	f, ok = faults[reason]
	return f, ok
}

// AnswerTo gives the status and the code for a reason; ok is false for one that a request
// cannot bring about.
func AnswerTo(reason durward.Reason) (status int, code string, ok bool) {
	f, ok := faultOf(&durward.Error{Reason: reason})
	return f.status, f.code, ok
}

func messageOf(err error, reason durward.Reason) string {
	message := reason.Summary()
	if reason == durward.FileNotFound || reason == durward.ToolNotFound { // here both are pages
		message = "there is no such page"
	}
	if e := durward.AsError(err); told[reason] && e != nil && e.Err != nil {
		message = e.Err.Error()
	}
	return cmp.Or(message, durward.KindOf(err).String())
}

// advised are the reasons, beside those in told, whose hints are made for the caller.
// The other ones say what the operator can do, by the names that things have here.
var advised = map[durward.Reason]bool{
	durward.CommandNotAllowed: true, durward.FileNotFound: true, durward.ToolNotFound: true, durward.NotSupported: true,
	durward.QueueFull: true, durward.ShuttingDown: true, durward.DeadlineExceeded: true, durward.OutputTooLarge: true,
}

func hintOf(err error) string {
	e := durward.AsError(err)
	if e == nil || !told[e.Reason] && !advised[e.Reason] {
		return ""
	}
	return e.Hint
}

// hints say by code what a caller can do about an error that does not say it itself. To
// whoever shows no credential there is nothing to be said.
var hints = map[string]string{
	codeBadRequest:                   "GET /AGENTS.md tells what a request looks like",
	codeBadEnv:                       "send few and short variables, named by letters, digits and _",
	codePathDenied:                   "name a page that lies in the site",
	codeNotFound:                     "GET / to see where the pages are",
	codeNotAllowed:                   "send a command that the page's tools allow (GET the page to read them)",
	codeExecFailed:                   "tell whoever runs the site; the log says why",
	codeTimeout:                      "ask for less, or send the request faster",
	codeOutputTooLarge:               "ask for less",
	codeURLDenied:                    "name a public address by http or https, at a port that the site allows",
	codeNetwork:                      "look whether the address is right, or try again later",
	codeInternal:                     "tell whoever runs the site; the log says why",
	string(durward.BodyTooLarge):     "send a smaller body",
	string(durward.BadContentType):   "send Content-Type: application/json, and no Content-Encoding",
	string(durward.OriginDenied):     "name the site by its address or by localhost, or have its operator allow the name or the origin",
	string(durward.MethodNotAllowed): "GET a page to read it, POST to it to run a command",
	string(durward.NoFrontmatter):    "choose a page whose frontmatter lists its tools",
	string(durward.BadFrontmatter):   "tell the author of the page",
	string(durward.ArgDenied):        "name files below the page's directory",
	string(durward.QueueFull):        "try again later",
	string(durward.ShuttingDown):     "try again after the restart",
}

// refusal is the body of an answer that is an error. That to a POST has the members of an
// answer to a command, too, which ran not at all or not to its end.
func refusal(message, code, hint string, post bool) []byte {
	line := jsonx.AppendString(append(make([]byte, 0, 512), `{"error":`...), message)
	line = jsonx.AppendString(append(line, `,"code":`...), code)
	if hint != "" {
		line = jsonx.AppendString(append(line, `,"hint":`...), hint)
	}
	if post {
		line = jsonx.AppendString(append(line, `,"stdout":"","stderr":`...), message)
		line = append(line, `,"returncode":1`...)
	}
	return append(line, "}\n"...)
}

// writeError answers with an error that came before there was a call, and logs it.
func (d *door) writeError(w http.ResponseWriter, r *http.Request, err error) {
	status, code, _ := Fault(err)
	d.log(r, err, status, code)
	WriteError(w, r, err)
}

// WriteError answers with an error. It is for servers, too, that refuse a request before
// the handler sees it.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	status, code, message := Fault(err)
	line := refusal(message, code, cmp.Or(hintOf(err), hints[code]), r.Method == http.MethodPost)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if code == string(durward.QueueFull) {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(line) // a client that is gone is noticed by the server
}

// log says why a request was refused; what the caller is told may be less.
func (d *door) log(r *http.Request, err error, status int, code string) {
	d.Logger.Log(r.Context(), durward.KindOf(err).LogLevel(), "refused",
		"door", Name, "method", r.Method, "path", r.URL.EscapedPath(), "status", status, "code", code,
		"caller", httpedge.CallerOf(r.Context()).Name, "trace_id", httpedge.TraceOf(r).ID(), "error", err)
}
