package mcp

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

const readResult = `{"data":"hello\n","bytesRead":6,"sha256":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}`

func TestWhatALineIsAnswered(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"a direct method", `{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"/w/a"}}`, result("1", readResult)},
		{"without params", `{"jsonrpc":"2.0","id":1,"method":"fs.read"}`, result("1", readResult)},
		{"a string for id", `{"jsonrpc":"2.0","id":"<1>","method":"ping"}`, result(`"<1>"`, "{}")},
		{"white space", " \t{ \"jsonrpc\" : \"2.0\", \"id\":1, \"method\" : \"ping\" } \r", result("1", "{}")},
		{"ping before initialize", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`, result("1", "{}")},

		{"not JSON", `{"jsonrpc":"2.0","id":1`, refusal("null", "-32700", "not JSON: 1:24: the text ends where ',' or '}' should be")},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", refusal("null", "-32700", "not JSON: 1:35: a string that is not UTF-8")},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"a","path":"b"}}`, refusal("null", "-32700", `not JSON: 1:65: the member \"path\" stands twice in one object`)},
		{"a string", `"ping"`, refusal("null", "-32600", "a message is an object")},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, refusal("1", "-32600", `jsonrpc is not \"2.0\"`)},
		{"no method", `{"jsonrpc":"2.0","id":"a"}`, refusal(`"a"`, "-32600", "method is missing or no string")},
		{"no method and no id", `{"jsonrpc":"2.0"}`, refusal("null", "-32600", "method is missing or no string")},
		{"null for id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, refusal("null", "-32600", "id is neither a string nor an integer")},
		{"a fraction for id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, refusal("null", "-32600", "id is neither a string nor an integer")},
		{"an object for id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, refusal("null", "-32600", "id is neither a string nor an integer")},
		{"an empty array", `[]`, refusal("null", "-32600", "a batch is not accepted")},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, refusal("null", "-32600", "a batch is not accepted")},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, refusal("1", "-32601", "unknown method")},
		{"a method by its other name", `{"jsonrpc":"2.0","id":1,"method":"fs_read"}`, refusal("1", "-32601", "unknown method")},
		{"an array for params", `{"jsonrpc":"2.0","id":1,"method":"fs.read","params":[]}`, refusal("1", "-32602", "params is not an object")},
		{"null for params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, refusal("1", "-32602", "params is not an object")},

		{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`, ""},
		{"a notification", `{"jsonrpc":"2.0","method":"ping"}`, ""},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"what","params":[]}`, ""},
		{"a broken cancellation", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`, ""},
		{"a cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, ""},
		{"a direct notification", `{"jsonrpc":"2.0","method":"fs.read","params":{"path":"/w/a"}}`, ""},
		{"a direct notification with an array", `{"jsonrpc":"2.0","method":"fs.read","params":[]}`, ""},
		{"blank lines", "\n\r\n  ", ""},
		{"a long line", strings.Repeat(" ", jsonrpc.MaxLineBytes+1), refusal("null", "-32600", "the line is too long")},
	}
	const after = `{"jsonrpc":"2.0","id":"after","method":"ping"}`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := converse(t, options(double(echo)), tt.line); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			both := converse(t, options(double(echo)), tt.line+"\n"+after+"\n")
			if want := result(`"after"`, "{}"); !strings.Contains(both, want) || len(both) != len(tt.want)+len(want) {
				t.Errorf("got  %s\nwant %s", both, tt.want+want)
			}
		})
	}
}

func TestWhatABatchIsAnswered(t *testing.T) {
	const broken = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is an object"}}`
	tests := []struct{ name, line, want string }{
		{"one", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":1,"result":{}}]` + "\n"},
		{
			"in order", `[{"jsonrpc":"2.0","id":1,"method":"fs.read"},1,{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":` + readResult + `},` + broken + `,{"jsonrpc":"2.0","id":2,"result":{}}]` + "\n",
		},
		{"an id twice", `[{"jsonrpc":"2.0","id":1,"method":"fs.read"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `[{"jsonrpc":"2.0","id":1,"result":` + readResult + `},{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the id is in use"}}]` + "\n"},
		{"notifications", `[{"jsonrpc":"2.0","method":"x"}]`, ""},
		{"none", `[]`, refusal("null", "-32600", "a batch holds at least one message")},
		{"cancelled within", `[{"jsonrpc":"2.0","id":1,"method":"fs.read"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]`, ""},
		{"initialize", `[` + strings.TrimSpace(initialize) + `]`, `[{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"initialize cannot stand in a batch"}}]` + "\n"},
		{
			"subscriptions/listen", `[{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}}]`,
			`[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"subscriptions/listen cannot stand in a batch"}}]` + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := behindHello(t, converse(t, options(double(echo)), batchHello+tt.line)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			other := strings.Replace(batchHello, mcpspec.Batches, "2025-06-18", 1)
			want := refusal("null", "-32600", "a batch is not accepted")
			if got := behindHello(t, converse(t, options(nothing(t)), other+tt.line)); got != want {
				t.Errorf("under another revision: %s", got)
			}
		})
	}
}
