package mcp

import (
	"strings"
	"testing"
)

func modernCall(method, members string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members + modernMeta + `}}` + "\n"
}

func TestWhatTheModernEraHas(t *testing.T) {
	const versions = `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`
	discovered := result("1", `{"resultType":"complete","supportedVersions":`+versions+`,"capabilities":{"tools":{"listChanged":true},"logging":{}},`+
		`"instructions":"`+instructed+`","ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"durward","version":"1.2.3","title":"durward"}}}`)
	tests := []struct{ name, line, want string }{
		{"server/discover", modernCall("server/discover", ""), discovered},
		{"a call", modernCall("tools/call", `"name":"fs_read",`), result("1", `{"resultType":"complete","content":[{"type":"text","text":"hello\n"}],"structuredContent":`+readResult+`}`)},
		{
			"a call that is refused", modernCall("tools/call", `"name":"cmd_run","arguments":{},`),
			result("1", `{"resultType":"complete","content":[{"type":"text","text":"INVALID_ARGS (missingField): commandId is missing"}],"isError":true,`+
				`"_meta":{"mdmcp/error":{"code":"INVALID_ARGS","rule":"missingField","message":"commandId is missing","method":"cmd.run","policyHash":"sha256:00"}}}`),
		},
		{"an unknown tool", modernCall("tools/call", `"name":"x",`), refusal("1", "-32602", `unknown tool \"x\"`)},
		{"ping", modernCall("ping", ""), refusal("1", "-32601", "unknown method")},
		{"a handshake", modernCall("initialize", `"protocolVersion":"2025-03-26",`), refusal("1", "-32601", "unknown method")},
		{"logging/setLevel", modernCall("logging/setLevel", `"level":"info",`), refusal("1", "-32601", "unknown method")},
		{"resources/subscribe", modernCall("resources/subscribe", `"uri":"x",`), refusal("1", "-32601", "unknown method")},
		{"an unknown method", modernCall("x", ""), refusal("1", "-32601", "unknown method")},
		{"a subscription to nothing said", modernCall("subscriptions/listen", ""), refusal("1", "-32602", "notifications is not an object of what to listen to")},
		{"a subscription to a number", modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":1},`), refusal("1", "-32602", "notifications is not an object of what to listen to")},
		{
			"no version", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			refusal("1", "-32602", "io.modelcontextprotocol/protocolVersion is missing"),
		},
		{
			"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			refusal("1", "-32602", "io.modelcontextprotocol/clientCapabilities is missing"),
		},
		{
			"a number for version", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}`,
			refusal("1", "-32602", "io.modelcontextprotocol/protocolVersion is not a string"),
		},
		{
			"a list of capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}}}`,
			refusal("1", "-32602", "io.modelcontextprotocol/clientCapabilities is not an object"),
		},
		{
			"a bad level", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/logLevel":"loud"}}}`,
			refusal("1", "-32602", "logLevel is not one of the eight levels"),
		},
		{
			"another version", strings.Replace(modernCall("tools/list", ""), "2026-07-28", "2027-01-01", 1),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the protocol version is not supported","data":{"supported":` + versions + `,"requested":"2027-01-01"}}}` + "\n",
		},
		{
			"a version with a handshake", strings.Replace(modernCall("server/discover", ""), "2026-07-28", "2025-11-25", 1),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the protocol version is not supported","data":{"supported":` + versions + `,"requested":"2025-11-25"}}}` + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := converse(t, options(double(echo)), tt.line); got != tt.want {
				t.Errorf("got  %swant %s", got, tt.want)
			}
			if got := behindHello(t, converse(t, options(double(echo)), initialize+tt.line)); got != tt.want {
				t.Errorf("on a stream of both eras: got  %swant %s", got, tt.want)
			}
		})
	}
}
