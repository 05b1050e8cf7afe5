package coretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
)

// Recorder holds a recorder to the rules of core.Recorder.
func Recorder(t *testing.T, fresh func(t *testing.T) Book) {
	holdAll(t, fresh, recorderRules)
}

var recorderRules = []rule[Book]{
	{"a denial is one record", func(t testing.TB, b Book) {
		c := sampleCall(1)
		if err := b.Recorder.Deny(c, denial()); err != nil {
			t.Fatal(err)
		}
		records := b.calls(t)
		if !slices.Equal(phases(records), []string{PhaseDeny}) {
			t.Fatalf("a denial leaves %q", phases(records))
		}
		checkNames(t, records[0], c)
		checkSays(t, records[0], Record{
			"decision": "deny", "rule": "limits.wallMs", "code": durward.LimitDenied, "where": "policy.yaml:7", "policyHash": "sha256:0a",
		})
	}},
	{"a call is an intent and an outcome, each written when its method returns", func(t testing.TB, b Book) {
		c, exit := sampleCall(1), 3
		if err := b.Recorder.Intent(c, permission()); err != nil {
			t.Fatal(err)
		}
		if got := phases(b.calls(t)); !slices.Equal(got, []string{PhaseIntent}) {
			t.Fatalf("after the intent there is %q", got)
		}
		if err := b.Recorder.Outcome(c, permission(), durward.Result{Exit: &exit}, nil); err != nil {
			t.Fatal(err)
		}
		records := b.calls(t)
		if !slices.Equal(phases(records), []string{PhaseIntent, PhaseOutcome}) {
			t.Fatalf("after the outcome there is %q", phases(records))
		}
		for _, r := range records {
			checkNames(t, r, c)
			checkSays(t, r, Record{"decision": "allow", "rule": "default", "policyHash": "sha256:0a"})
		}
		checkSays(t, records[1], Record{"exitCode": 3, "cause": durward.OutcomeToolError})
	}},
	{"a host that a command was kept from is an event", func(t testing.TB, b Book) {
		c, to := sampleCall(1), durward.Contact{Host: "db.example", Port: 5432, Rule: "network.allow", Times: 3}
		if err := errors.Join(b.Recorder.Intent(c, permission()), b.Recorder.Refused(c, permission(), to)); err != nil {
			t.Fatal(err)
		}
		records := b.Records(t)
		last := records[len(records)-1]
		checkNames(t, last, c)
		checkSays(t, last, Record{"phase": PhaseEvent, "cause": "network.refused", "decision": "deny", "rule": "network.allow", "host": "db.example", "port": 5432, "times": 3})
		if err := b.Recorder.Refused(c, permission(), durward.Contact{Times: 7}); err != nil {
			t.Fatal(err)
		}
		records = b.Records(t)
		last = records[len(records)-1]
		checkSays(t, last, Record{"phase": PhaseEvent, "cause": "network.refused", "decision": "deny", "times": 7})
		if last["rule"] != nil || last["host"] != nil {
			t.Errorf("what is not listed has a target: %v", last)
		}
	}},
	{"an outcome has one of the closed words", func(t testing.TB, b Book) {
		for i, end := range endings {
			c := sampleCall(i)
			if err := errors.Join(b.Recorder.Intent(c, permission()), b.Recorder.Outcome(c, permission(), end.result, end.err)); err != nil {
				t.Fatal(err)
			}
			records := b.calls(t)
			checkSays(t, records[len(records)-1], end.says)
		}
	}},
	{"calls at once are each recorded once, the intent first", func(t testing.TB, b Book) {
		const callers, each = 32, 4
		var running sync.WaitGroup
		for i := range callers {
			running.Go(func() {
				for n := range each {
					c := sampleCall(i*each + n)
					if err := errors.Join(b.Recorder.Intent(c, permission()), b.Recorder.Outcome(c, permission(), durward.Result{}, nil)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		soon(t, "the recorder", running.Wait)
		byCall := map[any][]Record{}
		for _, r := range b.calls(t) {
			byCall[r["reqId"]] = append(byCall[r["reqId"]], r)
		}
		if len(byCall) != callers*each {
			t.Errorf("%d of %d calls are recorded", len(byCall), callers*each)
		}
		for id, records := range byCall {
			if !slices.Equal(phases(records), []string{PhaseIntent, PhaseOutcome}) {
				t.Errorf("call %v left %q", id, phases(records))
			}
		}
	}},
	{"what cannot be recorded is refused", func(t testing.TB, b Book) {
		open := sampleCall(1)
		if err := b.Recorder.Intent(open, permission()); err != nil {
			t.Fatal(err)
		}
		b.Break(t)
		for name, err := range map[string]error{
			"Deny":    b.Recorder.Deny(sampleCall(2), denial()),
			"Intent":  b.Recorder.Intent(sampleCall(3), permission()),
			"Refused": b.Recorder.Refused(open, permission(), durward.Contact{}),
			"Outcome": b.Recorder.Outcome(open, permission(), durward.Result{}, nil),
		} {
			if durward.KindOf(err) != durward.Unavailable {
				t.Errorf("%s says %v; want %s", name, err, durward.Unavailable)
			}
		}
	}},
	{"nothing secret is kept", func(t testing.TB, b Book) {
		const secret = "hunter2hunter2"
		c := sampleCall(1)
		c.Stdin, c.Env = []byte(secret), map[string]string{"TOKEN": secret}
		d := permission()
		d.Grant.Env = map[string]string{"TOKEN": secret}
		spoken := durward.Capture{Head: []byte(secret), Total: int64(len(secret))}
		result := durward.Result{Stdout: spoken, Stderr: spoken, Output: json.RawMessage(`"` + secret + `"`)}
		if err := errors.Join(b.Recorder.Intent(c, d), b.Recorder.Outcome(c, d, result, nil)); err != nil {
			t.Fatal(err)
		}
		c = sampleCall(2)
		c.Argv, c.Input, c.Stdin = nil, json.RawMessage(`{"password":"`+secret+`"}`), []byte(secret)
		if err := b.Recorder.Deny(c, denial()); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.calls(t) {
			if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), secret) {
				t.Errorf("a record shows what it should not: %s %v", text, err)
			}
		}
	}},
	{"hostile text stays in its record", func(t testing.TB, b Book) {
		const hostile = "a\nb\r\x00\x1b[2J\u2028\u202e\xff\",\"seq\":0}"
		c := sampleCall(1)
		c.ClientID, c.Caller.Name, c.Argv, c.Dir = hostile, hostile, []string{hostile, strings.Repeat("x", 1<<20)}, hostile
		if err := b.Recorder.Deny(c, denial()); err != nil {
			t.Fatal(err)
		}
		records := b.calls(t)
		if !slices.Equal(phases(records), []string{PhaseDeny}) || !records[0].says("reqId", c.ID) {
			t.Errorf("it left %v", records)
		}
	}},
}

var endings = []struct {
	result durward.Result
	err    error
	says   Record
}{
	{durward.Result{}, nil, Record{"cause": durward.OutcomeOK}},
	{durward.Result{Failed: true}, nil, Record{"cause": durward.OutcomeToolError}},
	{durward.Result{Signal: 11}, nil, Record{"cause": durward.OutcomeToolError, "signal": 11}},
	{durward.Result{}, &durward.Error{Reason: durward.DeadlineExceeded}, Record{"cause": durward.OutcomeTimeout, "code": durward.DeadlineExceeded, "timedOut": true}},
	{durward.Result{}, &durward.Error{Reason: durward.CallCancelled}, Record{"cause": durward.OutcomeCancelled, "code": durward.CallCancelled}},
	{durward.Result{}, &durward.Error{Reason: durward.HostDenied}, Record{"cause": durward.OutcomeDenied, "code": durward.HostDenied}},
	{durward.Result{}, &durward.Error{Reason: durward.ConnectFailed}, Record{"cause": durward.OutcomeToolError, "code": durward.ConnectFailed}},
	{durward.Result{}, errors.New("a bare error"), Record{"cause": durward.OutcomeToolError}},
}

// sampleCall makes the nth of many different calls.
func sampleCall(n int) durward.Call {
	id := fmt.Sprintf("01933b6e-0000-7000-8000-%012x", n)
	return durward.Call{
		ID: durward.CallID(id), Trace: durward.TraceContext{TraceID: [16]byte{1, 15: byte(n)}, SpanID: [8]byte{1}},
		Door: "coretest", Caller: durward.Caller{Name: "local:1000", Method: "process"},
		Tool: "sample", Argv: []string{"sample"}, Deadline: time.Now().Add(time.Hour),
	}
}

// checkNames checks what every record says about its call.
func checkNames(t testing.TB, r Record, c durward.Call) {
	t.Helper()
	checkSays(t, r, Record{"reqId": c.ID, "traceId": c.Trace.ID(), "door": c.Door, "caller": c.Caller.Name, "tool": c.Tool})
	if ts, _ := r["ts"].(string); !isTime(ts) {
		t.Errorf("the record's time is %q", ts)
	}
}

func checkSays(t testing.TB, r, want Record) {
	t.Helper()
	for member, value := range want {
		if !r.says(member, value) {
			t.Errorf("the record says %s: %v; want %v", member, r[member], value)
		}
	}
}

func isTime(text string) bool {
	_, err := time.Parse("2006-01-02T15:04:05.000Z", text)
	return err == nil
}
