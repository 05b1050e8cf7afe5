//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/engine/cache"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
)

// A caller answers what it is asked.
type caller struct {
	durward.Events
	can    string // the methods that it can be asked
	finds  string // the methods of the questions that it answers when it finds them in a result
	answer func(ctx context.Context, kind string) (json.RawMessage, error)
	asked  chan string
	raw    chan string
}

func newCaller(can, answer string) *caller {
	return &caller{
		can: can, asked: make(chan string, 64), raw: make(chan string, 64),
		answer: func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(answer), nil },
	}
}

func (c *caller) CanAsk(kind string) bool { return strings.Contains(c.can, kind) }

func (c *caller) Answers(kind string) bool { return c.CanAsk(kind) || strings.Contains(c.finds, kind) }

func (c *caller) RawProgress(params json.RawMessage) { c.raw <- string(params) }

func (c *caller) Ask(ctx context.Context, kind string, question json.RawMessage) (json.RawMessage, error) {
	c.asked <- kind + " " + string(question)
	return c.answer(ctx, kind)
}

const (
	elicit = "elicitation/create"
	sample = "sampling/createMessage"
)

// open begins a call of somebody who hears of it.
func (h *hub) open(t testing.TB, ctx context.Context, events durward.Events, tool, arguments string, resume ...string) durward.Session {
	t.Helper()
	c := durward.Call{Input: json.RawMessage(arguments)}
	if resume != nil {
		c.Resume = json.RawMessage(resume[0])
	}
	p, err := h.Prepare(ctx, durward.Tool{Spec: &hubconfig.Target{Server: "a", Tool: tool}}, c, durward.Grant{Limits: durward.Limits{Output: limit}})
	must(t, err)
	s, err := p.(*prepared).Open(ctx, events)
	must(t, err)
	return s
}

// offered is a server that may ask callers for things.
func offered(offer string, words ...string) hubconfig.Server {
	e := entry("a", words...)
	e.Concurrency, e.Offer = 4, strings.Fields(offer)
	return e
}

// A legacy server that was offered it has its questions put to the caller whose call it is about.
func TestAsking(t *testing.T) {
	for _, tt := range []struct {
		name, offer, can, arguments, want string
		answer                            func(ctx context.Context, kind string) (json.RawMessage, error)
	}{
		{"answered", "elicitation", elicit, `{"text":"elicitation/create"}`, `{"action":"accept","n":1.0}`, nil},
		{"sampling", "elicitation sampling", elicit + sample, `{"text":"sampling/createMessage"}`, `{"action":"accept","n":1.0}`, nil},
		{"not offered", "elicitation", elicit + sample, `{"text":"sampling/createMessage"}`, `{"code":-32601,"message":"this client has no such method"}`, nil},
		{"nothing offered", "", elicit, `{"text":"elicitation/create"}`, `{"code":-32601,"message":"this client has no such method"}`, nil},
		{"a caller who cannot", "elicitation", sample, `{"text":"elicitation/create"}`, `{"code":-32603,"message":"the caller cannot be asked this"}`, nil},
		{
			"an error", "elicitation", elicit, `{"text":"elicitation/create"}`, `{"code":-1,"message":"no","data":{"n":1.0}}`,
			func(context.Context, string) (json.RawMessage, error) {
				return nil, fmt.Errorf("asked: %w", &jsonrpc.Error{Code: -1, Message: "no", Data: json.RawMessage(`{"n":1.0}`)})
			},
		},
		{
			"a failure", "elicitation", elicit, `{"text":"elicitation/create"}`, `{"code":-32603,"message":"the caller did not answer"}`,
			func(context.Context, string) (json.RawMessage, error) { return nil, errors.New("secret") },
		},
		{
			"taken back", "elicitation", elicit, `{"text":"elicitation/create","path":"take back"}`, `{"code":-32603,"message":"the caller did not answer"}`,
			func(ctx context.Context, _ string) (json.RawMessage, error) { <-ctx.Done(); return nil, ctx.Err() },
		},
	} {
		h := started(t, offered(tt.offer, "asks"))
		c := newCaller(tt.can, `{"action":"accept","n":1.0}`)
		if tt.answer != nil {
			c.answer = tt.answer
		}
		s := h.open(t, patient(t), c, "ask", tt.arguments)
		r, err := s.Wait(patient(t))
		quoted, _ := json.Marshal(tt.want)
		if err != nil || !strings.Contains(string(r.Output), string(quoted)) {
			t.Errorf("%s: %s, %v", tt.name, r.Output, err)
		}
		must(t, h.Close())
	}
}

// Where it is not clear whom to ask nobody is, and nobody is asked beyond the end of a call, or
// without end.
func TestAskingNobody(t *testing.T) {
	h := started(t, offered("elicitation"))
	r, err := h.call(patient(t), "a", "ask", `{"text":"elicitation/create"}`)
	if err != nil || !strings.Contains(string(r.Output), "not exactly one call") {
		t.Errorf("without anybody: %s, %v", r.Output, err)
	}
	silent := func(ctx context.Context, _ string) (json.RawMessage, error) { <-ctx.Done(); return nil, ctx.Err() }
	first := newCaller(elicit, "")
	first.answer = silent
	ctx, cancel := context.WithCancel(patient(t))
	s := h.open(t, ctx, first, "ask", `{"text":"elicitation/create"}`)
	if got := <-first.asked; got != elicit+` {"message":"who?","n":1.0}` {
		t.Errorf("it was asked %s", got)
	}
	other := h.open(t, patient(t), newCaller(elicit, "{}"), "ask", `{"text":"elicitation/create"}`)
	if r, err := other.Wait(patient(t)); err != nil || !strings.Contains(string(r.Output), "not exactly one call") {
		t.Errorf("with two: %s, %v", r.Output, err)
	}
	cancel()
	if _, err := s.Wait(patient(t)); err != nil && reason(durward.Result{}, err) != "cancelled" { // without one it was answered meanwhile
		t.Errorf("it ended with %v", err)
	}
	h.answered(t)
	many := newCaller(elicit, "{}")
	hold := make(chan struct{})
	many.answer = func(ctx context.Context, _ string) (json.RawMessage, error) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return json.RawMessage(`{}`), nil
	}
	s = h.open(t, patient(t), many, "ask", `{"text":"elicitation/create","code":19}`)
	for range mostAsks {
		<-many.asked
	}
	h.until(t, "a", func(Status) bool { return strings.Count(string(h.Stderr("a")), "too many questions") == 4 })
	close(hold)
	if r, err := s.Wait(patient(t)); err != nil || strings.Count(string(r.Output), "too many questions") != 4 {
		t.Errorf("too many: %s, %v", r.Output, err)
	}
}

// A modern server that wants more gets it from a caller who can be asked, and else the caller
// gets what it said, to bring it with a call of its own.
func TestRounds(t *testing.T) {
	const one = `{"q":{"method":"elicitation/create","params":{"n":1.0}},"r":{"method":"roots/list"}}`
	want := func(code int, requests string) string {
		text, _ := json.Marshal(map[string]any{"code": code, "text": requests})
		return string(text)
	}
	h := started(t, offered("elicitation", "modern"))
	roots := string(h.roots())
	for _, tt := range []struct{ name, can, arguments, want string }{
		{"nothing", elicit, want(0, one), `{"content":[],"structuredContent":[null,null]}`},
		{"once", elicit, want(1, one), `{"content":[],"structuredContent":[{"q":{"n":2.0},"r":` + roots + `},"1"]}`},
		{"often", elicit, want(15, one), `{"content":[],"structuredContent":[{"q":{"n":2.0},"r":` + roots + `},"15"]}`},
		{"too often", elicit, want(16, one), "input_required "},
		{"a caller who cannot", sample, want(1, one), "input_required "},
		{"a caller who finds it", "", want(1, one), `input_required {"resultType":"input_required","inputRequests":` + one + `,"requestState":"1"}`},
		{"not offered", elicit + sample, want(1, `{"q":{"method":"sampling/createMessage"}}`), "input_required "},
		{"nonsense", elicit, want(1, `{"q":7}`), "input_required "},
		{"nothing in particular", elicit, want(1, `{}`), `input_required {"resultType":"input_required","inputRequests":{},"requestState":"1"}`},
	} {
		c := newCaller(tt.can, `{"n":2.0}`)
		if tt.can == "" {
			c.finds = elicit
		}
		r, err := h.open(t, patient(t), c, "want", tt.arguments).Wait(patient(t))
		got := string(r.Output)
		if err != nil {
			raw, _ := durward.DetailOf(err).Members["result"].(json.RawMessage)
			got = string(durward.ReasonOf(err)) + " " + string(raw)
		}
		if got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	r, err := h.open(t, patient(t), newCaller("", ""), "want", want(1, one), ` {"inputResponses":{"q":{"n":3.0}},"requestState":"1","other":1}`).Wait(patient(t))
	if err != nil || string(r.Output) != `{"content":[],"structuredContent":[{"q":{"n":3.0}},"1"]}` {
		t.Errorf("brought by the caller: %s, %v", r.Output, err)
	}
}

// A server that was asked for a call in vain has worked on it: a later round that does not come about
// is no refusal, for the caller would think that nothing was done.
func TestRoundsThatAreLeftOff(t *testing.T) {
	const one = `{"code":1,"text":"{\"q\":{\"method\":\"elicitation/create\"}}"}`
	for name, tt := range map[string]struct {
		want      durward.Reason
		meanwhile func(h *hub, busy context.Context, end context.CancelCauseFunc)
	}{
		"no slot in its time": {durward.DeadlineExceeded, func(h *hub, busy context.Context, end context.CancelCauseFunc) {
			arguments, began, _ := waiting(t)
			go func() { _, _ = h.call(busy, "a", "wait", arguments) }()
			appears(t, began)
			time.AfterFunc(time.Millisecond, func() { end(context.DeadlineExceeded) })
		}},
		"a server that stopped": {durward.ServerDisconnected, func(h *hub, _ context.Context, _ context.CancelCauseFunc) {
			kill(t, h.of("a").PID)
			h.until(t, "a", notRunning)
		}},
	} {
		e := offered("elicitation", "modern")
		e.Concurrency = 1
		e.Restart.Policy = "never"
		h := started(t, e)
		ctx, end := context.WithCancelCause(patient(t))
		busy, idle := context.WithCancel(patient(t))
		c := newCaller(elicit, "")
		c.answer = func(context.Context, string) (json.RawMessage, error) {
			tt.meanwhile(h, busy, end)
			return json.RawMessage(`{}`), nil
		}
		_, err := h.open(t, ctx, c, "want", one).Wait(patient(t))
		if got := durward.ReasonOf(err); got != tt.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		began, _ := durward.DetailOf(err).Members[hubconfig.MayHaveRun].(bool)
		if !began && !strings.Contains(err.Error(), "the tool may have run") {
			t.Errorf("%s: %v does not say that the tool may have run", name, err)
		}
		idle()
		end(nil)
		must(t, h.Close())
	}
}

// What a server is offered it is told of, and nothing else: a modern one with each call, as far as
// its caller answers.
func TestOffers(t *testing.T) {
	const both = "elicitation sampling"
	for _, tt := range []struct{ era, offer, can, finds, want string }{
		{"modern", "", elicit, "", `{}`},
		{"modern", both, elicit + sample, "", `{"elicitation":{"form":{}},"sampling":{}}`},
		{"modern", both, "", elicit, `{"elicitation":{"form":{}}}`},
		{"modern", both, sample, "", `{"sampling":{}}`},
		{"modern", both, "", "", `{}`},
		{"legacy", "", elicit, "", `{"roots":{}}`},
		{"legacy", both, "", "", `{"elicitation":{"form":{}},"roots":{},"sampling":{}}`},
	} {
		h := started(t, offered(tt.offer, tt.era))
		c := newCaller(tt.can, "")
		c.finds = tt.finds
		r, err := h.open(t, patient(t), c, "capabilities", `{}`).Wait(patient(t))
		must(t, err)
		quoted, _ := json.Marshal(tt.want)
		if !strings.Contains(string(r.Output), string(quoted)) {
			t.Errorf("%+v: it was told %s", tt, r.Output)
		}
		must(t, h.Close())
	}
	h := started(t, offered(both, "modern"))
	if got := h.says(t, "capabilities", struct{}{}); got != `{}` {
		t.Errorf("with nobody to answer it was told %s", got)
	}
	must(t, h.Close())
}

// Who takes reports of progress as they are gets them so.
func TestRawProgress(t *testing.T) {
	h := started(t, offered(""))
	c := newCaller("", "")
	_, err := h.open(t, patient(t), c, "progress", `{}`).Wait(patient(t))
	must(t, err)
	if got := <-c.raw; !strings.HasSuffix(got, `,"progress":0,"total":3,"message":"step"}`) {
		t.Error(got)
	}
}

// A call that is done for several callers has none who could be asked, and its server is told so.
func TestNobodyIsAskedForWhatIsKept(t *testing.T) {
	for _, offer := range []string{"elicitation", "elicitation sampling"} {
		e := offered(offer, "modern")
		h := started(t, e)
		e.Cache = &hubconfig.Cache{Keep: hubconfig.Keep{TTL: time.Hour, MaxEntries: 10}}
		kept := cache.New(cache.Options{Engine: h.Engine, Servers: []hubconfig.Server{e}})
		p, err := kept.Prepare(patient(t), durward.Tool{
			Effect: durward.Effect{ReadOnly: true, Idempotent: true}, Spec: &hubconfig.Target{Server: "a", Tool: "capabilities"},
		}, durward.Call{Input: json.RawMessage(`{}`)}, durward.Grant{})
		must(t, err)
		s, err := p.(core.Opener).Open(patient(t), newCaller(elicit+sample, `{}`))
		must(t, err)
		r, err := s.Wait(patient(t))
		if err != nil || string(r.Output) != `{"content":[{"type":"text","text":"{}"}]}` {
			t.Errorf("%s: it was told %s, %v", offer, r.Output, err)
		}
		must(t, errors.Join(s.Close(), p.Close()))
	}
}
