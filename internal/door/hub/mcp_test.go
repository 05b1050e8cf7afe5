package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/door/hub"
)

type pageOf struct {
	Result struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	Error struct{ Code int }
}

func (v visitor) page(kind, cursor string) (p pageOf) {
	v.t.Helper()
	params := ""
	if cursor != "" {
		params = `"cursor":"` + cursor + `"`
	}
	text := v.ask(kind+"/list", params)
	if err := json.Unmarshal([]byte("{"+text+"}"), &p); err != nil {
		v.t.Fatalf("%v in %s", err, text)
	}
	return p
}

// A list comes in pages. What leads from one to the next is good for one list, as it is, and for
// who was given it.
func TestListsComeInPages(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) { o.Expose = []string{"tools", "prompts"} })
	var names []string
	for i := range 250 {
		names = append(names, fmt.Sprintf("t%03d", i))
	}
	s.show("tools", "1", names...)
	s.show("prompts", "1", names...)
	v := s.visit("all").begin(`{}`)
	var got []string
	var cursors []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		p := v.page("tools", cursor)
		for _, tool := range p.Result.Tools {
			got = append(got, tool.Name)
		}
		if cursor = p.Result.NextCursor; cursor != "" {
			cursors = append(cursors, cursor)
		}
		if len(p.Result.Tools) > 100 {
			t.Fatalf("a page has %d", len(p.Result.Tools))
		}
	}
	if strings.Join(got, " ") != strings.Join(names, " ") || len(cursors) != 2 {
		t.Fatalf("there are %d tools in %d pages", len(got), len(cursors)+1)
	}
	good := cursors[0]
	if p := s.visit("all").begin(`{}`).page("tools", good); len(p.Result.Tools) != 100 {
		t.Errorf("the same caller in another session gets %+v", p)
	}
	refused := func(what string, p pageOf) {
		t.Helper()
		if p.Error.Code != -32602 || p.Result.Tools != nil {
			t.Errorf("%s: %+v", what, p)
		}
	}
	for at := range good {
		bad := []byte(good)
		bad[at] = map[bool]byte{true: 'B', false: 'A'}[bad[at] == 'A']
		refused("a change at "+fmt.Sprint(at), v.page("tools", string(bad)))
	}
	for _, bad := range []string{"x", "AAAA", good + "A", good + good, good[:6], "="} {
		refused(bad, v.page("tools", bad))
	}
	refused("another caller", s.visit("limited").begin(`{}`).page("tools", good))
	refused("another list", v.page("prompts", good))
	has(t, v.ask("tools/list", `"cursor":5`), `"code":-32602`)
	has(t, v.ask("tools/list", `"cursor":""`), `"code":-32602`)
	s.show("tools", "2", names...)
	refused("a list that has changed", v.page("tools", good))
}

// A page has no more bytes than clients can be expected to take, unless one item alone has; nor has
// what is found.
func TestPagesAreBoundedByBytes(t *testing.T) {
	const small, big = 300 << 10, 2 << 20
	list := hub.Shown{Version: "1"}
	for i, size := range []int{small, small, small, small, big, big, 1} {
		list.Items = append(list.Items, hub.Listed{
			Name: fmt.Sprint("t", i), Raw: json.RawMessage(fmt.Sprintf(`{"name":"t%d","description":"%s"}`, i, strings.Repeat("x", size))),
		})
	}
	s := openSurface(t, func(o *hub.MCPOptions) {
		o.Show = func(string, durward.Caller) hub.Shown { return list }
	})
	v := s.visit("all").begin(`{}`)
	var pages []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		p := v.page("tools", cursor)
		var names []string
		for _, tool := range p.Result.Tools {
			names = append(names, tool.Name)
		}
		pages = append(pages, strings.Join(names, " "))
		cursor = p.Result.NextCursor
	}
	says(t, strings.Join(pages, ", "), "t0 t1 t2, t3, t4, t5, t6")
	found := openSurface(t, func(o *hub.MCPOptions) {
		o.Search = func(durward.Caller, string, int) []hub.Listed { return list.Items }
	}).visit("all").begin(`{}`).ask("tools/call", `"name":"find_tool","arguments":{"query":"x","limit":7}`)
	if n := strings.Count(found, `"name":"t`); n != 3 {
		t.Errorf("%d are found in %d bytes", n, len(found))
	}
}

// What a server left out that clients cannot do without is there.
func TestListsThatClientsTake(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) {
		o.Expose = []string{"tools", "resources"}
		o.Show = func(kind string, _ durward.Caller) hub.Shown {
			raw := map[string][]string{
				"tools":             {`{"name":"a"}`, `{"name":"a","inputSchema":{"x":1.0},"outputSchema":{"type":"array"}}`, `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`},
				"resources":         {`{"uri":"x:y"}`, `{"uri":"x:y","name":"n"}`},
				"resourceTemplates": {`{"uriTemplate":"x:{y}"}`},
			}[kind]
			shown := hub.Shown{Version: "1"}
			for _, text := range raw {
				shown.Items = append(shown.Items, hub.Listed{Raw: json.RawMessage(text)})
			}
			return shown
		}
	})
	v := s.visit("all").begin(`{}`)
	const bare, typed = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`
	says(t, v.ask("tools/list", ``), `"result":{"tools":[`+bare+`,{"name":"a","inputSchema":{"x":1.0,"type":"object"}},`+typed+`]}`)
	has(t, v.askNewer("tools/list", "", `{}`, ``), bare, `{"name":"a","inputSchema":{"x":1.0,"type":"object"},"outputSchema":{"type":"array"}}`, typed)
	says(t, v.ask("resources/list", ``), `"result":{"resources":[{"uri":"x:y","name":"x:y"},{"uri":"x:y","name":"n"}]}`)
	says(t, v.ask("resources/templates/list", ``), `"result":{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"x:{y}"}]}`)
}

// Items are listed as their servers say them, by the names that clients use, and to those who may
// know of them. To others they are as what is not there.
func TestCallersOfMCPKnowTheirOwn(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) { o.Expose = []string{"tools", "prompts"} })
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) { return finished() }
	all, limited := s.visit("all").begin(`{}`), s.visit("limited").begin(`{}`)
	const read, write = `{"title":"T","name":"read","x":1.0,"inputSchema":{"type":"object"}}`, `{"title":"T","name":"write","x":1.0,"inputSchema":{"type":"object"}}`
	says(t, all.ask("tools/list", ``), `"result":{"tools":[`+read+`,`+write+`]}`)
	says(t, limited.ask("tools/list", ``), `"result":{"tools":[`+read+`]}`)
	says(t, limited.ask("prompts/list", ``), `"result":{"prompts":[{"title":"T","name":"review","x":1.0}]}`)
	for method, unknown := range map[string]string{"tools/call": "unknown tool", "prompts/get": "unknown prompt"} {
		says(t, all.ask(method, `"name":"write"`), `"result":`+done)
		got := limited.ask(method, `"name":"write"`)
		says(t, got, strings.ReplaceAll(limited.ask(method, `"name":"wrote"`), "wrote", "write"))
		has(t, got, `"code":-32602`, unknown)
		says(t, limited.askNewer(method, "write", `{}`, `,"name":"write"`), got)
	}
}

// What a server answered reaches its caller; of what is ours the caller is told what it can use.
func TestErrorsOfCallsOfMCP(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) { o.Expose = []string{"tools", "prompts"} })
	v := s.visit("all").begin(`{}`)
	refusal := func(text, code string) string {
		result := `"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":true`
		if code != "" {
			result += `,"_meta":{"durward/code":"` + code + `"}`
		}
		return result + "}"
	}
	for want, err := range map[string]error{
		`"error":{"code":-32042,"message":"no","data":{"n":12345678901234567890,"z":1.0}}`: &durward.Error{Reason: durward.ServerError, Err: durward.Detail{
			Members: map[string]any{"code": int64(-32042), "message": "no", "data": json.RawMessage(`{"n":12345678901234567890,"z":1.0}`)},
		}},
		`"error":{"code":-32601,"message":"no"}`:                              &durward.Error{Reason: durward.ServerError, Err: durward.Detail{Members: map[string]any{"code": int64(-32601), "message": "no"}}},
		refusal("MCP server 'files' disconnected; the tool may have run", ""): &durward.Error{Reason: durward.ServerDisconnected, Err: durward.Detail{Members: map[string]any{"server": "files"}}},
		refusal("the runtime is shutting down; the tool may have run", ""): &durward.Error{Reason: durward.ShuttingDown, Err: durward.Detail{
			Members: map[string]any{"may_have_run": true},
		}},
		refusal("files is stopped", "server_stopped"):     &durward.Error{Reason: durward.ServerStopped, Err: errors.New("files is stopped")},
		refusal("Tool execution timed out after 20s", ""): &durward.Error{Reason: durward.DeadlineExceeded},
		refusal("malformed result", ""):                   &durward.Error{Reason: durward.MalformedResult},
		refusal("output_too_large", ""):                   &durward.Error{Reason: durward.OutputTooLarge},
		refusal("the path is outside the sandbox directory: /a \\\"../x\\\"", "path_validation"): &durward.Error{Reason: durward.OutsideRoot, Err: durward.Detail{
			Members: map[string]any{"pointer": "/a", "given": "../x", "rule": "outsideSandbox"}, Err: errors.New("/srv/secret"),
		}},
		`"error":{"code":-32603,"message":"` + durward.Defect.Summary() + `"}`: &durward.Error{Reason: durward.Defect, Err: errors.New("/srv/secret")},
	} {
		s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) {
			return durward.Result{}, err
		}
		if strings.Contains(want, "path_validation") {
			want = strings.Replace(want, "the path is outside the sandbox directory", durward.OutsideRoot.Summary(), 1)
		}
		says(t, v.ask("tools/call", `"name":"read"`), want)
		if strings.Contains(want, "path_validation") { // what has no result to say it in
			has(t, v.ask("prompts/get", `"name":"review"`), `"error":{"code":-32602,"message":"`+durward.OutsideRoot.Summary())
		}
	}
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) {
		return durward.Result{Output: json.RawMessage(`{"isError":true,"content":[{"type":"odd"}]}`), Failed: true}, nil
	}
	says(t, v.ask("tools/call", `"name":"read"`), `"result":{"isError":true,"content":[{"type":"odd"}]}`)
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) {
		t.Error("it ran")
		return finished()
	}
	for _, params := range []string{``, `"name":5`, `"name":"read","arguments":[]`, `"name":"read","arguments":"x"`, `"name":"nothing"`} {
		has(t, v.ask("tools/call", params), `"error":{"code":-32602,`)
	}
}

// What is not exposed is not there, not even to be heard of.
func TestWhatIsNotExposed(t *testing.T) {
	s := openSurface(t)
	v := s.visit("all").begin(`{}`)
	for method, params := range map[string]string{
		"resources/list": ``, "resources/templates/list": ``, "resources/read": `"uri":"memo:1"`, "resources/subscribe": `"uri":"memo:1"`,
		"prompts/list": ``, "prompts/get": `"name":"review"`, "completion/complete": `"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"a","value":""}`,
	} {
		has(t, v.ask(method, params), `"error":{"code":-32601,`)
	}
	has(t, v.askNewer("server/discover", "", `{}`, ``), `"capabilities":{"logging":{},"tools":{"listChanged":true}}`)
	next := v.events("GET", "")
	s.mcp.Changed("prompts")
	s.mcp.Changed("resources")
	s.mcp.Changed("tools")
	says(t, next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
}

// Changes that follow each other are told together.
func TestChangesOfAListAreToldTogether(t *testing.T) {
	s := openSurface(t)
	next := s.visit("all").begin(`{}`).events("GET", "")
	for range 50 {
		s.mcp.Changed("tools")
	}
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`
	says(t, next(), changed)
	says(t, next(), changed)
	s.mcp.Drain()
	says(t, next(), "")
}

// Nothing is looked for by callers who may have no resources, nor by a URI without end, and both go
// on record.
func TestResourcesAreForThoseWhoMayHaveThem(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) {
		o.Expose = []string{"resources"}
		o.Resource = func(uri string) (string, bool) {
			if uri != "memo:1" {
				t.Errorf("%.20q is looked for", uri)
			}
			return "files", true
		}
	})
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) { return finished() }
	all, limited := s.visit("all").begin(`{}`), s.visit("limited").begin(`{}`)
	has(t, all.ask("resources/read", `"uri":"memo:1"`), `"result":`)
	for method, params := range map[string]string{
		"resources/read": `"uri":"memo:2"`, "resources/subscribe": `"uri":"memo:2"`,
		"completion/complete": `"ref":{"type":"ref/resource","uri":"memo:2"},"argument":{"name":"a","value":""}`,
	} {
		has(t, limited.ask(method, params), `"error":{"code":-32`)
	}
	if n := s.refusals(t); n != 3 {
		t.Errorf("there are %d records of refusals", n)
	}
	long := strings.Repeat("x", 8<<10+1)
	has(t, all.ask("resources/read", `"uri":"`+long+`"`), `"error":{"code":-32602`)
	has(t, all.ask("completion/complete", `"ref":{"type":"ref/resource","uri":"`+long+`"},"argument":{"name":"a","value":""}`), `"error":{"code":-32602`)
	if n := s.refusals(t); n != 5 {
		t.Errorf("there are %d records of refusals", n)
	}
}

// A prompt that is not there is not there for any request, and each leaves a record.
func TestPromptThatIsNotThere(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) { o.Expose = []string{"prompts"} })
	all := s.visit("all").begin(`{}`)
	for method, params := range map[string]string{
		"prompts/get": `"name":"nothing"`, "completion/complete": `"ref":{"type":"ref/prompt","name":"nothing"},"argument":{"name":"a","value":""}`,
	} {
		has(t, all.ask(method, params), `"error":{"code":-32602`)
	}
	if n := s.refusals(t); n != 2 {
		t.Errorf("there are %d records of refusals", n)
	}
}

// Until it is known what there is, lists and calls by other names wait, and a call by a qualified name that
// is known does not.
func TestCallsBeforeItIsKnownWhatThereIs(t *testing.T) {
	known := make(chan struct{})
	waits := make(chan struct{}, 8)
	s := openSurface(t, func(o *hub.MCPOptions) {
		o.Begun = func(ctx context.Context, _ time.Duration) error {
			waits <- struct{}{}
			select {
			case <-known:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	s.show("tools", "1", "read", "files__read")
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) { return finished() }
	v := s.visit("all").begin(`{}`)
	says(t, v.ask("tools/call", `"name":"files__read"`), `"result":`+done)
	if len(waits) > 0 {
		t.Error("it waited for what it did not need")
	}
	go func() { <-waits; close(known) }()
	says(t, v.ask("tools/call", `"name":"read"`), `"result":`+done)
	has(t, v.ask("tools/list", ``), `"name":"files__read"`)
	if len(waits) != 1 {
		t.Errorf("%d requests waited, want one more", len(waits))
	}
}

// Where tools are searched, two stand for all, and those that a caller may not know are not called.
func TestSearchOfTools(t *testing.T) {
	var asked string
	s := openSurface(t, func(o *hub.MCPOptions) {
		o.Search = func(caller durward.Caller, query string, limit int) []hub.Listed {
			asked = fmt.Sprint(caller.Name, " ", query, " ", limit)
			return []hub.Listed{{Name: "read", Raw: json.RawMessage(`{"name":"own.read","inputSchema":{"type":"object","x":1.0}}`)}}
		}
	})
	var called durward.Call
	s.work = func(_ context.Context, c durward.Call, _ durward.Events) (durward.Result, error) {
		called = c
		return finished()
	}
	v := s.visit("limited").begin(`{}`)
	list := v.ask("tools/list", ``)
	has(t, list, `"name":"find_tool"`, `"name":"call_tool"`)
	if strings.Contains(list, `"read"`) || strings.Contains(list, "nextCursor") {
		t.Error(list)
	}
	says(t, v.ask("tools/call", `"name":"find_tool","arguments":{"query":"a file"}`),
		`"result":{"content":[{"type":"text","text":"{\"tools\":[{\"name\":\"read\",\"inputSchema\":{\"type\":\"object\",\"x\":1.0}}]}"}],"structuredContent":{"tools":[{"name":"read","inputSchema":{"type":"object","x":1.0}}]}}`)
	says(t, asked, "token:limited a file 5")
	v.ask("tools/call", `"name":"find_tool","arguments":{"query":"x","limit":50}`)
	says(t, asked, "token:limited x 50")
	v.ask("tools/call", `"name":"find_tool","arguments":{"query":"x","limit":7.0}`)
	says(t, asked, "token:limited x 7")
	says(t, v.ask("tools/call", `"name":"call_tool","arguments":{"name":"read","arguments":{"a":1.0}}`), `"result":`+done)
	says(t, string(called.Tool)+string(called.Input), `read{"a":1.0}`)
	called = durward.Call{}
	for _, arguments := range []string{
		`{}`, `{"name":5}`, `{"name":"write"}`, `{"name":"nothing"}`, `{"name":"call_tool","arguments":{"name":"read"}}`, `{"name":"find_tool"}`, `{"name":"read","arguments":5}`,
	} {
		has(t, v.ask("tools/call", `"name":"call_tool","arguments":`+arguments), `"error":{"code":-32602,`)
	}
	for _, arguments := range []string{`{}`, `{"query":5}`, `{"query":"x","limit":0}`, `{"query":"x","limit":51}`, `{"query":"x","limit":1.5}`} {
		has(t, v.ask("tools/call", `"name":"find_tool","arguments":`+arguments), `"error":{"code":-32602,`)
	}
	has(t, v.ask("tools/call", `"name":"write"`), `"error":{"code":-32602,`)
	if called.Tool != "" {
		t.Errorf("%s was called", called.Tool)
	}
	says(t, v.ask("tools/call", `"name":"read"`), `"result":`+done) // who knows the name may use it
}

// Each call that names a tool is on record, also one that no server would hear of.
func TestCallsOfMCPAreOnRecord(t *testing.T) {
	s := openSurface(t, func(o *hub.MCPOptions) {
		o.Search = func(durward.Caller, string, int) []hub.Listed { return nil }
	})
	s.work = func(context.Context, durward.Call, durward.Events) (durward.Result, error) { return finished() }
	v := s.visit("all").begin(`{}`)
	seen := 0
	for _, test := range []struct{ params, want string }{
		{`"arguments":{}`, ``}, // there is no tool yet
		{`"name":"read"`, `intent read, outcome read`},
		{`"name":"read","arguments":[]`, `deny read bad_call`},
		{`"name":"nothing","arguments":5`, `deny nothing tool_not_found`},
		{`"name":"find_tool","arguments":{"query":"x"}`, `intent find_tool, outcome find_tool`},
		{`"name":"find_tool","arguments":"x"`, `deny find_tool bad_call`},
		{`"name":"find_tool","arguments":{"query":5}`, `deny find_tool bad_call`},
		{`"name":"find_tool","arguments":{"query":"x","limit":0}`, `deny find_tool bad_call`},
		{`"name":"call_tool"`, `deny call_tool bad_call`},
		{`"name":"call_tool","arguments":{"name":"find_tool"}`, `deny call_tool bad_call`},
		{`"name":"call_tool","arguments":{"name":"read","arguments":5}`, `deny read bad_call`},
		{`"name":"call_tool","arguments":{"name":"read"}`, `intent read, outcome read`},
	} {
		v.ask("tools/call", test.params)
		all := recorded(t, &s.records)
		if got := strings.Join(all[seen:], ", "); got != test.want {
			t.Errorf("%s: %s, want %s", test.params, got, test.want)
		}
		seen = len(all)
	}
	s.records.Break()
	if answer := v.ask("tools/call", `"name":"find_tool","arguments":{"query":"x"}`); strings.Contains(answer, "result") {
		t.Errorf("what cannot be recorded is answered: %s", answer)
	}
}
