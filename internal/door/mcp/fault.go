package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// A word is the class of an error as this protocol has it.
type word string

// The words. OUTPUT_TRUNCATED is none that a request is answered with.
const (
	policyDeny      word = "POLICY_DENY"
	invalidArgs     word = "INVALID_ARGS"
	timeout         word = "TIMEOUT"
	outputTruncated word = "OUTPUT_TRUNCATED"
	ioError         word = "IO_ERROR"
	internal        word = "INTERNAL"
)

// code is the integer of a word.
func (w word) code() int {
	switch w {
	case policyDeny:
		return -31001
	case invalidArgs:
		return jsonrpc.InvalidParams
	case timeout:
		return -31002
	case outputTruncated:
		return -31003
	case ioError:
		return -31004
	}
	return jsonrpc.InternalError
}

// An exception is how this door answers a reason otherwise than by its kind. Rule is the
// word that clients are told; "=" is that of the reason itself.
type exception struct {
	code word
	rule string
}

// exceptions hold every reason that has a rule, and each whose kind says something else
// here.
var exceptions = map[durward.Reason]exception{
	durward.OutsideRoot:       {policyDeny, "="},
	durward.OutsideZones:      {policyDeny, "="},
	durward.NetworkFS:         {policyDeny, "="},
	durward.NotRegularFile:    {policyDeny, "="},
	durward.SpecialFilesystem: {policyDeny, "="},
	durward.SymlinkTarget:     {policyDeny, "="},
	durward.HardLink:          {policyDeny, "="},
	durward.MaxFileBytes:      {policyDeny, "="},
	durward.CommandUnknown:    {policyDeny, "="},
	durward.ArgNotAllowed:     {policyDeny, "="},
	durward.ArgMetachar:       {policyDeny, "="},
	durward.ArgDashNotAllowed: {policyDeny, "="},
	durward.ArgOutsideRoots:   {policyDeny, "="},
	durward.DirDenied:         {policyDeny, "="},
	durward.DirUnavailable:    {policyDeny, "="},
	durward.DirNotAllowed:     {policyDeny, "="},
	durward.EnvDenied:         {policyDeny, "="},
	durward.ToolNotFound:      {policyDeny, ""},

	durward.EmptyPath:           {invalidArgs, "="},
	durward.NULInPath:           {invalidArgs, "="},
	durward.PathTooLong:         {invalidArgs, "="},
	durward.BadEncoding:         {invalidArgs, "="},
	durward.BadBase64:           {invalidArgs, "="},
	durward.BadOffset:           {invalidArgs, "="},
	durward.BadLength:           {invalidArgs, "="},
	durward.BadTimeout:          {invalidArgs, "="},
	durward.ArgNUL:              {invalidArgs, "="},
	durward.TooManyArgs:         {invalidArgs, "="},
	durward.ArgTooLong:          {invalidArgs, "="},
	durward.BadEnvName:          {invalidArgs, "="},
	durward.DotDotInMissingPath: {invalidArgs, "="},
	"badWindowsName":            {invalidArgs, "="},
	durward.MissingField:        {invalidArgs, "="},
	durward.UnknownField:        {invalidArgs, "="},
	durward.WrongType:           {invalidArgs, "="},
	durward.StdinTooLarge:       {invalidArgs, ""},
	durward.BodyTooLarge:        {invalidArgs, ""},

	durward.DeadlineExceeded: {timeout, "timeoutMs"},
	durward.LimitCPU:         {timeout, "timeoutMs"},
	"concurrency":            {timeout, "="},
	durward.QueueFull:        {timeout, "concurrency"},

	durward.FileNotFound:         {ioError, "="},
	durward.FileExists:           {ioError, "="},
	durward.ParentMissing:        {ioError, "="},
	durward.NotADirectory:        {ioError, "="},
	durward.SymlinkLoop:          {ioError, "="},
	durward.NotUTF8:              {ioError, "="},
	durward.FilePermission:       {ioError, "="},
	durward.NoSpace:              {ioError, "="},
	durward.FileIO:               {ioError, "="},
	durward.ExecFailed:           {ioError, "="},
	durward.ProgramNotFound:      {ioError, "spawnFailed"},
	durward.ProgramNotExecutable: {ioError, "spawnFailed"},
	durward.DirUnreadable:        {ioError, "spawnFailed"},
	durward.SandboxUnavailable:   {ioError, "spawnFailed"},
	durward.SandboxError:         {ioError, "spawnFailed"},
	durward.OutputTooLarge:       {ioError, "io"},
	durward.LimitOutput:          {ioError, "io"},
	durward.LimitMemory:          {ioError, "io"},

	// A call that the end of the session broke off was not carried out, though nothing
	// forbade it and nothing is defect; and it had no time of its own that ran out.
	durward.CallCancelled: {ioError, "io"},
	durward.ShuttingDown:  {ioError, "io"},

	durward.PolicyInvalid:    {ioError, "spawnFailed"}, // it held when it was loaded
	durward.AuditUnavailable: {internal, "="},
	durward.Defect:           {internal, "panic"},
}

// kindWord is the word for a reason that is no exception.
func kindWord(k durward.Kind) word {
	switch k {
	case durward.Denied:
		return policyDeny
	case durward.Invalid:
		return invalidArgs
	case durward.Timeout:
		return timeout
	case durward.NotFound, durward.TooLarge, durward.Upstream, durward.Conflict:
		return ioError
	}
	return internal
}

// meaning gives the word and the rule for an error.
func meaning(err error) (code word, rule string) {
	reason := durward.ReasonOf(err)
	e, ok := exceptions[reason]
	switch {
	case refusedAtStart(err):
		return ioError, string(durward.ExecFailed)
	case !ok:
		return kindWord(durward.KindOf(err)), ""
	case e.rule == "=":
		return e.code, string(reason)
	case reason == durward.DeadlineExceeded && durward.AsError(err).Op == "admit": // it never had a slot
		return timeout, "concurrency"
	}
	return e.code, e.rule
}

// refusedAtStart reports whether arguments that may be as long as they are, each by itself, were
// too much for the system together.
func refusedAtStart(err error) bool {
	e := durward.AsError(err)
	return e != nil && e.Reason == durward.ArgTooLong && e.Op == "start"
}

// CodeOf gives the integer and the words, "POLICY_DENY (outsideAllowedRoots)", for a reason; ok
// is false for one that is answered by its kind.
func CodeOf(reason durward.Reason) (code int, words string, ok bool) {
	e, ok := exceptions[reason]
	return e.code.code(), AnswerTo(&durward.Error{Reason: reason}), ok
}

// AnswerTo gives what a client is told that an error is, "POLICY_DENY (outsideAllowedRoots)",
// where a call ends with it before it has run.
func AnswerTo(err error) string {
	code, rule := meaning(err)
	if rule == "" {
		return string(code)
	}
	return fmt.Sprintf("%s (%s)", code, rule)
}

// told are the reasons whose causes are made for the caller: they name a member of the
// request, and no value.
var told = map[durward.Reason]bool{
	durward.MissingField: true, durward.UnknownField: true, durward.WrongType: true, durward.BadTimeout: true, durward.BadEnvName: true,
}

func messageOf(err error) string {
	reason := durward.ReasonOf(err)
	message := cmp.Or(reason.Summary(), durward.KindOf(err).String())
	switch e := durward.AsError(err); {
	case e == nil:
	case told[reason] && e.Err != nil:
		return e.Err.Error()
	case refusedAtStart(err):
		return durward.ExecFailed.Summary() + "; " + e.Hint
	case reason == durward.NotUTF8 && e.Hint != "": // it says how else to ask
		return message + "; " + e.Hint
	}
	return message
}

// A fault is what a client is told of an error beside its integer. Message stands in it
// where there is no other place.
type fault struct {
	Code       word    `json:"code"`
	Rule       string  `json:"rule,omitempty"`
	Message    string  `json:"message,omitempty"`
	Method     string  `json:"method"`
	Path       string  `json:"path,omitempty"`
	CommandID  string  `json:"commandId,omitempty"`
	ArgIndex   *int    `json:"argIndex,omitempty"`
	Limit      int64   `json:"limit,omitempty"`
	Actual     int64   `json:"actual,omitempty"`
	TimeoutMs  int64   `json:"timeoutMs,omitempty"`
	TimedOut   bool    `json:"timedOut,omitempty"`
	Stdout     *string `json:"stdout,omitempty"`
	Stderr     *string `json:"stderr,omitempty"`
	PolicyHash string  `json:"policyHash"`
}

// faultOf tells of an error what a client may know. A path is there as it was written.
func faultOf(inv invocation, r durward.Result, err error) fault {
	f := fault{Method: string(inv.call.Tool), Path: inv.call.Path, CommandID: inv.call.CommandID, PolicyHash: inv.surface.PolicyHash}
	f.Code, f.Rule = meaning(err)
	if e := durward.AsError(err); inv.call.Tool == cmdRun && (strings.HasPrefix(f.Rule, "cwd") || e != nil && e.Path == inv.call.Dir) {
		f.Path = inv.call.Dir
	}
	d := durward.DetailOf(err)
	f.ArgIndex, f.Limit, f.Actual = d.ArgIndex, d.Limit, d.Actual
	if f.Code == timeout && inv.call.Tool == cmdRun {
		stdout, stderr := textOf(r.Stdout), textOf(r.Stderr)
		f.TimeoutMs, f.TimedOut, f.Stdout, f.Stderr = inv.timeoutMs(), true, &stdout, &stderr
	}
	return f
}

// errorOf is the error of a direct method.
func errorOf(inv invocation, r durward.Result, err error) *jsonrpc.Error {
	f := faultOf(inv, r, err)
	data, _ := encode(f) // it holds nothing but strings and numbers
	return &jsonrpc.Error{Code: f.Code.code(), Message: messageOf(err), Data: data}
}
