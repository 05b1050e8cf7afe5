package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/durward/durward"
)

// Args says how arguments are recorded.
type Args int

// The ways to record arguments. An input that is not an argument vector is always
// recorded as the SHA-256 of its bytes.
const (
	// ArgsHash records the SHA-256 of each argument.
	ArgsHash Args = iota
	// ArgsPlain records the arguments themselves. One that no longer fits into the
	// record is "sha256:" and its SHA-256.
	ArgsPlain
)

const (
	// maxText is the length in bytes at which a text of a caller is cut.
	maxText = 4096
	// maxArgs is how many arguments are recorded one by one; one hash, with the
	// number of arguments it covers, stands for the others.
	maxArgs = 1024
	// maxPlainArgs is the length in bytes of all plain arguments of one record.
	maxPlainArgs = 64 << 10
)

// describe gives what a call and the decision on it say in every phase.
func (l *Log) describe(phase Phase, c durward.Call, d durward.Decision) Record {
	r := Record{
		Phase: phase, ReqID: durward.CallID(cut(string(c.ID))), ClientID: cut(c.ClientID), TraceID: cut(c.TraceName()),
		Door: cut(c.Door), Surface: cut(c.Surface), Caller: cut(c.Caller.Name), Tool: durward.ToolID(cut(string(c.Tool))), Server: cut(c.Server),
		Decision: "deny", Rule: cut(d.Rule), Where: cut(durward.Position{File: d.Where.File, Line: d.Where.Line}.String()),
		Code: d.Code, CommandID: cut(c.CommandID), PolicyHash: cut(d.PolicyHash),
	}
	leave := l.options.Leave
	if !leave.Args {
		r.Args = l.arguments(c)
	}
	if !leave.Path {
		r.Path = cut(c.Path)
	}
	if !leave.Cwd {
		r.Cwd = cut(c.Dir)
	}
	if d.Allow {
		r.Decision, r.Code, r.Limits = "allow", "", limitsOf(d.Grant.Limits)
	}
	if c.Client.Name != "" {
		r.Client = &Client{Name: cut(c.Client.Name), Version: cut(c.Client.Version)}
	}
	return r
}

// conclude adds how a call ended.
func (r *Record) conclude(result durward.Result, err error) {
	outcome := durward.OutcomeOf(result, err)
	timedOut := outcome == durward.OutcomeTimeout || (result.Report != nil && result.Report.End.Cause == durward.CauseTimeout)
	truncated := result.Truncated()
	r.Cause, r.TimedOut, r.Truncated = string(outcome), &timedOut, &truncated
	r.ExitCode, r.Signal, r.Sandbox = result.Exit, result.Signal, result.Report
	r.Network, r.Cached = result.Network, result.Cached
	r.DurationMs, r.QueueMs = milliseconds(result.Took), milliseconds(result.Queued)
	if r.Code = durward.ReasonOf(err); r.Code == "" && err != nil {
		r.Code = durward.Reason(durward.KindOf(err).String())
	}
	r.measure(result)
}

// measure fills Bytes and SHA256. The bytes of a command are all that it printed on
// both streams; the hash is that of its standard output, all of it, whatever was kept.
func (r *Record) measure(result durward.Result) {
	switch printed := result.Stdout.Total + result.Stderr.Total; {
	case result.Content != nil:
		r.Bytes, r.SHA256 = &result.Content.Bytes, result.Content.SHA256
	case len(result.Output) > 0:
		size := int64(len(result.Output))
		r.Bytes, r.SHA256 = &size, hashOf(result.Output)
	case printed > 0 || result.Exit != nil || result.Signal != 0:
		r.Bytes, r.SHA256 = &printed, result.Stdout.SHA256
	}
}

func (l *Log) arguments(c durward.Call) []string {
	if len(c.Input) > 0 {
		return []string{hashOf(c.Input)}
	}
	argv := c.Argv
	if c.CommandID != "" && len(argv) > 0 {
		argv = argv[1:] // the id itself
	}
	var args []string
	plain := 0
	for i, arg := range argv {
		if i == maxArgs {
			return append(args, fmt.Sprintf("+%d sha256:%s", len(argv)-i, hashOfAll(argv[i:])))
		}
		if plain += len(arg); l.args == ArgsHash {
			arg = hashOf([]byte(arg))
		} else if plain > maxPlainArgs {
			plain -= len(arg)
			arg = "sha256:" + hashOf([]byte(arg))
		}
		args = append(args, arg)
	}
	return args
}

// hashOfAll is the SHA-256 of all arguments, each followed by a NUL.
func hashOfAll(args []string) string {
	sum := sha256.New()
	for _, arg := range args {
		sum.Write([]byte(arg))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hashOf(content []byte) string { return digestOf(content).String() }

// cut bounds a text. What was cut off is visible by the ellipsis.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

func limitsOf(l durward.Limits) *Limits {
	l = l.WithDefaults()
	return &Limits{
		WallMs: unlessNone(l.Wall), GraceMs: unlessNone(l.Grace), CPUMs: unlessNone(l.CPU),
		MemoryBytes: l.Memory, AddressSpaceBytes: l.AddressSpace, Pids: l.Pids, OpenFiles: l.OpenFiles,
		FileSizeBytes: l.FileSize, TmpBytes: l.Tmp, StdinBytes: l.Stdin,
		OutputBytes: l.Output, OutputHardBytes: l.OutputHard,
	}
}

func unlessNone(d time.Duration) int64 {
	if d == durward.Unlimited {
		return durward.Unlimited
	}
	return d.Milliseconds()
}

func milliseconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}
