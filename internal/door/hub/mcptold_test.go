package hub_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/durward/durward"
)

// Progress comes in its order, by the caller's own token, and nothing of it behind the answer.
func TestProgressOfCalls(t *testing.T) {
	s := openSurface(t)
	var late durward.Events
	s.work = func(_ context.Context, _ durward.Call, events durward.Events) (durward.Result, error) {
		late = events
		for _, params := range []string{`{"progressToken":9,"progress":1.0,"more":[]}`, `{"progress":2,"progressToken":9}`} {
			events.(durward.ProgressReader).RawProgress(json.RawMessage(params))
		}
		return finished()
	}
	v := s.visit("all").begin(`{}`)
	next := v.events("POST", callOf(7, "read", `,"_meta":{"progressToken":"mine"}`))
	says(t, next(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1.0,"more":[]}}`)
	says(t, next(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":2}}`)
	says(t, next(), `{"jsonrpc":"2.0","id":7,"result":`+done+`}`)
	late.(durward.ProgressReader).RawProgress(json.RawMessage(`{"progress":3}`))
	says(t, next(), "")
}

// A call that is cancelled ends, and is not answered.
func TestCancelledCall(t *testing.T) {
	s := openSurface(t)
	began, ended := make(chan string), make(chan error)
	s.work = func(ctx context.Context, _ durward.Call, events durward.Events) (durward.Result, error) {
		began <- map[bool]string{true: "heard", false: "unheard"}[events != nil]
		<-ctx.Done()
		ended <- ctx.Err()
		return durward.Result{}, durward.Ended(ctx, "test")
	}
	v := s.visit("all").begin(`{}`)
	other := s.visit("all").begin(`{}`)
	for want, meta := range map[string]string{"unheard": ``, "heard": `"_meta":{"progressToken":1},`} {
		answered := make(chan string)
		go func() { answered <- v.ask("tools/call", meta+`"name":"read"`) }()
		says(t, <-began, want)
		const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
		other.send("POST", "/mcp", cancel, other.headers...) // which has no such request
		select {
		case <-ended:
			t.Error("somebody else cancelled it")
		default:
		}
		v.send("POST", "/mcp", cancel, v.headers...)
		<-ended
		says(t, <-answered, "")
	}
}

var limitedCaller = durward.Caller{Name: "token:limited", Method: "bearer"}

// What a server logs is for whose call it works on, from the level on that they want.
func TestLogOfAServer(t *testing.T) {
	s := openSurface(t)
	began, more := make(chan bool), make(chan bool)
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) {
		began <- true
		<-more
		return finished()
	}
	var callers []durward.Caller
	log := func(text string) { s.mcp.Logged("files", callers, json.RawMessage(text)) }
	limited, idle := s.visit("limited").begin(`{}`), s.visit("all").begin(`{}`)
	for _, v := range []visitor{limited, idle} {
		says(t, v.ask("logging/setLevel", `"level":"warning"`), `"result":{}`)
	}
	aside := idle.events("GET", "")
	asideOfLimited := limited.events("GET", "")
	answers := make(chan func() string)
	go func() { answers <- limited.events("POST", callOf(7, "read", ``)) }()
	<-began
	callers = []durward.Caller{limitedCaller}
	log(`{"level":"info","data":"too little"}`)
	log(`{"level":"no such level","data":"nothing"}`)
	log(`{"data":{"n":1.0,"z":12345678901234567890},"level":"error","logger":"db","other":1}`)
	log(`{"level":"warning"}`)
	s.mcp.Logged("other", nil, json.RawMessage(`{"level":"error","data":"of another server"}`))
	callers = append(callers, durward.Caller{Name: "token:other", Method: "bearer"})
	log(`{"level":"error","data":"perhaps of somebody who is no client of MCP"}`)
	callers = nil
	log(`{"level":"error","data":"of nobody's call"}`)
	more <- true
	next := <-answers
	const message = `{"jsonrpc":"2.0","method":"notifications/message","params":`
	says(t, next(), message+`{"level":"error","logger":"child/files/db","data":{"n":1.0,"z":12345678901234567890}}}`)
	says(t, next(), message+`{"level":"warning","logger":"child/files","data":null}}`)
	says(t, next(), `{"jsonrpc":"2.0","id":7,"result":`+done+`}`)
	says(t, next(), "")
	// Beside calls, it is for those who may call everything.
	log(`{"level":"error","data":"beside calls"}`)
	says(t, aside(), message+`{"level":"error","logger":"child/other","data":"of another server"}}`)
	says(t, aside(), message+`{"level":"error","logger":"child/files","data":"beside calls"}}`)
	s.mcp.Drain()
	says(t, aside(), "")
	says(t, asideOfLimited(), "")
}

// Of several calls of a server it cannot be told for which it logs: then nobody hears what may be
// another caller's who may not call everything.
func TestLogOfAServerWithCallsOfSeveral(t *testing.T) {
	s := openSurface(t)
	began, more := make(chan bool), make(chan bool)
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) {
		began <- true
		<-more
		return finished()
	}
	answers := map[string]chan string{"all": make(chan string, 1), "limited": make(chan string, 1)}
	callers := []durward.Caller{limitedCaller, {Name: "token:all", Method: "bearer"}}
	for token, answer := range answers {
		v := s.visit(token).begin(`{}`)
		v.ask("logging/setLevel", `"level":"debug"`)
		go func() { answer <- v.ask("tools/call", `"name":"read"`) }()
		<-began
	}
	s.mcp.Logged("files", callers, json.RawMessage(`{"level":"error","data":"a secret"}`))
	more <- true
	more <- true
	has(t, <-answers["all"], "a secret")
	says(t, <-answers["limited"], `"result":`+done)
}

// A client of a session is asked in the middle of its call, and one of the newer era by a result.
func TestAskingCallers(t *testing.T) {
	s := openSurface(t)
	s.work = func(ctx context.Context, c durward.Call, events durward.Events) (durward.Result, error) {
		if asker, ok := events.(durward.Asker); ok && asker.CanAsk("elicitation/create") {
			said, err := events.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"who?","n":1.0}`))
			return durward.Result{Output: json.RawMessage(`{"content":[],"said":` + string(said) + `}`)}, err
		}
		if c.Resume == nil {
			wants := json.RawMessage(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}},"requestState":"s"}`)
			return durward.Result{}, &durward.Error{Reason: durward.InputRequired, Err: durward.Detail{Members: map[string]any{"result": wants}}}
		}
		return durward.Result{Output: json.RawMessage(`{"content":[],"brought":` + string(c.Resume) + `}`)}, nil
	}
	v := s.visit("all").begin(`{"elicitation":{}}`)
	next := v.events("POST", callOf(7, "read", ``))
	says(t, next(), `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?","n":1.0}}`)
	if status, text, _ := v.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":1.0}}}`, v.headers...); status != 202 {
		t.Errorf("%d %s", status, text)
	}
	says(t, next(), `{"jsonrpc":"2.0","id":7,"result":{"content":[],"said":{"action":"accept","content":{"n":1.0}}}}`)
	has(t, s.visit("all").begin(`{}`).ask("tools/call", `"name":"read"`), `"isError":true`, "input required")

	const about = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"durward","title":"durward hub","version":"1"}},`
	newer := s.visit("all")
	says(t, newer.askNewer("tools/call", "read", `{"elicitation":{}}`, `,"name":"read"`),
		`"result":{`+about+`"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}},"requestState":"s"}`)
	says(t, newer.askNewer("tools/call", "read", `{"elicitation":{}}`, `,"name":"read","inputResponses":{"a":{"action":"accept","n":1.0}},"requestState":"s"`),
		`"result":{"resultType":"complete",`+about+`"content":[],"brought":{"inputResponses":{"a":{"action":"accept","n":1.0}},"requestState":"s"}}`)
}
