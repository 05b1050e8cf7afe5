package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/safetext"
)

// execStatus gives the status of `durward exec` where the command has none of its own.
func execStatus(err error) int {
	switch durward.ReasonOf(err) {
	case durward.DeadlineExceeded:
		return 124
	case durward.ProgramNotExecutable:
		return 126
	case durward.ProgramNotFound:
		return 127
	case durward.LimitCPU, durward.LimitMemory, durward.LimitOutput, durward.OutputTooLarge, durward.ProtectedPath:
		return 137
	}
	return 125
}

// resultData is the whole result of a call.
type resultData struct {
	RequestID  durward.CallID  `json:"request_id,omitempty"`
	TraceID    string          `json:"trace_id,omitempty"`
	Decision   *decisionData   `json:"decision,omitempty"`
	Outcome    durward.Outcome `json:"outcome"`
	ExitStatus int             `json:"exit_status"`
	// ExitCode is the command's own; absent when a signal ended it or nothing ran.
	ExitCode  *int        `json:"exit_code,omitempty"`
	Signal    int         `json:"signal,omitempty"`
	Stdout    *streamData `json:"stdout,omitempty"`
	Stderr    *streamData `json:"stderr,omitempty"`
	Truncated bool        `json:"truncated"`
	// DurationMs and QueueMs are absent where nothing ran.
	DurationMs *int64          `json:"duration_ms,omitempty"`
	QueueMs    *int64          `json:"queue_ms,omitempty"`
	Sandbox    *durward.Report `json:"sandbox,omitempty"`
	// Network is there where the command had an allowlist.
	Network *durward.Traffic `json:"network,omitempty"`
	// Applied is there where the command had a copy to write to, and Changes where it was
	// read, which it is not when the call failed.
	Changes []durward.Change `json:"changes,omitzero"`
	Applied *bool            `json:"applied,omitempty"`
}

// streamData is what was kept of a stream: text, or base64 where it is not UTF-8.
type streamData struct {
	Text       *string `json:"text,omitempty"`
	Base64     string  `json:"base64,omitempty"`
	ShownBytes int64   `json:"shown_bytes"`
	TotalBytes int64   `json:"total_bytes"`
	Truncated  bool    `json:"truncated"`
	// Rest says how to get at what was dropped.
	Rest string `json:"rest,omitempty"`
}

type decisionData struct {
	Allow      bool           `json:"allow"`
	Rule       string         `json:"rule,omitempty"`
	Where      string         `json:"where,omitempty"`
	Code       string         `json:"code,omitempty"`
	Reason     durward.Reason `json:"reason,omitempty"`
	Why        string         `json:"why,omitempty"`
	Fix        string         `json:"fix,omitempty"`
	PolicyHash string         `json:"policy_hash,omitempty"`
}

func decisionOf(d durward.Decision) *decisionData {
	return &decisionData{
		Allow: d.Allow, Rule: d.Rule, Where: d.Where.String(), Code: d.Code.Code(), Reason: d.Code,
		Why: safetext.Line(d.Reason), Fix: safetext.Line(d.Remedy), PolicyHash: d.PolicyHash,
	}
}

func streamOf(c durward.Capture) *streamData {
	kept := c.Bytes()
	s := &streamData{ShownBytes: int64(len(kept)), TotalBytes: c.Total, Truncated: c.Dropped() > 0}
	if s.Truncated {
		s.Rest = "run it with --stream for all of the output"
	}
	if utf8.Valid(kept) {
		text := string(kept)
		s.Text = &text
	} else {
		s.Base64 = base64.StdEncoding.EncodeToString(kept)
	}
	return s
}

func (x *execution) finishJSON(h *house, result durward.Result, err error, status int) error {
	call, decision := h.witness.seen()
	data := resultData{
		RequestID: call.ID, TraceID: call.Trace.ID(), Outcome: durward.OutcomeOf(result, err), ExitStatus: status,
		ExitCode: result.Exit, Signal: result.Signal, Truncated: result.Truncated(),
		Sandbox: result.Report, Network: result.Network,
	}
	if result.Report != nil && x.copies() {
		data.Changes, data.Applied = x.changes, new(x.applied != nil && *x.applied)
	}
	if call.ID != "" {
		data.Decision = decisionOf(decision)
	}
	if result.Report != nil {
		took, queued := result.Took.Milliseconds(), result.Queued.Milliseconds()
		data.DurationMs, data.QueueMs = &took, &queued
		data.Stdout, data.Stderr = streamOf(result.Stdout), streamOf(result.Stderr)
	}
	if err != nil {
		f := x.failure(err, result, call.ID)
		if data.Decision != nil && !decision.Allow {
			data.Decision.Fix = f.Fix // in the words of this door, not of an engine
		}
		if data.Outcome == durward.OutcomeToolError && result.Report == nil && !decision.Allow {
			data.Outcome = durward.OutcomeDenied
		}
		x.printFailure(f, data)
		x.printReport(result)
		return exitStatus(status)
	}
	_ = x.print(data) // its loss is told at the end
	return x.conclude(h, result, nil, status)
}

// printReport prints what was held, where it was asked for and something ran.
func (x *execution) printReport(result durward.Result) {
	if !x.report || result.Report == nil {
		return
	}
	line, err := jsonx.Marshal(struct {
		Sandbox *durward.Report  `json:"sandbox"`
		Network *durward.Traffic `json:"network,omitempty"`
	}{result.Report, result.Network})
	if err != nil {
		line = fmt.Appendf(nil, "durward: the report cannot be written: %v\n", err)
	}
	_, _ = io.WriteString(x.stderr, safetext.JSON(string(line))) // nobody is left to tell
}
