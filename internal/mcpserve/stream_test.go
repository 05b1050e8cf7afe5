package mcpserve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// call calls a tool; more are further members of the params, each with a comma before it.
func call(id, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t"` + more + `}}`
}

const result = `{"content":[]}`

// tells is a tool that says something before it answers.
func tells(_ context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	r.Progress(json.RawMessage(`{"progressToken":"its own","progress":1.0,"total":12345678901234567890,"other":[]}`))
	r.Log(3, json.RawMessage(`{"level":"warning","data":1.0}`))
	return json.RawMessage(result), nil
}

func TestProgressAndLogComeBeforeTheAnswer(t *testing.T) {
	s := serve(t, tells)
	session := s.begin(`{}`)
	s.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`, session).says(t, 200, `{}`)
	e := s.events(s.open("POST", call(`"a"`, `,"_meta":{"progressToken":"p"}`), session))
	first := e.want("")
	second := e.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1.0,"total":12345678901234567890,"other":[]}}`)
	e.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":1.0}}`)
	last := e.want(`{"jsonrpc":"2.0","id":"a","result":` + result + `}`)
	e.end()
	if first == second || second == last || first == "" {
		t.Errorf("the events are called %q, %q and %q", first, second, last)
	}
}

func TestNobodyIsToldWhatWasNotAskedFor(t *testing.T) {
	s := serve(t, tells)
	session := s.begin(`{}`)
	s.post(call(`1`, ``), session).says(t, 200, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
	s.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`, session).says(t, 200, `{}`)
	s.post(call(`1`, ``), session).says(t, 200, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
}

func TestNewerEraIsToldOfItsOwnLevel(t *testing.T) {
	s := serve(t, tells)
	body, headers := modern(`1`, "tools/call", `"name":"t"`, "Mcp-Name: t")
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"warning","progressToken":5,`, 1)
	e := s.events(s.open("POST", body, headers...))
	e.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1.0,"total":12345678901234567890,"other":[]}}`)
	e.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":1.0}}`)
	if _, data, _ := e.next(); !strings.Contains(data, `"id":1,"result":{"resultType":"complete"`) {
		t.Errorf("the answer is %s", data)
	}
	e.end()
}

// asks is a tool that asks its caller, and answers with what it was told.
func asks(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	if !r.Can("elicitation") {
		return json.RawMessage(`{"content":[],"can":false}`), nil
	}
	said, err := r.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"who?"}`))
	if err != nil {
		return nil, err
	}
	return json.RawMessage(`{"content":[],"said":` + string(said) + `}`), nil
}

func TestAskingTheClient(t *testing.T) {
	s := serve(t, asks)
	session := s.beginAs("2025-06-18", `{"elicitation":{}}`)
	e := s.events(s.open("POST", call(`1`, ``), session))
	e.want(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?"}}`)
	s.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":1.0}}}`, session).says(t, 202, "")
	e.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"said":{"action":"accept","content":{"n":1.0}}}}`)
	e.end()

	e = s.events(s.open("POST", call(`2`, ``), session))
	e.want(`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"who?"}}`)
	s.post(`{"jsonrpc":"2.0","id":1,"result":{"late":true}}`, session).says(t, 202, "")
	s.post(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no","data":[1.0]}}`, session).says(t, 202, "")
	e.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no","data":[1.0]}}`)
	e.end()

	s.post(call(`1`, ``), s.begin(`{}`)).says(t, 200, `"can":false`)
}

func TestSomebodyElsesAnswerIsNotTaken(t *testing.T) {
	s := serve(t, asks)
	session, other := s.beginAs("2025-06-18", `{"elicitation":{}}`), s.beginAs("2025-06-18", `{"elicitation":{}}`)
	e := s.events(s.open("POST", call(`1`, ``), session))
	e.want(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?"}}`)
	s.post(`{"jsonrpc":"2.0","id":1,"result":{"forged":true}}`, other).says(t, 202, "")
	s.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`, session).says(t, 202, "")
	e.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"said":{"action":"decline"}}}`)
}

// lasts is a tool that goes on until its request is over; begun and ended tell of it.
type lasts struct{ begun, ended chan string }

func newLasts() lasts { return lasts{make(chan string, 8), make(chan string, 8)} }

func (l lasts) handle(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	if r.Method != "tools/call" {
		return echo(ctx, r)
	}
	l.begun <- r.ID
	<-ctx.Done()
	l.ended <- r.ID
	return nil, context.Cause(ctx)
}

func TestCancelledRequestIsNotAnswered(t *testing.T) {
	for _, can := range ways {
		l := newLasts()
		s := serve(t, l.handle)
		session := s.begin(can)
		done := make(chan answer)
		go func() { done <- s.post(call(`"x"`, ``), session) }()
		<-l.begun
		s.post(call(`"x"`, ``), session).says(t, 400, "the id is in use")
		s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"y"}}`, session).says(t, 202, "")
		s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`, session).says(t, 202, "")
		<-l.ended
		if a := <-done; a.status != 200 || strings.Contains(a.body, "data: {") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// What is said all the same, here for a level that was set meanwhile, comes before the answer.
func TestQuietRequestThatIsNot(t *testing.T) {
	begun, more := make(chan struct{}), make(chan struct{})
	s := serve(t, func(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
		close(begun)
		<-more
		return tells(ctx, r)
	})
	session := s.begin(`{}`)
	opened := make(chan *http.Response)
	go func() { opened <- s.open("POST", call(`1`, ``), session) }()
	<-begun
	s.post(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`, session).says(t, 200, `{}`)
	close(more)
	e := s.events(<-opened)
	e.want("")
	e.want(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":1.0}}`)
	e.want(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
	e.end()
}

func TestClientThatIsGoneCancelsItsRequest(t *testing.T) {
	for name, headers := range map[string]func(s *subject) (string, []string){
		"newer era": func(*subject) (string, []string) { return modern(`1`, "tools/call", `"name":"t"`, "Mcp-Name: t") },
		"session":   func(s *subject) (string, []string) { return call(`1`, ``), []string{s.begin(ways[0])} },
		"beside":    func(s *subject) (string, []string) { return call(`1`, ``), []string{s.begin(ways[1])} },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLasts()
			s := serve(t, l.handle)
			body, more := headers(s)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				if r, err := s.client.Do(s.request("POST", body, more...).WithContext(ctx)); err == nil {
					r.Body.Close()
				}
			}()
			<-l.begun
			cancel()
			<-l.ended
			<-done
		})
	}
}

func TestEndOfTheSessionCancelsItsRequests(t *testing.T) {
	for _, can := range ways {
		l := newLasts()
		s := serve(t, l.handle)
		session := s.begin(can)
		done := make(chan answer)
		go func() { done <- s.post(call(`1`, ``), session) }()
		<-l.begun
		s.send(http.MethodDelete, "", session).says(t, 204, "")
		<-l.ended
		<-done
	}
}

// breaks is a tool that ends its stream, and goes on when it is told to.
func breaks(more <-chan struct{}) handler {
	return func(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
		r.Progress(json.RawMessage(`{"progress":1}`))
		r.CloseStream()
		select {
		case <-more:
		case <-ctx.Done():
		}
		return json.RawMessage(result), ctx.Err()
	}
}

func TestBrokenStreamIsTakenUpAgain(t *testing.T) {
	more := make(chan struct{})
	s := serve(t, breaks(more))
	session := s.begin(`{}`)
	e := s.events(s.open("POST", call(`1`, `,"_meta":{"progressToken":1}`), session))
	zero := e.want("")
	e.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	e.end()

	e = s.events(s.open("GET", "", session, "Last-Event-ID: "+zero))
	one := e.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	close(more)
	e.want(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
	e.end()

	e = s.events(s.open("GET", "", session, "Last-Event-ID: "+one)) // and once more
	e.want(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
	e.end()

	for _, id := range []string{"", "nonsense", "99-1", "1", "-1-1", "1-x"} {
		if id != "" {
			s.send("GET", "", session, "Last-Event-ID: "+id).says(t, 404, "error")
		}
	}
	s.send("GET", "", s.begin(`{}`), "Last-Event-ID: "+one).says(t, 404, "error")
}

func TestChangesAreTold(t *testing.T) {
	s := serve(t, nil)
	session := s.beginAs("2025-06-18", `{}`)
	e := s.events(s.open("GET", "", session))
	body, headers := modern(`"sub"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"]}`)
	l := s.events(s.open("POST", body, headers...))
	l.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"resourceSubscriptions":["a:b"],"toolsListChanged":true}}}`)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"a:b"}`))
	s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:c"}}`, session).says(t, 200, `{}`)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"a:c"}`))
	s.Notify("notifications/prompts/list_changed", json.RawMessage(`{}`))
	for range 100 {
		s.Notify("notifications/tools/list_changed", json.RawMessage(`{}`))
	}
	e.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:c"}}`)
	e.want(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}`)
	e.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
	e.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`) // what followed, together
	const marked = `{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}`
	l.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":` + marked + `,"uri":"a:b"}}`)
	l.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":` + marked + `}}`)
	l.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":` + marked + `}}`)
	s.Drain()
	l.want(`{"jsonrpc":"2.0","id":"sub","result":` + marked + `,"resultType":"complete"}}`)
	l.end()
	e.end()
	s.post(list, session).says(t, 503, "shutting down")
}

func TestListeningThatIsRefused(t *testing.T) {
	s := serve(t, nil)
	for _, filter := range []string{
		``, `"notifications":[]`, `"notifications":{"toolsListChanged":1}`, `"notifications":{"resourceSubscriptions":{}}`, `"notifications":{"resourceSubscriptions":[1]}`,
	} {
		body, headers := modern(`1`, "subscriptions/listen", filter)
		s.post(body, headers...).says(t, 400, `"id":1,"error":{"code":-32602`)
	}
}

func TestNewReaderTakesTheStreamOver(t *testing.T) {
	s := serve(t, nil)
	session := s.beginAs("2025-06-18", `{}`)
	e := s.events(s.open("GET", "", session))
	other := s.events(s.open("GET", "", session))
	e.end()
	s.Log(mcpspec.Level(7), json.RawMessage(`{}`), func(durward.Caller) bool { return true }) // nobody wants any
	s.Notify("notifications/tools/list_changed", json.RawMessage(`{}`))
	other.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
}

func TestBatch(t *testing.T) {
	s := serve(t, asks)
	session := s.beginAs("2025-03-26", `{"elicitation":{}}`)
	e := s.events(s.open("POST", `[`+call(`1`, ``)+`,{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"id":3}]`, session))
	e.want(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?"}}`)
	s.post(`[{"jsonrpc":"2.0","id":1,"result":{}}]`, session).says(t, 202, "")
	e.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"said":{}}}`)
	e.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if _, data, _ := e.next(); !strings.Contains(data, `"id":3,"error":{"code":-32600`) {
		t.Errorf("the answer is %s", data)
	}
	e.end()
	s.post(`[]`, session).says(t, 400, "-32600")
	s.post(`[`+strings.Repeat(`{},`, 64)+`{}]`, session).says(t, 400, "64 messages")
}

func TestHeadersOfArguments(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"x-mcp-header":"N"},"plain":{}}}`)
	for name, tt := range map[string]struct {
		arguments string
		headers   []string
		good      bool
	}{
		"both":            {`{"region":"eu","n":1.0}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-N", "1.0"}, true},
		"base64":          {`{"region":"Hello"}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8=?="}, true},
		"literal":         {`{"region":"=?base64?SGVsbG8="}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8="}, true},
		"neither":         {`{"plain":1}`, nil, true},
		"null":            {`{"region":null}`, nil, true},
		"no header":       {`{"region":"eu"}`, nil, false},
		"no argument":     {`{}`, []string{"Mcp-Param-Region", "eu"}, false},
		"another value":   {`{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, false},
		"two headers":     {`{"region":"eu"}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-Region", "eu"}, false},
		"without padding": {`{"region":"Hello"}`, []string{"Mcp-Param-Region", "=?base64?SGVsbG8?="}, false},
	} {
		h := http.Header{}
		for i := 0; i < len(tt.headers); i += 2 {
			h.Add(tt.headers[i], tt.headers[i+1])
		}
		if bad := mcpserve.CheckParams(h, schema, json.RawMessage(tt.arguments)); (bad == nil) != tt.good || bad != nil && bad.Code != mcpspec.CodeHeader {
			t.Errorf("%s: %v", name, bad)
		}
	}
	if bad := mcpserve.CheckParams(nil, schema, json.RawMessage(`{"region":"eu"}`)); bad != nil {
		t.Errorf("without headers: %v", bad)
	}
}
