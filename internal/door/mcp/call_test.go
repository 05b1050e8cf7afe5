package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

func TestWhatACallBecomes(t *testing.T) {
	caller := durward.Caller{Name: "local:1000", Method: "process"}
	legacyClient := durward.Client{Name: "c", Version: "1"}
	trace, err := durward.ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, line string
		want       durward.Call
	}{
		{"fs.read", `{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"/w/a", "x":1.0}}`, durward.Call{
			Door: "mcp", Surface: "direct", Client: legacyClient, ClientID: "1", Caller: caller, Tool: "fs.read",
			Input: json.RawMessage(`{"path":"/w/a", "x":1.0}`), Path: "/w/a",
		}},
		{"fs.write without params", `{"jsonrpc":"2.0","id":"a\u0062","method":"fs.write"}`, durward.Call{
			Door: "mcp", Surface: "direct", Client: legacyClient, ClientID: `"ab"`, Caller: caller, Tool: "fs.write", Input: json.RawMessage(`{}`),
		}},
		{"a path of another type", `{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":["a"]}}`, durward.Call{
			Door: "mcp", Surface: "direct", Client: legacyClient, ClientID: "1", Caller: caller, Tool: "fs.read", Input: json.RawMessage(`{"path":["a"]}`),
		}},
		{"a notification", `{"jsonrpc":"2.0","method":"fs.write","params":{"path":"/w/a"}}`, durward.Call{
			Door: "mcp", Surface: "direct", Client: legacyClient, Caller: caller, Tool: "fs.write", Input: json.RawMessage(`{"path":"/w/a"}`), Path: "/w/a",
		}},
		{"cmd.run", `{"jsonrpc":"2.0","id":1,"method":"cmd.run","params":{"commandId":"git","args":["status","-s"],"cwd":"src","stdin":"in","env":{"A":"b"},"timeoutMs":500}}`, durward.Call{
			Door: "mcp", Surface: "direct", Client: legacyClient, ClientID: "1", Caller: caller, Tool: "cmd.run", CommandID: "git", Argv: []string{"git", "status", "-s"},
			Dir: "src", Stdin: []byte("in"), Env: map[string]string{"A": "b"}, Ask: durward.Ask{Limits: durward.Limits{Wall: 500 * time.Millisecond}},
		}},
		{"cmd.run that cannot be read", `{"jsonrpc":"2.0","id":1,"method":"cmd.run","params":{"commandId":"git","arg":[]}}`, durward.Call{
			Door: "mcp", Surface: "direct", Client: legacyClient, ClientID: "1", Caller: caller, Tool: "cmd.run", CommandID: "git", Input: json.RawMessage(`{"commandId":"git","arg":[]}`),
		}},
		{"tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs_read","arguments":{"path":"a"}}}`, durward.Call{
			Door: "mcp", Surface: "mcp", Client: legacyClient, ClientID: "1", Caller: caller, Tool: "fs.read", Input: json.RawMessage(`{"path":"a"}`), Path: "a",
		}},
		{"tools/call by the dotted name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cmd.run","arguments":{"commandId":"rg"},"task":{}}}`, durward.Call{
			Door: "mcp", Surface: "mcp", Client: legacyClient, ClientID: "1", Caller: caller, Tool: "cmd.run", CommandID: "rg", Argv: []string{"rg"}, Stdin: []byte{},
		}},
		{
			"tools/call in the modern era",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs_write","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
				`"io.modelcontextprotocol/clientInfo":{"name":"m","version":"2"},"traceparent":"` + trace.Traceparent() + `"}}}`,
			durward.Call{
				Door: "mcp", Surface: "mcp", Client: durward.Client{Name: "m", Version: "2"}, Trace: trace, ClientID: "1", Caller: caller, Tool: "fs.write", Input: json.RawMessage(`{}`),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls []durward.Call
			converse(t, options(double(func(ctx context.Context, c durward.Call) (durward.Result, error) {
				if c.Arrived.IsZero() {
					t.Error("it has not arrived")
				}
				c.Arrived = time.Time{}
				calls = append(calls, c)
				return echo(ctx, c)
			})), initialize+tt.line)
			if diff := cmp.Diff([]durward.Call{tt.want}, calls, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// call gives the answer to one call of a tool, directly and through tools/call.
func answers(t *testing.T, runtime double, tool, arguments string) (direct, asTool string) {
	t.Helper()
	direct = converse(t, options(runtime), `{"jsonrpc":"2.0","id":1,"method":"`+tool+`","params":`+arguments+`}`)
	asTool = behindHello(t, converse(t, options(runtime), initialize+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`))
	return direct, asTool
}

func gives(r durward.Result, err error) double {
	return func(context.Context, durward.Call) (durward.Result, error) { return r, err }
}

func exit(n int) *int { return &n }

func printed(s string, dropped int64) durward.Capture {
	return durward.Capture{Head: []byte(s), Total: int64(len(s)) + dropped}
}

func TestWhatASuccessLooksLike(t *testing.T) {
	const written = `{"bytesWritten":5, "sha256":"00"}`
	tests := []struct {
		name            string
		runtime         double
		tool, arguments string
		direct, asTool  string
	}{
		{"a text", echo, "fs.read", `{"path":"a"}`, readResult, `{"content":[{"type":"text","text":"hello\n"}],"structuredContent":` + readResult + `}`},
		{
			"base64", gives(durward.Result{Output: json.RawMessage(`{"data":"AA==","bytesRead":1}`)}, nil), "fs.read", `{"path":"a","encoding":"base64"}`,
			`{"data":"AA==","bytesRead":1}`, `{"content":[{"type":"text","text":"{\"data\":\"AA==\",\"bytesRead\":1}"}],"structuredContent":{"data":"AA==","bytesRead":1}}`,
		},
		{
			"what is written", gives(durward.Result{Output: json.RawMessage(written)}, nil), "fs.write", `{"path":"a","data":"hello"}`,
			`{"bytesWritten":5,"sha256":"00"}`, `{"content":[{"type":"text","text":"{\"bytesWritten\":5, \"sha256\":\"00\"}"}],"structuredContent":{"bytesWritten":5,"sha256":"00"}}`,
		},
		{
			"an exit status", gives(durward.Result{Exit: exit(3), Stdout: printed("<o>\n", 0), Stderr: printed("e", 0)}, nil), "cmd.run", `{"commandId":"rg"}`,
			`{"exitCode":3,"stdout":"<o>\n","stderr":"e","timedOut":false,"truncated":false}`,
			`{"content":[{"type":"text","text":"{\"exitCode\":3,\"stdout\":\"<o>\\n\",\"stderr\":\"e\",\"timedOut\":false,\"truncated\":false}"}],` +
				`"structuredContent":{"exitCode":3,"stdout":"<o>\n","stderr":"e","timedOut":false,"truncated":false}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			direct, asTool := answers(t, tt.runtime, tt.tool, tt.arguments)
			if want := result("1", tt.direct); direct != want {
				t.Errorf("directly: got  %swant %s", direct, want)
			}
			if want := result("1", tt.asTool); asTool != want {
				t.Errorf("as a tool: got  %swant %s", asTool, want)
			}
		})
	}
}

func TestWhatACommandCameTo(t *testing.T) {
	tests := []struct {
		name   string
		result durward.Result
		want   string
	}{
		{"a signal", durward.Result{Signal: 9}, `{"exitCode":137,"stdout":"","stderr":"","timedOut":false,"truncated":false}`},
		{"too much", durward.Result{Exit: exit(0), Stdout: printed("ab", 1)}, `{"exitCode":0,"stdout":"ab","stderr":"","timedOut":false,"truncated":true}`},
		{"a cut within a character", durward.Result{Exit: exit(0), Stderr: printed("aé\xe2\x82", 1)}, `{"exitCode":0,"stdout":"","stderr":"aé","timedOut":false,"truncated":true}`},
		{"no UTF-8", durward.Result{Exit: exit(0), Stdout: printed("a\xffb\xe2\x82", 0)}, `{"exitCode":0,"stdout":"a�b��","stderr":"","timedOut":false,"truncated":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			direct, _ := answers(t, gives(tt.result, nil), "cmd.run", `{"commandId":"rg"}`)
			if want := result("1", tt.want); direct != want {
				t.Errorf("got  %swant %s", direct, want)
			}
		})
	}
}

func TestWhatAFailureLooksLike(t *testing.T) {
	tests := []struct {
		name            string
		result          durward.Result
		err             error
		tool, arguments string
		code, message   string
		data            string // of the error, with a mark where the message goes
		structured      string
	}{
		{
			"a denied path",
			durward.Result{},
			&durward.Error{Reason: durward.OutsideRoot, Err: errors.New("/etc/shadow")}, "fs.read", `{"path":"~/../b"}`,
			"-31001", "the path is outside the allowed roots",
			`{"code":"POLICY_DENY","rule":"outsideAllowedRoots",@"method":"fs.read","path":"~/../b","policyHash":"sha256:00"}`, "",
		},
		{
			"a denied argument",
			durward.Result{},
			durward.Decision{Code: durward.EnvDenied, Reason: "SECRET", Detail: durward.Detail{ArgIndex: exit(0)}}.Err("decide"), "cmd.run", `{"commandId":"git","args":["SECRET"]}`,
			"-31001", "an environment variable is refused",
			`{"code":"POLICY_DENY","rule":"envNotAllowed",@"method":"cmd.run","commandId":"git","argIndex":0,"policyHash":"sha256:00"}`, "",
		},
		{
			"a directory",
			durward.Result{},
			&durward.Error{Reason: durward.DirDenied}, "cmd.run", `{"commandId":"git","cwd":"/"}`,
			"-31001", "the working directory is outside the root",
			`{"code":"POLICY_DENY","rule":"cwdOutsideRoots",@"method":"cmd.run","path":"/","commandId":"git","policyHash":"sha256:00"}`, "",
		},
		{
			"a file that is too large",
			durward.Result{},
			&durward.Error{Reason: durward.MaxFileBytes, Err: durward.Detail{Limit: 10, Actual: 11}}, "fs.write", `{"path":"a"}`,
			"-31001", "the file is over its size limit",
			`{"code":"POLICY_DENY","rule":"maxFileBytes",@"method":"fs.write","path":"a","limit":10,"actual":11,"policyHash":"sha256:00"}`, "",
		},
		{
			"what cannot be read",
			durward.Result{},
			nil, "cmd.run", `{"commandId":"git","timeoutMs":0}`,
			"-32602", "timeoutMs is not a whole number from 1",
			`{"code":"INVALID_ARGS","rule":"badTimeout",@"method":"cmd.run","commandId":"git","policyHash":"sha256:00"}`, "",
		},
		{
			"no file",
			durward.Result{},
			&durward.Error{Reason: durward.FileNotFound}, "fs.read", `{"path":"a"}`,
			"-31004", "no such file or directory",
			`{"code":"IO_ERROR","rule":"notFound",@"method":"fs.read","path":"a","policyHash":"sha256:00"}`, "",
		},
		{
			"no record",
			durward.Result{},
			&durward.Error{Reason: durward.AuditUnavailable}, "fs.read", `{}`,
			"-32603", "the audit record could not be written",
			`{"code":"INTERNAL","rule":"auditUnavailable",@"method":"fs.read","policyHash":"sha256:00"}`, "",
		},
		{
			"a bare error",
			durward.Result{},
			errors.New("goroutine 1"), "fs.read", `{}`,
			"-32603", "internal", `{"code":"INTERNAL",@"method":"fs.read","policyHash":"sha256:00"}`, "",
		},
		{
			"time is up",
			durward.Result{Signal: 15, Stdout: printed("o", 1), Took: 1},
			&durward.Error{Reason: durward.DeadlineExceeded}, "cmd.run", `{"commandId":"git","timeoutMs":500}`,
			"-31002", "the deadline passed",
			`{"code":"TIMEOUT","rule":"timeoutMs",@"method":"cmd.run","commandId":"git","timeoutMs":500,"timedOut":true,"stdout":"o","stderr":"","policyHash":"sha256:00"}`,
			`{"exitCode":-1,"stdout":"o","stderr":"","timedOut":true,"truncated":true}`,
		},
		{
			"time is up by the policy, in the queue",
			durward.Result{Took: 1},
			&durward.Error{Reason: durward.DeadlineExceeded, Op: "admit"}, "cmd.run", `{"commandId":"git","timeoutMs":9000}`,
			"-31002", "the deadline passed",
			`{"code":"TIMEOUT","rule":"concurrency",@"method":"cmd.run","commandId":"git","timeoutMs":5000,"timedOut":true,"stdout":"","stderr":"","policyHash":"sha256:00"}`,
			`{"exitCode":-1,"stdout":"","stderr":"","timedOut":true,"truncated":false}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			direct, asTool := answers(t, gives(tt.result, tt.err), tt.tool, tt.arguments)
			want := `{"jsonrpc":"2.0","id":1,"error":{"code":` + tt.code + `,"message":"` + tt.message + `","data":` + strings.Replace(tt.data, "@", "", 1) + "}}\n"
			if direct != want {
				t.Errorf("directly: got  %swant %s", direct, want)
			}
			want = result("1", `{"content":[{"type":"text","text":"`+textFor(t, tt.data, tt.message)+`"}],`+structuredFor(tt.structured)+
				`"isError":true,"_meta":{"mdmcp/error":`+strings.Replace(tt.data, "@", `"message":"`+tt.message+`",`, 1)+`}}`)
			if asTool != want {
				t.Errorf("as a tool: got  %swant %s", asTool, want)
			}
		})
	}
}

// textFor is what a model reads of an error.
func textFor(t *testing.T, data, message string) string {
	t.Helper()
	var f fault
	if err := json.Unmarshal([]byte(strings.Replace(data, "@", "", 1)), &f); err != nil {
		t.Fatal(err)
	}
	if f.Rule == "" {
		return string(f.Code) + ": " + message
	}
	return string(f.Code) + " (" + f.Rule + "): " + message
}

func structuredFor(text string) string {
	if text == "" {
		return ""
	}
	return `"structuredContent":` + text + `,`
}
