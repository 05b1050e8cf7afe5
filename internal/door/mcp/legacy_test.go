package mcp

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/mcpspec"
)

const serverSays = `"capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"durward","version":"1.2.3","title":"durward"},"instructions":"` + instructed + `"}`

const instructed = "Files are read and written, and commands run, under a policy. Commands: git, rg. POLICY_DENY is a decision and no fault: do something else, or ask the person to change the policy."

func TestInitialize(t *testing.T) {
	tests := []struct{ name, params, want string }{
		{"the newest", `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1","title":"C"}}`, "2025-11-25"},
		{"2025-06-18", `{"protocolVersion":"2025-06-18"}`, "2025-06-18"},
		{"2025-03-26", `{"protocolVersion":"2025-03-26"}`, "2025-03-26"},
		{"2024-11-05", `{"protocolVersion":"2024-11-05"}`, "2024-11-05"},
		{"one without a handshake", `{"protocolVersion":"2026-07-28"}`, "2025-11-25"},
		{"an unknown one", `{"protocolVersion":"3.0"}`, "2025-11-25"},
		{"an empty one", `{"protocolVersion":""}`, "2025-11-25"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := converse(t, options(nothing(t)), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+tt.params+`}`)
			if want := result("1", `{"protocolVersion":"`+tt.want+`",`+serverSays); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
	for params, message := range map[string]string{
		`{}`:                    "protocolVersion is missing or no string",
		`{"protocolVersion":1}`: "protocolVersion is missing or no string",
		`{"protocolVersion":"2025-11-25","clientInfo":"c"}`:             "clientInfo is not an object of a name and a version",
		`{"protocolVersion":"2025-11-25","clientInfo":{"name":1}}`:      "clientInfo is not an object of a name and a version",
		`{"protocolVersion":"2025-11-25","_meta":[]}`:                   "_meta is not an object",
		`{"protocolVersion":"2025-11-25","_meta":{"progressToken":{}}}`: "progressToken is neither a string nor an integer",
	} {
		got := converse(t, options(nothing(t)), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+params+`}`)
		if want := refusal("1", "-32602", message); got != want {
			t.Errorf("%s: got %s", params, got)
		}
	}
}

// What a client is told at the start follows what there is.
func TestWhatInitializeShows(t *testing.T) {
	o := options(nothing(t))
	o.Surface = func() Surface { return Surface{Resources: true} }
	got := converse(t, o, initialize)
	for _, part := range []string{`"resources":{}`, `No command is allowed.`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is missing in %s", part, got)
		}
	}
}

func TestWhatTheLegacyEraHas(t *testing.T) {
	const first = "initialize comes first, or the _meta of 2026-07-28"
	const noLevel = "level is not one of the eight levels"
	tests := []struct{ name, method, params, before, after string }{
		{"ping", "ping", `{}`, result("1", "{}"), result("1", "{}")},
		{"a level", "logging/setLevel", `{"level":"emergency"}`, refusal("1", "-32600", first), result("1", "{}")},
		{"a bad level", "logging/setLevel", `{"level":"trace"}`, refusal("1", "-32600", first), refusal("1", "-32602", noLevel)},
		{"no level", "logging/setLevel", `{}`, refusal("1", "-32600", first), refusal("1", "-32602", noLevel)},
		{"a cursor", "tools/list", `{"cursor":"x"}`, refusal("1", "-32600", first), refusal("1", "-32602", "the cursor is not known: there is one page")},
		{"an unknown tool", "tools/call", `{"name":"fs_list"}`, refusal("1", "-32600", first), refusal("1", "-32602", `unknown tool \"fs_list\"`)},
		{"an empty tool", "tools/call", `{"name":""}`, refusal("1", "-32600", first), refusal("1", "-32602", `unknown tool \"\"`)},
		{"no tool", "tools/call", `{}`, refusal("1", "-32600", first), refusal("1", "-32602", "name is missing or no string")},
		{"a list of arguments", "tools/call", `{"name":"fs_read","arguments":[]}`, refusal("1", "-32600", first), refusal("1", "-32602", "arguments is not an object")},
		{"a broken token", "tools/call", `{"name":"fs_read","_meta":{"progressToken":1.5}}`, refusal("1", "-32602", "progressToken is neither a string nor an integer"), refusal("1", "-32602", "progressToken is neither a string nor an integer")},
		{"resources that are off", "resources/list", `{}`, refusal("1", "-32601", "unknown method"), refusal("1", "-32601", "unknown method")},
		{"resources/subscribe", "resources/subscribe", `{"uri":"x"}`, refusal("1", "-32601", "unknown method"), refusal("1", "-32601", "unknown method")},
		{"server/discover", "server/discover", `{}`, refusal("1", "-32602", "io.modelcontextprotocol/protocolVersion is missing"), refusal("1", "-32602", "io.modelcontextprotocol/protocolVersion is missing")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := `{"jsonrpc":"2.0","id":1,"method":"` + tt.method + `","params":` + tt.params + `}`
			if got := converse(t, options(nothing(t)), line); got != tt.before {
				t.Errorf("before initialize: got  %swant %s", got, tt.before)
			}
			if got := behindHello(t, converse(t, options(nothing(t)), initialize+line)); got != tt.after {
				t.Errorf("after initialize: got  %swant %s", got, tt.after)
			}
		})
	}
}

// There is one handshake on a stream: what it agreed on stays, and so do batches.
func TestASecondInitialize(t *testing.T) {
	again := strings.Replace(batchHello, `"id":0`, `"id":1`, 1)
	other := strings.Replace(initialize, `"id":0`, `"id":1`, 1)
	batch := "[" + ping + "]\n"
	pong := "[" + strings.TrimSpace(result("1", "{}")) + "]\n"
	refused := func(version string) string {
		return refusal("1", "-32600", "initialize was answered before: "+version+" holds")
	}
	tests := []struct{ name, first, second, want string }{
		{"batches stay", batchHello, other, refused(mcpspec.Batches) + pong},
		{"batches do not come", initialize, again, refused("2025-11-25") + refusal("null", "-32600", "a batch is not accepted")},
		{"the same once more", batchHello, again, refused(mcpspec.Batches) + pong},
	}
	for _, tt := range tests {
		if got := behindHello(t, converse(t, options(nothing(t)), tt.first+tt.second+batch)); got != tt.want {
			t.Errorf("%s: got  %swant %s", tt.name, got, tt.want)
		}
	}
	// One that was refused has agreed on nothing.
	bad := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n"
	got := converse(t, options(nothing(t)), bad+batchHello+batch)
	if !strings.Contains(got, `"protocolVersion":"2025-03-26"`) || !strings.HasSuffix(got, pong) {
		t.Errorf("after a refused one: %s", got)
	}
}
