package mcpserve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/durward/durward/internal/mcpserve"
)

// says compares an answer; body is a part of it.
func (a answer) says(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, body) {
		t.Errorf("%d %s, want %d … %s", a.status, a.body, status, body)
	}
}

func TestPanicIsAnsweredAndTakesNothingWithIt(t *testing.T) {
	s := serve(t, func(context.Context, *mcpserve.Request) (json.RawMessage, error) { panic("a secret") })
	session := s.begin(`{}`)
	s.post(list, session).says(t, 200, `"id":"a","error":{"code":-32603,"message":"the request failed"}`)
	s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, session).says(t, 200, `{}`)
}

const list = `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}`

func TestRefusedBeforeAnythingIsRead(t *testing.T) {
	s := serve(t, nil)
	session := s.begin(`{}`)
	for name, tt := range map[string]struct {
		method, body string
		headers      []string
		status       int
		says         string
	}{
		"accepts no events":     {"POST", list, []string{"Accept: application/json", session}, 406, "Accept has to name"},
		"accepts no JSON":       {"POST", list, []string{"Accept: text/event-stream", session}, 406, "Accept has to name"},
		"accepts nothing":       {"POST", list, []string{"Accept: ", session}, 406, "Accept has to name"},
		"says no type":          {"POST", list, []string{"Content-Type: ", session}, 415, "error"},
		"sends text":            {"POST", list, []string{"Content-Type: text/plain", session}, 415, "error"},
		"too large":             {"POST", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"` + strings.Repeat("x", 4<<20) + `"}}`, []string{session}, 413, "error"},
		"no JSON":               {"POST", `{"jsonrpc"`, []string{session}, 400, "-32700"},
		"a name twice":          {"POST", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, []string{session}, 400, "-32700"},
		"no message":            {"POST", `{"id":1,"method":"ping"}`, []string{session}, 400, "-32600"},
		"no session":            {"POST", list, nil, 400, "initialize comes first"},
		"unknown session":       {"POST", list, []string{"Mcp-Session-Id: nobody"}, 404, "begin a new one"},
		"unknown version":       {"POST", list, []string{session, "MCP-Protocol-Version: 1999-01-01"}, 400, "-32602"},
		"batch of another time": {"POST", "[" + list + "]", []string{session}, 400, "a batch is not accepted in 2025-11-25"},
		"GET without events":    {"GET", "", []string{session, "Accept: application/json"}, 406, "Accept has to name"},
		"GET without session":   {"GET", "", nil, 400, "initialize comes first"},
		"GET of the newer era":  {"GET", "", []string{"MCP-Protocol-Version: 2026-07-28"}, 405, "error"},
		"PUT":                   {"PUT", "", nil, 405, "error"},
		"DELETE of nobody's":    {"DELETE", "", []string{"Mcp-Session-Id: nobody"}, 404, "error"},
	} {
		t.Run(name, func(t *testing.T) { s.send(tt.method, tt.body, tt.headers...).says(t, tt.status, tt.says) })
	}
	s.post(list, session, "Accept: TEXT/*;q=0.9, application/json").says(t, 200, `{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}`)
	s.post(list, session, "Accept: */*").says(t, 200, `"id":"a"`)
}

func TestSession(t *testing.T) {
	s := serve(t, nil)
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		session := s.beginAs(version, `{}`)
		s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session).says(t, 202, "")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, session, "MCP-Protocol-Version: "+version).says(t, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, session).says(t, 400, "answered before")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"nonsense"}`, session).says(t, 200, "-32601")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"break"}`, session).says(t, 200, "the request failed")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, session).says(t, 200, "-32601")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, session).says(t, 200, "-32602")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, session).says(t, 200, `"result":{}`)
		s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, session).says(t, 200, `"result":{"content":[],"big":12345678901234567890,"one":1.0}}`)
		s.send(http.MethodDelete, "", session).says(t, 204, "")
		s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, session).says(t, 404, "begin a new one")
	}
}

func TestHelloThatIsRefused(t *testing.T) {
	s := serve(t, nil)
	for _, params := range []string{
		`{}`, `{"protocolVersion":1}`, `{"protocolVersion":"2025-11-25","clientInfo":1}`, `{"protocolVersion":"2025-11-25","capabilities":[]}`,
	} {
		a := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`)
		a.says(t, 200, "-32602")
		if a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s begins a session", params)
		}
	}
	a := s.post(hello("2031-01-01", `{}`))
	a.says(t, 200, `"protocolVersion":"2025-11-25","capabilities":`+offered+`,"serverInfo":{"name":"subject","version":"1"}`)
}

func TestNewerEra(t *testing.T) {
	s := serve(t, nil)
	body, headers := modern(`7`, "server/discover", "")
	s.post(body, headers...).says(t, 200, `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":`+
		offered+`,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"subject","version":"1"}}}}`)
	body, headers = modern(`"x"`, "tools/list", "")
	s.post(body, headers...).says(t, 200, `{"jsonrpc":"2.0","id":"x","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"subject","version":"1"}},"tools":[]}}`)
	body, headers = modern(`1`, "tools/call", `"name":"t"`, "Mcp-Name: t")
	s.post(body, headers...).says(t, 200, `"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"subject","version":"1"}},"content":[],"big":12345678901234567890,"one":1.0}}`)
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "MCP-Protocol-Version: 2026-07-28").says(t, 202, "")
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "nonsense"} {
		body, headers := modern(`1`, method, "")
		s.post(body, headers...).says(t, 404, `"id":1,"error":{"code":-32601`)
	}
}

func TestNewerEraIsHeldToItsHeaders(t *testing.T) {
	s := serve(t, nil)
	call, headers := modern(`1`, "tools/call", `"name":"t"`, "Mcp-Name: t")
	meta := func(text string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + text + `}}}`
	}
	const version, capable = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
	for name, tt := range map[string]struct {
		body    string
		headers []string
		says    string
	}{
		"no version header":    {call, []string{"MCP-Protocol-Version: "}, "-32020"},
		"another version":      {call, []string{"MCP-Protocol-Version: 2025-11-25"}, "-32020"},
		"no method header":     {call, []string{"Mcp-Method: "}, "-32020"},
		"another method":       {call, []string{"Mcp-Method: Tools/call"}, "-32020"},
		"no name header":       {call, []string{"Mcp-Name: "}, "-32020"},
		"another name":         {call, []string{"Mcp-Name: u"}, "-32020"},
		"two names":            {call, []string{"Mcp-Name: t", "+Mcp-Name: u"}, "-32020"},
		"two methods":          {call, []string{"+Mcp-Method: tools/list"}, "-32020"},
		"broken base64":        {call, []string{"Mcp-Name: =?base64?d!?="}, "-32020"},
		"no meta":              {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, nil, "-32602"},
		"no params":            {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, "-32602"},
		"no version":           {meta(capable), nil, "-32602"},
		"no capabilities":      {meta(version), nil, "-32602"},
		"capabilities no":      {meta(version + `,"io.modelcontextprotocol/clientCapabilities":1`), nil, "-32602"},
		"unknown version":      {meta(capable + `,"io.modelcontextprotocol/protocolVersion":"v9"`), []string{"MCP-Protocol-Version: v9"}, `-32022,"message":"the protocol version is not supported","data":{"supported":["2026-07-28"`},
		"unknown in the body":  {meta(capable + `,"io.modelcontextprotocol/protocolVersion":"v9"`), nil, "-32020"},
		"answers of no object": {strings.Replace(call, `"name"`, `"inputResponses":null,"name"`, 1), nil, "-32602"},
		"answers of a number":  {strings.Replace(call, `"name"`, `"inputResponses":{"a":1},"name"`, 1), nil, "-32602"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.post(tt.body, append(headers, tt.headers...)...)
			status := 400
			if strings.HasPrefix(name, "answers") {
				status = 200
			}
			a.says(t, status, tt.says)
			a.says(t, status, `"id":1`)
		})
	}
	s.post(call, append(headers, "Mcp-Name: =?base64?dA==?=")...).says(t, 200, `"result"`)
}
