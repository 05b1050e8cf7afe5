//go:build linux && (amd64 || arm64)

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/toolcall"
)

// TestMCPIsADoor takes the calls that all doors take through the runtime under a policy, and
// through both surfaces of durward mcp: the records are the same.
func TestMCPIsADoor(t *testing.T) {
	denied := func(c durward.Call) durward.Call {
		c.Env = map[string]string{"SECRET": "x"}
		return c
	}
	cases := coretest.StandardCases(t, toolcall.CommandRun, denied)
	for i := range cases {
		c := &cases[i].Call
		c.CommandID = "sh"
		c.Argv = append([]string{"sh"}, c.Argv[1:]...)
	}
	env := home(t)
	policy := filepath.Join(env["HOME"], "policy.yaml")
	text := fmt.Sprintf(`version: 1
allowedRoots: [%q]
sandbox: {mode: danger-full-access, limits: {graceMs: 500}}
commands: [{id: sh, exec: /bin/sh, args: {any: true, allowMetacharacters: true, pathScope: none}}]
`, cases[0].Call.Dir)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	coretest.SameCall(t, cases, []coretest.Door{mcpCore(env, policy), mcpDoor(env, policy, directly), mcpDoor(env, policy, asTool)})
}

// mcpCore enters the core that stands behind durward mcp.
func mcpCore(env map[string]string, policy string) coretest.Door {
	return coretest.Door{Name: "core", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		emptyLog(t, env)
		p, _, _ := start(t, env, env["HOME"], nil)
		x := &mcpServing{program: p, file: policy}
		loaded, err := x.load()
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.openServed(loaded, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c.Call.Door, c.Call.Caller, c.Call.Ask.Limits.Wall = "core", durward.Caller{Name: "test"}, c.Within
		_, house, leave := s.enter()
		_, _ = house.Do(ctx, c.Call) // the records tell
		leave()
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		return recordsOf(t, env)
	}}
}

// mcpDoor enters by a line on standard input. Who goes away cancels the request.
func mcpDoor(env map[string]string, policy string, request func(params map[string]any) string) coretest.Door {
	return coretest.Door{Name: "mcp", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		emptyLog(t, env)
		params := map[string]any{"commandId": c.Call.CommandID, "args": c.Call.Argv[1:], "cwd": c.Call.Dir}
		if c.Call.Env != nil {
			params["env"] = c.Call.Env
		}
		if c.Within > 0 {
			params["timeoutMs"] = c.Within.Milliseconds()
		}
		in, client := io.Pipe()
		go func() {
			_, _ = io.WriteString(client, request(params)) // the records tell
			if c.GoesAway {
				<-ctx.Done()
				_, _ = io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
			}
			client.Close()
		}()
		p, _, complaints := start(t, env, env["HOME"], in)
		defer p.stderr.finish()
		if status := p.main(context.WithoutCancel(ctx), []string{"durward", "mcp", "--config", policy, "--log-level", "error"}); status != 0 {
			t.Errorf("it ended with %d: %s", status, complaints)
		}
		return recordsOf(t, env)
	}}
}

func directly(params map[string]any) string { return line("cmd.run", params) }

func asTool(params map[string]any) string {
	modern := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	return line("tools/call", map[string]any{"name": "cmd_run", "arguments": maps.Clone(params), "_meta": modern})
}

func line(method string, params map[string]any) string {
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	return string(text) + "\n"
}

// TestCommandsKeepTheirOrderWhenThePolicyIsReadAnew has one command run while the policy is read
// anew; those behind it still wait for the one slot.
func TestCommandsKeepTheirOrderWhenThePolicyIsReadAnew(t *testing.T) {
	env := home(t)
	dir := t.TempDir()
	policy, gate := filepath.Join(env["HOME"], "policy.yaml"), filepath.Join(dir, "gate")
	write(t, policy, fmt.Sprintf(`version: 1
allowedRoots: [%q]
sandbox: {mode: danger-full-access}
limits: {maxCmdConcurrency: 1}
commands:
- {id: hold, exec: /bin/sh, args: {fixed: ["-c", "cat gate && echo 0 >>order"]}}
- {id: add, exec: /bin/sh, args: {fixed: ["-c", 'echo "$0" >>order'], patterns: [{type: regex, value: '[0-9]+'}]}}
`, dir))
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	in, lines := io.Pipe()
	p, _, _ := start(t, env, env["HOME"], in)
	said := &diary{changed: make(chan struct{}, 1)}
	p.stderr = newOutlet(said)
	defer p.stderr.finish()
	ended := make(chan int, 1)
	go func() { ended <- p.main(t.Context(), []string{"durward", "mcp", "--config", policy, "--reload"}) }()
	send := func(format string, args ...any) {
		if _, err := fmt.Fprintf(lines, format+"\n", args...); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"jsonrpc":"2.0","id":0,"method":"cmd.run","params":{"commandId":"hold"}}`)
	opened, err := os.OpenFile(gate, os.O_WRONLY, 0) // once the command reads
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		said.await(t, i+1, "read anew")
		send(`{"jsonrpc":"2.0","id":%d,"method":"cmd.run","params":{"commandId":"add","args":["%[1]d"]}}`, i+1)
		send(`{"jsonrpc":"2.0","id":"x","method":"fs.read","params":{"path":%q}}`, filepath.Join(dir, "none"))
		said.await(t, i+1, "tool=fs.read")
	}
	opened.Close()
	lines.Close()
	if status := <-ended; status != 0 {
		t.Errorf("it ended with %d: %s", status, &said.text)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "order")); err != nil || string(got) != "0\n1\n2\n3\n" {
		t.Errorf("they ran in this order: %q, %v", got, err)
	}
}

// TestCommandsRunInTheOrderOfLines sends commands at once that wait for one slot.
func TestCommandsRunInTheOrderOfLines(t *testing.T) {
	const rounds, commands = 8, 24
	env := home(t)
	dir := t.TempDir()
	policy := filepath.Join(env["HOME"], "policy.yaml")
	text := fmt.Sprintf(`version: 1
allowedRoots: [%q]
sandbox: {mode: danger-full-access}
limits: {maxCmdConcurrency: 1}
commands: [{id: add, exec: /bin/sh, args: {fixed: ["-c", 'echo "$0" >>order'], patterns: [{type: regex, value: '[0-9]+'}]}}]
`, dir)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines, want strings.Builder
	for i := range commands {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"cmd.run","params":{"commandId":"add","args":["%d"]}}`+"\n", i, i)
		fmt.Fprintln(&want, i)
	}
	for range rounds {
		p, _, complaints := start(t, env, env["HOME"], strings.NewReader(lines.String()))
		if status := p.main(t.Context(), []string{"durward", "mcp", "--config", policy, "--log-level", "error"}); status != 0 {
			t.Errorf("it ended with %d: %s", status, complaints)
		}
		p.stderr.finish()
		order := filepath.Join(dir, "order")
		if got, err := os.ReadFile(order); err != nil || string(got) != want.String() {
			t.Fatalf("they ran in this order: %q, %v", got, err)
		}
		if err := os.Remove(order); err != nil {
			t.Fatal(err)
		}
	}
}
