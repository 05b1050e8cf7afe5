package core_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

func TestACallTakesEachStepOnceAndInOrder(t *testing.T) {
	r := newRoad()
	if _, err := r.runtime(t).Do(t.Context(), command("x")); err != nil {
		t.Fatal(err)
	}
	r.check(t, "find", "decide", "prepare", "intent", "run", "outcome", "close")
}

func TestARefusalIsRecordedOnceAndNothingHappensAfterIt(t *testing.T) {
	for _, test := range []struct {
		name   string
		spoil  func(*road)
		call   durward.Call
		reason durward.Reason
		kind   durward.Kind
		steps  []string
	}{
		{
			"no such tool", func(r *road) {
				r.find = func(context.Context) (durward.Tool, error) {
					return durward.Tool{}, &durward.Error{Reason: durward.ToolNotFound}
				}
			},
			command("x"), durward.ToolNotFound, durward.NotFound,
			[]string{"find", "deny"},
		},
		{
			"a source that panics", func(r *road) { r.find = func(context.Context) (durward.Tool, error) { panic("boom") } },
			command("x"), durward.Defect, durward.Internal,
			[]string{"find", "deny"},
		},
		{"neither form", nil, durward.Call{Tool: "t"}, durward.BadCall, durward.Invalid, []string{"find", "deny"}},
		{
			"both forms", nil,
			durward.Call{Tool: "t", Argv: []string{"x"}, Input: json.RawMessage(`{}`)},
			durward.BadCall, durward.Invalid,
			[]string{"find", "deny"},
		},
		{
			"denied by policy", func(r *road) {
				r.decide = func(durward.Call) durward.Decision {
					return durward.Decision{Rule: "limits.wallMs", Code: durward.LimitDenied, Reason: "too long"}
				}
			},
			command("x"), durward.LimitDenied, durward.Denied,
			[]string{"find", "decide", "deny"},
		},
		{
			"a denial without a code", func(r *road) { r.decide = func(durward.Call) durward.Decision { return durward.Decision{} } },
			command("x"), durward.Defect, durward.Internal,
			[]string{"find", "decide", "deny"},
		},
		{
			"a policy that panics", func(r *road) { r.decide = func(durward.Call) durward.Decision { panic("boom") } },
			command("x"), durward.Defect, durward.Internal,
			[]string{"find", "decide", "deny"},
		},
		{
			"an engine that does not exist", func(r *road) {
				r.find = func(context.Context) (durward.Tool, error) { return durward.Tool{ID: "t", Engine: "none"}, nil }
			},
			command("x"), durward.Defect, durward.Internal,
			[]string{"find", "decide", "deny"},
		},
		{
			"a grant that the engine cannot hold", func(r *road) {
				r.Holds = []durward.GrantField{durward.FieldEnv}
				r.decide = func(durward.Call) durward.Decision { return allowed(durward.Grant{Mode: durward.ReadOnly}) }
			},
			command("x"), durward.SandboxUnavailable, durward.Unavailable,
			[]string{"find", "decide", "deny"},
		},
		{
			"refused by prepare", func(r *road) {
				r.OnPrepare = func(context.Context, durward.Call) error {
					return &durward.Error{Reason: durward.SymlinkTarget, Rule: "files", Hint: "name the file itself"}
				}
			},
			command("x"), durward.SymlinkTarget, durward.Denied,
			[]string{"find", "decide", "deny"},
		},
		{
			"a prepare that panics", func(r *road) { r.OnPrepare = func(context.Context, durward.Call) error { panic("boom") } },
			command("x"), durward.Defect, durward.Internal,
			[]string{"find", "decide", "deny"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRoad()
			if test.spoil != nil {
				test.spoil(r)
			}
			runtime := r.runtime(t)
			_, err := runtime.Do(t.Context(), test.call)
			checkKind(t, err, test.kind)
			r.check(t, test.steps...)
			checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseDeny, "decision": "deny", "code": string(test.reason)})
			if len(r.Records(t)) != 1 {
				t.Errorf("it left %d records", len(r.Records(t)))
			}
			runtime.Shutdown(t.Context()) // comes back: the call is over
		})
	}
}

func TestARefusalKeepsTheRuleAndTheRemedy(t *testing.T) {
	r := newRoad()
	r.OnPrepare = func(context.Context, durward.Call) error {
		return &durward.Error{
			Reason: durward.OutsideRoot, Rule: "files.read", Hint: "name it under files.read",
			Where: durward.Position{File: "p.yaml", Line: 3}, Err: errors.New("/etc is outside"),
		}
	}
	p, err := r.runtime(t).Preview(t.Context(), command("x"))
	d := p.Decision
	want := durward.Decision{
		Rule: "files.read", Code: durward.OutsideRoot, Reason: "/etc is outside", Remedy: "name it under files.read",
		Where: durward.Position{File: "p.yaml", Line: 3}, PolicyHash: "sha256:00",
	}
	if err != nil || d.Allow || d.Rule != want.Rule || d.Code != want.Code || d.Reason != want.Reason ||
		d.Remedy != want.Remedy || d.Where != want.Where || d.PolicyHash != want.PolicyHash {
		t.Errorf("Preview = %+v, %v; want %+v", d, err, want)
	}
	if _, err := r.runtime(t).Do(t.Context(), command("x")); err == nil || err.Error() != p.Refusal.Error() {
		t.Errorf("the call ends with %v, its preview with %v", err, p.Refusal)
	}
}

// A binding road has a source that makes another input of what callers send.
type binding struct {
	*road
	bind func(durward.Call) (json.RawMessage, error)
}

func (b binding) Bind(_ context.Context, _ durward.Tool, c durward.Call) (json.RawMessage, error) {
	b.note("bind")
	return b.bind(c)
}

// Whoever decides and whoever runs get the input that the source gives; the record has the one
// that the caller sent.
func TestTheInputThatTheSourceGivesIsWhatRuns(t *testing.T) {
	r := newRoad()
	var decided, prepared, ran, recorded string
	r.decide = func(c durward.Call) durward.Decision { decided = string(c.Input); return allowed(durward.Grant{}) }
	r.OnPrepare = func(_ context.Context, c durward.Call) error { prepared = string(c.Input); return nil }
	r.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		ran = string(c.Input)
		return durward.Result{}, nil
	}
	b := binding{r, func(c durward.Call) (json.RawMessage, error) {
		recorded = string(c.Input)
		return json.RawMessage(`{"a":"b"}`), nil
	}}
	runtime := r.runtime(t, func(o *core.Options) { o.Source = b })
	call := durward.Call{Tool: "t", Door: "test", Caller: durward.Caller{Name: "tester"}, Input: json.RawMessage(`{"a":"a"}`)}
	if _, err := runtime.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"b"}`; decided != want || prepared != want || ran != want || recorded != `{"a":"a"}` {
		t.Errorf("decided: %s, prepared: %s, run: %s, bound: %s", decided, prepared, ran, recorded)
	}
	sum := sha256.Sum256(call.Input)
	if args, _ := r.last(t)["args"].([]any); !slices.Contains(args, any(hex.EncodeToString(sum[:]))) {
		t.Errorf("the record has %v", r.last(t))
	}
	p, err := runtime.Preview(t.Context(), call)
	if err != nil || string(p.Call.Input) != string(call.Input) || prepared != `{"a":"b"}` {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWhatASourceRefusesIsNotDecided(t *testing.T) {
	r := newRoad()
	b := binding{r, func(durward.Call) (json.RawMessage, error) { return nil, &durward.Error{Reason: durward.InputMismatch} }}
	_, err := r.runtime(t, func(o *core.Options) { o.Source = b }).Do(t.Context(), durward.Call{Tool: "t", Input: json.RawMessage(`{}`)})
	checkKind(t, err, durward.Invalid)
	r.check(t, "find", "bind", "deny")
}

func TestADenialOfPolicyIsInItsOwnWords(t *testing.T) {
	r := newRoad()
	said := durward.Decision{Rule: "env", Code: durward.EnvDenied, Reason: "LD_PRELOAD is reserved", Remedy: "drop it", PolicyHash: "sha256:00"}
	r.decide = func(durward.Call) durward.Decision { return said }
	runtime := r.runtime(t)
	_, err := runtime.Do(t.Context(), command("x"))
	checkKind(t, err, durward.Denied)
	checkRecord(t, r.last(t), coretest.Record{"why": said.Reason, "rule": said.Rule, "policyHash": said.PolicyHash})
	if p, err := runtime.Preview(t.Context(), command("x")); err != nil || p.Decision.Reason != said.Reason || p.Decision.Remedy != said.Remedy || p.Plan != nil {
		t.Errorf("Preview = %+v, %v", p, err)
	}
}

// TestTheDenialOfAnUnheldFieldNamesIt takes away one field at a time.
func TestTheDenialOfAnUnheldFieldNamesIt(t *testing.T) {
	grant := durward.Grant{
		Mode: durward.ReadOnly, Level: durward.LevelRestrict, Env: map[string]string{},
		Identity: durward.Identity{Fixed: true, UID: 1}, Limits: durward.DefaultLimits(),
	}
	for _, field := range grant.Asks() {
		r := newRoad()
		r.Holds = slices.DeleteFunc(grant.Asks(), func(f durward.GrantField) bool { return f == field })
		r.decide = func(durward.Call) durward.Decision { return allowed(grant) }
		_, err := r.runtime(t).Do(t.Context(), command("x"))
		checkKind(t, err, durward.Unavailable)
		if err == nil || !strings.Contains(err.Error(), string(field)) {
			t.Errorf("the refusal of %s says %v", field, err)
		}
		checkRecord(t, r.last(t), coretest.Record{"rule": string(field), "code": string(durward.SandboxUnavailable)})
		r.check(t, "find", "decide", "deny")
	}
}

func TestABuiltInDefaultStepsDown(t *testing.T) {
	r := newRoad()
	r.Holds = []durward.GrantField{}
	r.decide = func(durward.Call) durward.Decision {
		return allowed(durward.Grant{Mode: durward.ReadOnly, StepDown: true, Level: durward.LevelIsolate})
	}
	if _, err := r.runtime(t).Do(t.Context(), command("x")); err != nil {
		t.Error(err)
	}
	r.check(t, "find", "decide", "prepare", "intent", "run", "outcome", "close")
}

// marking makes the effect of a run a real file.
func marking(t *testing.T, r *road) (mark string) {
	mark = filepath.Join(t.TempDir(), "mark")
	r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{}, os.WriteFile(mark, nil, 0o600)
	}
	return mark
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestNothingRunsUnrecorded(t *testing.T) {
	r := newRoad()
	mark := marking(t, r)
	runtime := r.runtime(t)
	r.Break(coretest.PhaseIntent)
	_, err := runtime.Do(t.Context(), command("x"))
	checkKind(t, err, durward.Unavailable)
	if exists(mark) {
		t.Error("the call has run")
	}
	r.check(t, "find", "decide", "prepare", "intent", "close")
	r.Break("nothing")
	if _, err := runtime.Do(t.Context(), command("x")); err != nil || !exists(mark) {
		t.Errorf("with a record the call ends with %v, and the file exists: %t", err, exists(mark))
	}
}

func TestAnOutcomeThatCannotBeWrittenIsTheAnswer(t *testing.T) {
	for _, inner := range []error{nil, &durward.Error{Reason: durward.DeadlineExceeded}, errors.New("odd")} {
		r := newRoad()
		r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
			return durward.Result{Output: json.RawMessage(`1`)}, inner
		}
		r.Break(coretest.PhaseOutcome)
		runtime := r.runtime(t)
		result, err := runtime.Do(t.Context(), command("x"))
		checkKind(t, err, durward.Unavailable)
		if result.Output != nil || (inner != nil && !errors.Is(err, inner)) {
			t.Errorf("the answer is %s, %v", result.Output, err)
		}
		runtime.Shutdown(t.Context())
	}
}

func TestADenialThatCannotBeWrittenIsUnavailable(t *testing.T) {
	r := newRoad()
	denied := &durward.Error{Reason: durward.HardLink}
	r.OnPrepare = func(context.Context, durward.Call) error { return denied }
	r.Break()
	_, err := r.runtime(t).Do(t.Context(), command("x"))
	checkKind(t, err, durward.Unavailable)
	if !errors.Is(err, denied) || durward.ReasonOf(err) != durward.AuditUnavailable {
		t.Errorf("the answer is %v, with reason %s", err, durward.ReasonOf(err))
	}
}

// bareRecorder fails without saying of what kind.
type bareRecorder struct{ core.Recorder }

func (bareRecorder) Intent(durward.Call, durward.Decision) error { return os.ErrClosed }

func (bareRecorder) Deny(durward.Call, durward.Decision) error { return os.ErrClosed }

func TestABareErrorOfTheRecorderIsUnavailable(t *testing.T) {
	for _, tool := range []string{"script", "none"} {
		r := newRoad()
		r.find = func(context.Context) (durward.Tool, error) { return durward.Tool{Engine: tool}, nil }
		_, err := r.runtime(t, func(o *core.Options) { o.Recorder = bareRecorder{r} }).Do(t.Context(), command("x"))
		checkKind(t, err, durward.Unavailable)
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("the answer hides its cause: %v", err)
		}
	}
}

func TestTheResultIsBounded(t *testing.T) {
	capture := func(head, tail int) durward.Capture {
		return durward.Capture{Head: bytes.Repeat([]byte("h"), head), Tail: bytes.Repeat([]byte("t"), tail), Total: 99}
	}
	for _, test := range []struct {
		limit      int64
		head, tail int
		want       string
	}{
		{10, 4, 6, "hhhhtttttt"},
		{10, 6, 6, "hhhhhhtttt"},
		{10, 12, 6, "hhhhhhhhhh"},
		{10, 0, 12, "tttttttttt"},
		{durward.Unlimited, 6, 6, "hhhhhhtttttt"},
		{0, 6, 6, "hhhhhhtttttt"},
	} {
		r := newRoad()
		r.decide = func(durward.Call) durward.Decision {
			return allowed(durward.Grant{Limits: durward.Limits{Output: test.limit}})
		}
		r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
			return durward.Result{Stdout: capture(test.head, test.tail), Stderr: capture(test.tail, 0)}, nil
		}
		result, err := r.runtime(t).Do(t.Context(), command("x"))
		if got := string(result.Stdout.Bytes()); err != nil || got != test.want || result.Stdout.Dropped() != 99-int64(len(got)) {
			t.Errorf("of %d and %d bytes under %d, %q is kept and %d dropped, %v", test.head, test.tail, test.limit, got, result.Stdout.Dropped(), err)
		}
	}
}

func TestAnObjectOverTheLimitIsTooLarge(t *testing.T) {
	for _, test := range []struct {
		limit int64
		size  int
		kind  durward.Kind
	}{{10, 10, 0}, {10, 11, durward.TooLarge}, {0, 1<<20 + 1, durward.TooLarge}, {durward.Unlimited, 1<<20 + 1, 0}} {
		r := newRoad()
		r.decide = func(durward.Call) durward.Decision {
			return allowed(durward.Grant{Limits: durward.Limits{Output: test.limit}})
		}
		r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
			return durward.Result{Output: bytes.Repeat([]byte("1"), test.size)}, nil
		}
		result, err := r.runtime(t).Do(t.Context(), command("x"))
		checkKind(t, err, test.kind)
		if kept := len(result.Output); (test.kind == 0) != (kept == test.size) || (test.kind != 0 && kept > 0) {
			t.Errorf("%d of %d bytes are given under %d", kept, test.size, test.limit)
		}
	}
}

func TestAPanicOfAnEngineEndsTheCallOnRecord(t *testing.T) {
	r := newRoad()
	r.OnRun = func(context.Context, durward.Call) (durward.Result, error) { panic("boom") }
	r.OnClose = func() error { panic("again") }
	runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent, o.MaxQueue = 1, -1 })
	for range 3 { // the slot is free each time
		_, err := runtime.Do(t.Context(), command("x"))
		checkKind(t, err, durward.Internal)
		checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": "tool_error", "code": string(durward.Defect)})
	}
	runtime.Shutdown(t.Context())
}

func TestPreviewRecordsNothingAndLeavesNothingOpen(t *testing.T) {
	r := newRoad()
	mark := marking(t, r)
	p, err := r.runtime(t).Preview(t.Context(), command("x"))
	if err != nil || !p.Decision.Allow || p.Refusal != nil || p.Plan != nil || exists(mark) || len(r.Records(t)) != 0 {
		t.Errorf("Preview = %+v, %v; the file exists: %t; records: %v", p, err, exists(mark), r.Records(t))
	}
	r.check(t, "find", "decide", "prepare", "close")
}

// TestPreviewAsksForThePlan has the plan made before what it is about is closed.
func TestPreviewAsksForThePlan(t *testing.T) {
	r := newRoad()
	r.OnPlan = func() core.Plan {
		r.note("plan")
		return core.Plan{Program: "/bin/x", Report: durward.Report{Level: 2}}
	}
	p, err := r.runtime(t).Preview(t.Context(), command("x"))
	if err != nil || p.Plan == nil || p.Plan.Program != "/bin/x" || p.Plan.Report.Level != 2 || p.Plan.Report.PolicyHash != p.Decision.PolicyHash {
		t.Errorf("Preview = %+v, %v", p, err)
	}
	r.check(t, "find", "decide", "prepare", "plan", "close")
}

func TestAPlanThatPanicsIsAnErrorAndLeavesNothingOpen(t *testing.T) {
	r := newRoad()
	r.OnPlan = func() core.Plan { panic("lost") }
	_, err := r.runtime(t).Preview(t.Context(), command("x"))
	checkKind(t, err, durward.Internal)
	r.check(t, "find", "decide", "prepare", "close")
}

func TestTheCallersContextReachesEveryStage(t *testing.T) {
	for _, stage := range []string{"find", "prepare", "run"} {
		r := newRoad()
		block := func(ctx context.Context, here string) error {
			if here != stage {
				return nil
			}
			<-ctx.Done()
			return ctx.Err() // bare: the core knows what it means
		}
		r.find = func(ctx context.Context) (durward.Tool, error) {
			return durward.Tool{ID: "t", Engine: "script"}, block(ctx, "find")
		}
		r.OnPrepare = func(ctx context.Context, _ durward.Call) error { return block(ctx, "prepare") }
		r.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
			return durward.Result{}, block(ctx, "run")
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := r.runtime(t).Do(ctx, command("x"))
			checkKind(t, err, durward.Cancelled)
			checkRecord(t, r.last(t), coretest.Record{"code": string(durward.CallCancelled)})

			c, began := command("x"), time.Now()
			c.Deadline = began.Add(time.Minute)
			_, err = r.runtime(t).Do(t.Context(), c)
			checkKind(t, err, durward.Timeout)
			want := 30 * time.Second // the default of a grant, known once policy has spoken
			if stage == "find" {
				want = time.Minute
			}
			if took := time.Since(began); took != want {
				t.Errorf("in %s the call took %s; want %s", stage, took, want)
			}
		})
	}
}

func TestACustomCauseOfADeadlineIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the door's own limit"))
		defer cancel()
		r := newRoad()
		r.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
			<-ctx.Done()
			return durward.Result{}, ctx.Err()
		}
		_, err := r.runtime(t).Do(ctx, command("x"))
		checkKind(t, err, durward.Timeout)
	})
}

func TestACallIsStampedAndKeepsItsOwn(t *testing.T) {
	r := newRoad()
	var seen durward.Call
	r.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		seen = c
		return durward.Result{}, nil
	}
	runtime := r.runtime(t)
	if _, err := runtime.Do(t.Context(), command("x")); err != nil || len(seen.ID) != 36 || seen.Trace.IsZero() {
		t.Errorf("a call without id and trace runs as %q in %q, %v", seen.ID, seen.Trace.ID(), err)
	}
	checkRecord(t, r.last(t), coretest.Record{"reqId": string(seen.ID), "traceId": seen.Trace.ID()})
	own := command("x")
	own.ID, own.Trace = "mine", durward.TraceContext{TraceID: [16]byte{7}, SpanID: [8]byte{7}}
	if _, err := runtime.Do(t.Context(), own); err != nil || seen.ID != own.ID || seen.Trace != own.Trace {
		t.Errorf("a call with both runs as %q in %v, %v", seen.ID, seen.Trace, err)
	}
}

func TestNewRefusesWhatCannotRun(t *testing.T) {
	r := newRoad()
	for name, spoil := range map[string]func(*core.Options){
		"no source":    func(o *core.Options) { o.Source = nil },
		"no policy":    func(o *core.Options) { o.Policy = nil },
		"no recorder":  func(o *core.Options) { o.Recorder = nil },
		"no engine":    func(o *core.Options) { o.Engines = nil },
		"no slot ever": func(o *core.Options) { o.MaxConcurrent = -1 },
	} {
		o := core.Options{Source: r, Policy: r, Recorder: r, Engines: map[string]core.Engine{"script": &r.Script}}
		spoil(&o)
		if runtime, err := core.New(o); runtime != nil || err == nil {
			t.Errorf("%s: New gives %v, %v", name, runtime, err)
		}
	}
}

// Whatever becomes of a call, its records name the server that has the tool, and no other that the
// caller names.
func TestRecordsNameTheServer(t *testing.T) {
	r := newRoad()
	r.find = func(context.Context) (durward.Tool, error) {
		return durward.Tool{ID: "t", Engine: "script", Server: "files"}, nil
	}
	c := command("x")
	c.Server = "other"
	_, err := r.runtime(t).Do(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "server": "files"})
	r.decide = func(durward.Call) durward.Decision { return durward.Decision{Code: durward.EnvDenied} }
	_, err = r.runtime(t).Do(t.Context(), c)
	checkKind(t, err, durward.Denied)
	checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseDeny, "server": "files"})
	if err := r.runtime(t).Refuse(c, &durward.Error{Reason: durward.QueueFull}); err == nil {
		t.Error("it is not refused")
	}
	checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseDeny, "server": "files"})
	r.find = func(context.Context) (durward.Tool, error) {
		return durward.Tool{}, &durward.Error{Reason: durward.ToolNotFound}
	}
	if _, err := r.runtime(t).Do(t.Context(), c); err == nil {
		t.Error("it was found")
	}
	if got, ok := r.last(t)["server"]; ok {
		t.Errorf("it names %v", got)
	}
}

// A call that a door does not take on is on record under the policy, and nothing of it is
// done.
func TestACallThatADoorRefuses(t *testing.T) {
	r := newRoad()
	why := &durward.Error{Reason: durward.QueueFull, Rule: "concurrency", Err: errors.New("too many")}
	if err := r.runtime(t).Refuse(command("x"), why); !errors.Is(err, why) {
		t.Errorf("it is answered with %v", err)
	}
	r.check(t, "find", "decide", "deny")
	if last := r.last(t); last["code"] != string(durward.QueueFull) || last["rule"] != "concurrency" || last["policyHash"] == "" {
		t.Errorf("the record says %v", last)
	}
}

func TestARefusalOfADoorThatCannotBeRecorded(t *testing.T) {
	r := newRoad()
	r.Break()
	err := r.runtime(t).Refuse(command("x"), &durward.Error{Reason: durward.QueueFull})
	if durward.ReasonOf(err) != durward.AuditUnavailable {
		t.Errorf("it is answered with %v", err)
	}
}

// A call that a door answers by itself is on record before and behind that, under the policy.
func TestACallThatADoorAnswers(t *testing.T) {
	r := newRoad()
	output := json.RawMessage(`{}`)
	result, err := r.runtime(t).Answer(t.Context(), command("x"), "search", func() durward.Result {
		r.note("answer")
		return durward.Result{Output: output}
	})
	if err != nil || string(result.Output) != string(output) {
		t.Errorf("it is answered with %s, %v", result.Output, err)
	}
	r.check(t, "decide", "intent", "answer", "outcome")
	if last := r.last(t); last["rule"] != "search" || last["policyHash"] == "" {
		t.Errorf("the record says %v", last)
	}
	if _, err = r.runtime(t).Answer(t.Context(), command("x"), "search", func() durward.Result { panic("no") }); durward.ReasonOf(err) != durward.Defect {
		t.Errorf("a panic is answered with %v", err)
	}
	r.Break()
	_, err = r.runtime(t).Answer(t.Context(), command("x"), "search", func() durward.Result {
		t.Error("it is answered without a record")
		return durward.Result{}
	})
	if durward.ReasonOf(err) != durward.AuditUnavailable {
		t.Errorf("it is answered with %v", err)
	}
}
