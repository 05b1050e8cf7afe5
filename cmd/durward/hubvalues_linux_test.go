//go:build abuse && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// odd are members of which a program that reads and writes JSON anew loses something.
const odd = `"z":1.0,"big":12345678901234567890,"a":-0.0,"e":1E400,"small":1e-7,"null":null,"nul":"\u0000a\u0000","pair":"\ud83d\ude00 \u00e9 é","slash":"\/","":{"b":1,"a":2}`

func deep(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// What a server answers reaches callers as it is, to the byte, whichever way they came.
func TestHubPassesResultsOnAsTheyAre(t *testing.T) {
	h := keepHub(t, map[string]string{"a": livingServer})
	h.runs("a")
	d := h.talk(t)
	session := h.session("2025-06-18")
	long := strings.Repeat("0123456789abcdef", 5<<20/16)
	text := `{"type":"text","text":"\u0000 \ud83d\ude00 ` + long + `"}`
	structured := `{` + odd + `,"deep":` + deep(500) + `,"long":"` + long[:1<<20] + `"}`
	for name, test := range map[string]struct{ result, output string }{
		"structured":     {`{"zeta":[1.0],"structuredContent":` + structured + `,"content":[],"_meta":{"x/y":1.0},"isError":false,"other":{"b":1.50,"a":[]}}`, structured},
		"text":           {`{"content":[` + text + `]}`, text[len(`{"type":"text","text":`) : len(text)-1]},
		"unknown blocks": {`{"content":[{"type":"hologram",` + odd + `},{"text":"","type":"text","more":1.0}],"resultType":"complete"}`, `[{"type":"hologram",` + odd + `},{"text":"","type":"text","more":1.0}]`},
	} {
		t.Run(name, func(t *testing.T) {
			h.write("result.json", test.result)
			arguments := `{"tool":"file","path":"` + h.path("result.json") + `"}`
			same(t, "/execute", h.execute("any", arguments).body, `{"status":"success","output":`+test.output+`,"error":null,"execution_time_ms":…}`+"\n")
			same(t, "a session", h.mcp(toolCall(1, "any", arguments), session...).body, `{"jsonrpc":"2.0","id":1,"result":`+test.result+"}\n")
			added := ""
			if !strings.Contains(test.result, "resultType") {
				added = `"resultType":"complete",`
			}
			if !strings.Contains(test.result, "_meta") {
				added += `"_meta":{"io.modelcontextprotocol/serverInfo":…},`
			}
			body, headers := newerCall(2, "any", arguments)
			same(t, "without a session", h.mcp(body, headers...).body, `{"jsonrpc":"2.0","id":2,"result":{`+added+test.result[1:]+"}\n")
			same(t, "on standard output", d.answer(toolCall(3, "any", arguments)), `{"jsonrpc":"2.0","id":3,"result":`+test.result+"}")
		})
	}
	d.ends()
}

// What callers send reaches a server as it is; so does the error of a server its caller.
func TestHubPassesArgumentsOnAsTheyAre(t *testing.T) {
	h := keepHub(t, map[string]string{"a": livingServer})
	h.runs("a")
	d := h.talk(t)
	session := h.session("2025-06-18")
	arguments := `{` + odd + `,"deep":` + deep(90) + `,"long":"` + strings.Repeat("0123456789abcdef", 1<<20/16) + `"}`
	result := `{"content":[],"structuredContent":` + arguments + `}`
	broken := strings.ReplaceAll(arguments, `,"`, ",\n\t \"")
	same(t, "/execute", h.execute("echo", broken).body, `{"status":"success","output":`+arguments+`,"error":null,"execution_time_ms":…}`+"\n")
	same(t, "a session", h.mcp(toolCall(1, "echo", broken), session...).body, `{"jsonrpc":"2.0","id":1,"result":`+result+"}\n")
	body, headers := newerCall(2, "echo", broken)
	same(t, "without a session", h.mcp(body, headers...).body, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":…},`+result[1:]+"}\n")
	same(t, "on standard input", d.answer(toolCall(3, "echo", arguments)), `{"jsonrpc":"2.0","id":3,"result":`+result+"}")

	fails := `{"tool":"error","code":-32099,"text":"no such thing"}`
	const said = `"error":{"code":-32099,"message":"no such thing","data":{"n":12345678901234567890}}}`
	same(t, "an error in a session", h.mcp(toolCall(4, "any", fails), session...).body, `{"jsonrpc":"2.0","id":4,`+said+"\n")
	same(t, "an error on standard output", d.answer(toolCall(5, "any", fails)), `{"jsonrpc":"2.0","id":5,`+said)
	same(t, "an error by /execute", h.execute("any", fails).body, `{"status":"error","output":null,"error":"no such thing","error_code":-32099,"execution_time_ms":…}`+"\n")
	d.ends()
}

// same compares texts; … stands for anything.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	rest := got
	for i, part := range strings.Split(want, "…") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			t.Errorf("%s: there is no %.300s in %.300s", what, part, rest)
			return
		}
		rest = rest[at+len(part):]
	}
	if rest != "" {
		t.Errorf("%s: there is more: %.300s", what, rest)
	}
}

// talk starts another hub of the house, on standard input and output.
func (h livingHub) talk(t *testing.T) *talk {
	t.Helper()
	d := talkWith(t, []string{"durward", "hub", "--stdio", "--config", h.path("servers.json"), "--sandbox-dir", h.path("work")}, func(c *exec.Cmd) {
		c.Dir, c.Env = h.dir, append(h.cmd.Env, "LOG_LEVEL=WARNING")
	})
	d.out.Buffer(nil, 64<<20)
	d.sends([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	d.gets([]byte(`{"jsonrpc":"2.0","id":0,"result":"…"}`))
	return d
}

// answer gives the line that answers a request.
func (d *talk) answer(request string) string {
	d.t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(request)); err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.in.Write(append(line.Bytes(), '\n')); err != nil {
		d.t.Fatalf("%v: %s", err, d.noted)
	}
	if !d.out.Scan() {
		d.t.Fatalf("nothing is answered, %v; it says\n%s", d.out.Err(), d.noted)
	}
	return d.out.Text()
}
