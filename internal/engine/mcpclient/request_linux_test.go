//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
)

var both = []string{"tools", "resources", "prompts"}

// request sends a server another request than the call of a tool.
func (h *hub) request(t testing.TB, target hubconfig.Target, params string) (string, error) {
	t.Helper()
	p, err := h.Prepare(patient(t), durward.Tool{Spec: &target}, durward.Call{Input: json.RawMessage(params)}, durward.Grant{Limits: durward.Limits{Output: limit}})
	must(t, err)
	r, err := p.Run(patient(t))
	if r.Failed {
		t.Error("what is no tool reports no error of one")
	}
	return string(r.Output), err
}

func shown(items []Item) string {
	var list []string
	for _, i := range items {
		list = append(list, i.Key+" "+string(i.Raw))
	}
	return strings.Join(list, "; ")
}

// What servers have beside tools is listed where it is wanted, with all pages, and again when they
// say so.
func TestResourcesAndPrompts(t *testing.T) {
	for _, era := range []string{"", "modern"} {
		h := newHub(t, Options{Expose: both}, entry("a", append(strings.Fields(era), "rich")...), entry("b", strings.Fields(era)...), entry("c", "bare"))
		h.Start(patient(t))
		if got := shown(h.Resources("a")); got != `memo://1 {"uri":"memo://1","name":"one","x":1.0}; memo://2 {"uri":"memo://2","name":"two"}` {
			t.Errorf("resources: %s", got)
		}
		if got := shown(h.Prompts("a")); got != `review {"name":"review","arguments":[{"name":"path"}]}` || h.Templates("a") != nil {
			t.Errorf("prompts: %s; templates: %v", got, h.Templates("a"))
		}
		for _, other := range []string{"b", "c", "d"} {
			if h.Resources(other) != nil || h.Prompts(other) != nil {
				t.Errorf("%s has %v, %v", other, h.Resources(other), h.Prompts(other))
			}
		}
		h.says(t, "grow", struct{}{})
		h.until(t, "a", func(s Status) bool {
			h.clock.end(listPause)
			return s.Tools == 2 && len(h.Resources("a")) == 3 && len(h.Prompts("a")) == 2 && len(h.Templates("a")) == 1
		})
		must(t, h.Close())
	}
	h := started(t, entry("a", "rich"))
	if h.Resources("a") != nil || h.Prompts("a") != nil {
		t.Error("they were asked for, and nobody wants them")
	}
}

// A server that tells its tools and not all else that it has is called meanwhile, and asked again.
func TestServerThatDoesNotTellItsPrompts(t *testing.T) {
	dir := t.TempDir()
	h := newHub(t, Options{Expose: both}, entry("a", "rich", "secretive="+filepath.Join(dir, "tells")))
	go h.clock.fire(t, restTime, restTime)
	h.Start(patient(t))
	if len(h.Tools("a")) == 0 || h.Prompts("a") != nil {
		t.Errorf("it has %v, %v", h.Tools("a"), h.Prompts("a"))
	}
	h.works(t, "a")
	h.until(t, "a", func(Status) bool { return len(h.Resources("a")) == 2 && h.clock.waits(listTime) == 1 })
	h.says(t, "more", struct{}{}) // though it has been asked again, and does not answer that
	h.until(t, "a", func(s Status) bool { h.clock.end(listPause); return s.Tools == 2 && h.clock.waits(listTime) == 1 })
	h.clock.fire(t, listTime, listTime)
	file(t, dir, "tells", "")
	h.says(t, "grow", struct{}{})
	h.until(t, "a", func(Status) bool {
		h.clock.end(listPause)
		return len(h.Resources("a")) == 3 && len(h.Prompts("a")) == 2
	})
}

// The params of a request arrive as they are, but for the caller's own _meta and the name of a
// prompt; so does the result, which need be none of a tool.
func TestRequests(t *testing.T) {
	for era, meta := range map[string]string{"": "", "modern": "meta"} {
		h := newHub(t, Options{Expose: both, Version: "1"}, entry("a", append(strings.Fields(era), "rich")...))
		h.Start(patient(t))
		if meta != "" {
			meta = `,"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"durward","version":"1"},` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
		}
		for _, tt := range []struct {
			target       hubconfig.Target
			params, sent string
		}{
			{hubconfig.Target{Method: hubconfig.ReadResource}, ` { "uri":"memo://1","_meta":{"progressToken":7},"n":1.0}`, `{"uri":"memo://1","n":1.0`},
			{hubconfig.Target{Method: hubconfig.GetPrompt, Tool: "review"}, `{"name":"a__review","arguments":{"n":"1"}}`, `{"name":"review","arguments":{"n":"1"}`},
			{hubconfig.Target{Method: hubconfig.Complete}, `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}}`, `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`},
		} {
			tt.target.Server = "a"
			if got, err := h.request(t, tt.target, tt.params); err != nil || got != `{"isError":true,"sent":`+tt.sent+meta+`}}` {
				t.Errorf("%s %s: %s, %v", era, tt.target.Method, got, err)
			}
		}
		_, err := h.request(t, hubconfig.Target{Server: "a", Method: hubconfig.ReadResource}, `{"uri":"memo://9"}`)
		if code, ok := durward.DetailOf(err).Members["code"].(int64); !ok || code != -32002 { // as doors read it
			t.Errorf("it is %v", err)
		}
		must(t, h.Close())
	}
}

// Who subscribes hears of changes until it does so no more, also from a server that was started anew.
func TestSubscriptions(t *testing.T) {
	for _, era := range []string{"", "modern"} {
		var mu sync.Mutex
		var heard []string
		told := func() string {
			mu.Lock()
			defer mu.Unlock()
			text := strings.Join(heard, " ")
			heard = nil
			return text
		}
		h := newHub(t, Options{Expose: both, Updated: func(server string, params json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, server+string(params))
		}}, entry("a", append(strings.Fields(era), "rich")...))
		h.Start(patient(t))
		subscribe := func(method, uri string) {
			if got, err := h.request(t, hubconfig.Target{Server: "a", Method: method}, `{"uri":"`+uri+`"}`); err != nil || got != `{}` {
				t.Errorf("%q %s %s: %s, %v", era, method, uri, got, err)
			}
		}
		one, two := `a{"uri":"memo://1","x":1.0}`, `a{"uri":"memo://2","x":1.0}`
		h.says(t, "touch", struct{}{})
		if got := told(); got != "" {
			t.Errorf("before: %s", got)
		}
		subscribe(hubconfig.Subscribe, "memo://1")
		subscribe(hubconfig.Subscribe, "memo://2")
		h.says(t, "touch", struct{}{})
		if got := told(); got != one+" "+two {
			t.Errorf("both: %s", got)
		}
		subscribe(hubconfig.Unsubscribe, "memo://1")
		h.says(t, "touch", struct{}{})
		if got := told(); got != two {
			t.Errorf("one: %s", got)
		}
		must(t, h.Restart(patient(t), "a"))
		for got, ctx := "", patient(t); got != two; got = told() {
			if h.says(t, "touch", struct{}{}); ctx.Err() != nil {
				t.Fatalf("after a restart: %s", got)
			}
		}
		must(t, h.Close())
	}
	h := started(t, entry("a", "modern"))
	if _, err := h.request(t, hubconfig.Target{Server: "a", Method: hubconfig.Subscribe}, `{"uri":"memo://1"}`); durward.ReasonOf(err) != durward.ServerError {
		t.Errorf("it is %v", err)
	}
}

// The level of logs is told to the servers that know of it, also when they are started anew.
func TestLevel(t *testing.T) {
	h := started(t, entry("a", "rich"), entry("b"), entry("c", "rich", "modern"))
	h.SetLevel(patient(t), "warning")
	told := func() string { return string(h.Stderr("a")) }
	const once = `level {"level":"warning"}` + "\n"
	h.until(t, "a", func(Status) bool { return told() == once })
	must(t, h.Restart(patient(t), "a"))
	h.until(t, "a", func(Status) bool { return told() == once+once })
	if got := h.Stderr("b"); len(got) != 0 {
		t.Errorf("who has no log was told %q", got)
	}
	got, err := h.request(t, hubconfig.Target{Server: "c", Method: hubconfig.ReadResource}, `{"uri":"memo://1"}`)
	if err != nil || !strings.Contains(got, `"io.modelcontextprotocol/logLevel":"warning"`) || len(h.Stderr("c")) != 0 {
		t.Errorf("the modern one was told %s, %v, %s", got, err, h.Stderr("c"))
	}
}

// Who wants no more of the logs of servers has those say the least that they can, and those that
// were told nothing are left alone.
func TestNoLevel(t *testing.T) {
	h := started(t, entry("a", "rich"), entry("c", "rich", "modern"))
	told := func() string { return string(h.Stderr("a")) }
	h.SetLevel(patient(t), "")
	h.SetLevel(patient(t), "debug")
	const debug, least = `level {"level":"debug"}` + "\n", `level {"level":"emergency"}` + "\n"
	h.until(t, "a", func(Status) bool { return told() == debug })
	h.SetLevel(patient(t), "")
	h.until(t, "a", func(Status) bool { return told() == debug+least })
	must(t, h.Restart(patient(t), "a"))
	h.says(t, "grow", struct{}{})
	if got := told(); got != debug+least {
		t.Errorf("after a restart it was told %q", got)
	}
	got, err := h.request(t, hubconfig.Target{Server: "c", Method: hubconfig.ReadResource}, `{"uri":"memo://1"}`)
	if err != nil || strings.Contains(got, "logLevel") {
		t.Errorf("the modern one was told %s, %v", got, err)
	}
}

// A server that does not answer who sets its level keeps nobody from hearing of it, and is heard.
func TestAServerThatTakesNoLevel(t *testing.T) {
	h := started(t, entry("a", "rich", "lazy"), entry("b", "rich"))
	for _, level := range []string{"debug", "error"} {
		done := make(chan struct{})
		go func() { h.SetLevel(patient(t), level); close(done) }()
		h.until(t, "b", func(Status) bool { return strings.HasSuffix(string(h.Stderr("b")), `{"level":"`+level+`"}`+"\n") })
		for ctx := patient(t); !isClosed(done); time.Sleep(time.Millisecond) {
			if h.clock.end(requestTime); ctx.Err() != nil {
				t.Fatal("it waits for the answer")
			}
		}
	}
	must(t, h.Restart(patient(t), "a"))
	h.says(t, "grow", struct{}{})
	h.until(t, "a", func(s Status) bool {
		h.clock.end(requestTime)
		h.clock.end(listPause)
		return s.Tools == 2
	})
}

// A modern server hears the level that the caller of a call wants.
func TestLevelOfACall(t *testing.T) {
	h := started(t, entry("a", "rich", "modern"))
	for _, tt := range []struct{ all, own, want string }{
		{"", "", ""}, {"", "info", "info"}, {"error", "", "error"}, {"error", "debug", "debug"}, {"debug", "error", "debug"}, {"error", "loud", "error"},
	} {
		h.level.Store(nil)
		if tt.all != "" {
			h.SetLevel(patient(t), tt.all)
		}
		p, err := h.Prepare(patient(t), durward.Tool{Spec: &hubconfig.Target{Server: "a", Method: hubconfig.ReadResource}},
			durward.Call{Input: json.RawMessage(`{"uri":"memo://1"}`)}, durward.Grant{})
		must(t, err)
		s, err := p.(core.Opener).Open(patient(t), logReader{newCaller("", ""), tt.own})
		must(t, err)
		r, err := s.Wait(patient(t))
		must(t, errors.Join(err, s.Close(), p.Close()))
		if _, said, _ := strings.Cut(string(r.Output), `/logLevel":"`); !strings.HasPrefix(said, tt.want) || tt.want == "" && said != "" {
			t.Errorf("%+v: it was told %s", tt, r.Output)
		}
	}
}

type logReader struct {
	*caller
	level string
}

func (l logReader) LogLevel() string { return l.level }

// What a server tells of resources that nobody wants from it is told nobody.
func TestUpdatesOfOthers(t *testing.T) {
	var told []string
	s := &server{subscribed: map[string]bool{"memo://1": true}, engine: &Engine{options: Options{
		Updated: func(_ string, params json.RawMessage) { told = append(told, string(params)) },
	}}}
	p := &run{server: s}
	for _, params := range []string{`{"uri":"memo://2"}`, `{"uri":"memo://1"}`, `{}`, `[]`} {
		p.hear(jsonrpc.Message{Method: "notifications/resources/updated", Params: json.RawMessage(params)})
	}
	if len(told) != 1 || told[0] != `{"uri":"memo://1"}` {
		t.Errorf("it told %q", told)
	}
}
