//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// prepareFor takes a call of somebody as far as it can be run.
func (h *hub) prepareFor(t testing.TB, caller, tool, arguments string) *prepared {
	t.Helper()
	c := durward.Call{Input: json.RawMessage(arguments), Caller: durward.Caller{Name: caller}}
	p, err := h.Prepare(t.Context(), durward.Tool{Spec: &hubconfig.Target{Server: "a", Tool: tool}}, c, durward.Grant{Limits: durward.Limits{Output: limit}})
	must(t, err)
	return p.(*prepared)
}

// abandoned has a call of somebody given up, and comes back when nobody waits for its answer any
// more. It gives the id.
func (h *hub) abandoned(t testing.TB, caller string) (id int64) {
	t.Helper()
	arguments, began, _ := waiting(t)
	ctx, cancel := context.WithCancel(patient(t))
	go func() { appears(t, began); cancel() }()
	if got := reason(h.prepareFor(t, caller, "hang", arguments).Run(ctx)); got != "cancelled" {
		t.Fatal(got)
	}
	id = h.servers["a"].ids.Load()
	h.until(t, "a", func(Status) bool {
		h.clock.end(answerTime)
		process, err := h.servers["a"].current()
		return err == nil && process.find(id) == nil
	})
	return id
}

// answered comes back when the server has answered all calls, those that were given up among them.
func (h *hub) answered(t testing.TB) {
	t.Helper()
	h.until(t, "a", func(Status) bool {
		process, err := h.servers["a"].current()
		return err == nil && len(process.callers(0)) == 0
	})
}

// lines has a server print lines, and answer at last: ID is that of the call.
func lines(text ...string) string {
	text = append(text, `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`)
	arguments, _ := json.Marshal(map[string]string{"text": strings.Join(text, "\n")})
	return string(arguments)
}

// What a server says for its log may be about each call that it has not answered, whoever waits
// for that.
func TestCallersOfAMessage(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
	heard := make(chan string, 16)
	e := entry("a")
	e.Concurrency = 3
	h := newHub(t, Options{Message: func(_ string, callers []durward.Caller, _ json.RawMessage) {
		var names []string
		for _, c := range callers {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		heard <- strings.Join(names, " ")
	}}, e)
	h.Start(patient(t))
	saysAbout := func(want, caller string, before ...string) {
		t.Helper()
		if got := reason(h.prepareFor(t, caller, "line", lines(append(before, message)...)).Run(patient(t))); got != "ok" {
			t.Error(got)
		}
		if got := <-heard; got != want {
			t.Errorf("it is about calls of %q and not of %q", got, want)
		}
	}
	saysAbout("red", "red")
	arguments, began, _ := waiting(t)
	ctx, cancel := context.WithCancel(patient(t))
	ended := make(chan string)
	go func() { ended <- reason(h.prepareFor(t, "blue", "wait", arguments).Run(ctx)) }()
	appears(t, began)
	saysAbout("blue red", "red")
	cancel()
	<-ended
	h.answered(t)
	id := h.abandoned(t, "green")
	saysAbout("green red", "red")
	saysAbout("green", "green")
	saysAbout("red", "red", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id))
	h.abandoned(t, "green")
	h.clock.pass(24 * time.Hour)
	saysAbout("green red", "red")
	must(t, h.Restart(patient(t), "a"))
	saysAbout("red", "red")
}

// However many calls are given up, their callers are known, and they take no more room.
func TestManyLateCalls(t *testing.T) {
	var late lateCalls
	red, blue := durward.Caller{Name: "red"}, durward.Caller{Name: "blue"}
	for id := range int64(mostLate) {
		late.add(id, red)
	}
	late.add(mostLate, blue)
	for id := range int64(mostLate + 1) {
		late.answered(id)
	}
	if len(late.ids) != 0 || late.callers[blue] != 1 || len(late.callers) != 1 {
		t.Errorf("it is %v", late.callers)
	}
	late.add(1, red)
	if len(late.ids) != 1 || late.callers[red] != 1 || len(late.callers) != 2 {
		t.Errorf("with another one it is %v", late.callers)
	}
}

// A question of a server goes to nobody while it may be about somebody else's call, whether that
// one can be asked or not, and whether anybody waits for its answer or not.
func TestAskingBesideOthers(t *testing.T) {
	ask := func(h *hub, caller string) string {
		s, err := h.prepareFor(t, caller, "ask", `{"text":"elicitation/create"}`).Open(patient(t), newCaller(elicit, `{"action":"accept"}`))
		must(t, err)
		r, err := s.Wait(patient(t))
		must(t, err)
		return string(r.Output)
	}
	const refused, accepted = "not exactly one call", "accept"
	h := started(t, offered("elicitation"))
	arguments, began, _ := waiting(t)
	ctx, cancel := context.WithCancel(patient(t))
	ended := make(chan string)
	go func() { ended <- reason(h.prepareFor(t, "blue", "wait", arguments).Run(ctx)) }()
	appears(t, began)
	if got := ask(h, "red"); !strings.Contains(got, refused) {
		t.Errorf("beside a call of somebody who cannot be asked: %s", got)
	}
	cancel()
	<-ended
	h.answered(t)
	h.abandoned(t, "blue")
	if got := ask(h, "red"); !strings.Contains(got, refused) {
		t.Errorf("beside a call that was given up: %s", got)
	}
	h.clock.pass(24 * time.Hour)
	if got := ask(h, "red"); !strings.Contains(got, refused) {
		t.Errorf("a day after a call was given up: %s", got)
	}
	if got := ask(h, "blue"); !strings.Contains(got, refused) {
		t.Errorf("another session of the one whose call that was: %s", got)
	}
	must(t, h.Restart(patient(t), "a"))
	if got := ask(h, "red"); !strings.Contains(got, accepted) {
		t.Errorf("once it is another process: %s", got)
	}
}

// A server over HTTP that was cut off may work on all the same.
func TestCallersOfARemoteServer(t *testing.T) {
	for _, era := range eras {
		w := serveWeb(t, era)
		h := started(t, w.entry())
		ctx, cancel := context.WithCancel(patient(t))
		go func() { <-w.gone; cancel() }()
		if got := reason(h.prepareFor(t, "red", "hang", `{}`).Run(ctx)); got != "cancelled" {
			t.Errorf("it ended with %s", got)
		}
		<-w.gone
		if got := reason(h.prepareFor(t, "blue", "break", `{}`).Run(patient(t))); got != "server_disconnected" {
			t.Errorf("it ended with %s", got)
		}
		h.works(t, "a")
		process, err := h.servers["a"].current()
		must(t, err)
		if got := process.callers(0); len(got) != 2 {
			t.Errorf("%s: it may be about calls of %v", era, got)
		}
		must(t, h.Close())
	}
}

// What a server over HTTP asks in the answer to a call is for the caller of that, whatever else is
// under way or was given up. What it asks elsewhere may be about each of these.
func TestAskingInTheAnswerToACall(t *testing.T) {
	w := serveWeb(t, "legacy")
	e := w.entry()
	e.Offer = []string{"elicitation"}
	told := make(chan []durward.Caller, 1)
	h := newHub(t, Options{Message: func(_ string, callers []durward.Caller, _ json.RawMessage) { told <- callers }}, e)
	h.Start(patient(t))
	hangs := func(ctx context.Context, events durward.Events) <-chan string {
		ended := make(chan string, 1)
		s, err := h.prepareFor(t, "red", "mute", `{}`).Open(ctx, events)
		must(t, err)
		go func() { ended <- reason(s.Wait(patient(t))) }()
		if got := <-w.gone; got != "began" {
			t.Fatal(got)
		}
		return ended
	}
	asks := func(when string) {
		t.Helper()
		s, err := h.prepareFor(t, "blue", "ask", `{}`).Open(patient(t), newCaller(elicit, `{"action":"accept"}`))
		must(t, err)
		if r, err := s.Wait(patient(t)); err != nil || !strings.Contains(string(r.Output), "accept") {
			t.Errorf("%s: %s, %v", when, r.Output, err)
		}
	}
	red := newCaller(elicit, `{"action":"accept"}`)
	ctx, cancel := context.WithCancel(patient(t))
	ended := hangs(ctx, red)
	asks("beside a call of somebody else")
	cancel()
	if got := <-ended; got != "cancelled" {
		t.Fatal(got)
	}
	<-w.gone
	asks("once that was given up")
	ctx, cancel = context.WithCancel(patient(t))
	ended = hangs(ctx, red)
	if got := reason(h.prepareFor(t, "blue", "ask when over", `{}`).Run(patient(t))); got != "ok" {
		t.Error(got)
	}
	if got := <-told; len(got) > 0 {
		t.Errorf("what it logged about a call that was over is for %v", got)
	}
	if got := <-w.gone; got != "" {
		t.Errorf("what it asked about a call that was over was answered with %s", got)
	}
	said := w.answers(`"z"`)
	w.say(`{"jsonrpc":"2.0","id":"z","method":"elicitation/create","params":{}}`)
	if m := <-said; m.Result != nil {
		t.Errorf("what it asked in the stream for everybody was answered with %s", m.Result)
	}
	cancel()
	<-ended
	if len(red.asked) > 0 {
		t.Errorf("the caller of another call was asked %s", <-red.asked)
	}
	must(t, h.Close())
}
