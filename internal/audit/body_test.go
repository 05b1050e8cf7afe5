package audit

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// TestBodiesAreWhatMarshalGives compares the quick way to write a record with the usual
// one, member by member of records of any kind.
func TestBodiesAreWhatMarshalGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRecord(t)
		got, err := r.body()
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Prev, r.TS = 0, "", Time{}
		usual, err := jsonx.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := bytes.Cut(escapeControls(bytes.TrimSuffix(usual, []byte("\n"))), []byte(`Z",`))
		if string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func anyRecord(t *rapid.T) Record {
	word := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z"\\<&>/é]{1,8}`), rapid.String())
	text := func(name string) string { return word.Draw(t, name) }
	number := func(name string) int64 { return rapid.Int64().Draw(t, name) }
	r := Record{
		Phase: Phase(text("phase")), ReqID: durward.CallID(text("reqId")), ClientID: text("clientId"), TraceID: text("traceId"),
		Door: text("door"), Surface: text("surface"), Caller: text("caller"), Tool: durward.ToolID(text("tool")), Server: text("server"),
		Decision: text("decision"), Rule: text("rule"), Where: text("where"), Code: durward.Reason(text("code")),
		Path: text("path"), Cwd: text("cwd"), CommandID: text("commandId"), SHA256: text("sha256"), Cause: text("cause"),
		PolicyHash: text("policyHash"), FormerPolicyHash: text("formerPolicyHash"), Signal: rapid.IntRange(0, 64).Draw(t, "signal"),
		Args: rapid.SliceOfN(word, 0, 3).Draw(t, "args"),
	}
	if rapid.Bool().Draw(t, "ended") {
		bytes, code, yes, took, queued := number("bytes"), rapid.IntRange(0, 255).Draw(t, "code"), rapid.Bool().Draw(t, "yes"), number("took"), number("queued")
		r.Bytes, r.ExitCode, r.TimedOut, r.Truncated, r.DurationMs, r.QueueMs = &bytes, &code, &yes, &yes, &took, &queued
		r.Sandbox = &durward.Report{Mode: durward.ReadOnly, Guarantees: durward.Holding{durward.Kill: {Held: durward.HeldKernel, By: []string{text("by")}}}}
	}
	if rapid.Bool().Draw(t, "limited") {
		r.Limits = &Limits{WallMs: rapid.SampledFrom([]int64{0, 1}).Draw(t, "wall"), Pids: rapid.SampledFrom([]int64{0, -1, 9}).Draw(t, "pids")}
	}
	if name := text("client"); name != "" {
		r.Client = &Client{Name: name, Version: strings.ToLower(text("version"))}
	}
	return r
}
