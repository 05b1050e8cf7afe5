//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// libraryClients are the libraries that clients are made of, each behind a program that
// does what it is told. A server is a command line, or a URL.
func libraryClients(t *testing.T, packages npmPackages) []clientKind {
	t.Helper()
	gotalk := filepath.Join(t.TempDir(), "gotalk")
	command(t, []string{"CGO_ENABLED=0"}, "go", "build", "-C", "testdata/gotalk", "-o", gotalk, ".")
	golang := func(version string) func(*testing.T, estate, []string) mcpClient {
		return func(t *testing.T, e estate, server []string) mcpClient {
			t.Helper()
			c := exec.Command(gotalk, append([]string{version}, server...)...)
			c.Dir, c.Env = e.dir, e.environment()
			return converse(t, c)
		}
	}
	typescript := func(version, era string) func(*testing.T, estate, []string) mcpClient {
		return func(t *testing.T, e estate, server []string) mcpClient {
			t.Helper()
			script, err := filepath.Abs("testdata/clients/talk.mjs")
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(packages.node(), append([]string{script, version, era}, server...)...)
			c.Dir, c.Env = string(packages), e.environment()
			return converse(t, c)
		}
	}
	speaker := installPython(t)
	python := func(era string) func(*testing.T, estate, []string) mcpClient {
		return func(t *testing.T, e estate, server []string) mcpClient {
			t.Helper()
			c := exec.Command(speaker, append([]string{"testdata/servers/talk.py", era}, server...)...)
			c.Env = e.environment()
			return converse(t, c)
		}
	}
	return []clientKind{
		{"typescript 1", false, typescript("v1", "legacy")},
		{"typescript 2 legacy", false, typescript("v2", "legacy")},
		{"typescript 2 modern", true, typescript("v2", "modern")},
		{"typescript 2 auto", true, typescript("v2", "auto")},
		{"go legacy", false, golang("2025-11-25")},
		{"go modern", true, golang("2026-07-28")},
		{"python legacy", false, python("legacy")},
		{"python auto", true, python("auto")},
	}
}

// A conversation is a client that goes on until it is closed.
type conversation struct {
	program *exec.Cmd
	say     io.WriteCloser
	said    <-chan event // closed when there will be no more
	log     *log
}

// An event is one thing that a client tells of.
type event struct {
	Open     bool
	Progress float64
	Result   json.RawMessage
	Error    string
}

// converse starts a client, which opens its server.
func converse(t *testing.T, program *exec.Cmd) *conversation {
	t.Helper()
	say, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	listen, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan event, 100)
	c := &conversation{program, say, said, &log{more: make(chan struct{}, 1)}}
	program.Stderr = c.log
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(said)
		lines := json.NewDecoder(listen)
		for {
			var e event
			if lines.Decode(&e) != nil { // io.EOF, or whatever the client prints before it dies
				return
			}
			said <- e
		}
	}()
	t.Cleanup(func() { c.kill() })
	if first := c.next(t); !first.Open {
		t.Fatalf("the client begins with %+v\n%s", first, c.log)
	}
	return c
}

// kill ends the client at once, if it has not ended.
func (c *conversation) kill() {
	_ = c.program.Process.Kill()
	for range c.said {
	}
	_ = c.program.Wait() // it was killed
}

// next waits for the next event.
func (c *conversation) next(t *testing.T) event {
	t.Helper()
	select {
	case e, more := <-c.said:
		if !more {
			t.Fatalf("the client ended:\n%s", c.log)
		}
		return e
	case <-time.After(3 * time.Minute):
		t.Fatalf("the client says nothing:\n%s", c.log)
		return event{}
	}
}

// tell has the client do one thing.
func (c *conversation) tell(t *testing.T, what string, with any) {
	t.Helper()
	if _, err := io.WriteString(c.say, inJSON(t, map[string]any{what: with})+"\n"); err != nil {
		t.Fatalf("%v\n%s", err, c.log)
	}
}

// answer waits for the end of what the client was told to do.
func (c *conversation) answer(t *testing.T) event {
	t.Helper()
	e := c.next(t)
	for e.Result == nil && e.Error == "" {
		e = c.next(t)
	}
	return e
}

// result is an answer that is no failure of the client.
func (c *conversation) result(t *testing.T, into any) {
	t.Helper()
	e := c.answer(t)
	if e.Error != "" {
		t.Fatalf("the client fails: %s\n%s", e.Error, c.log)
	}
	fromJSON(t, string(e.Result), into)
}

func (c *conversation) list(t *testing.T) []mcpTool {
	t.Helper()
	var got struct{ Tools []mcpTool }
	c.tell(t, "list", true)
	c.result(t, &got)
	return got.Tools
}

func (c *conversation) call(t *testing.T, tool string, arguments arguments) mcpResult {
	t.Helper()
	var got mcpResult
	c.begin(t, tool, arguments)
	c.result(t, &got)
	return got
}

// begin calls a tool without waiting for the result.
func (c *conversation) begin(t *testing.T, tool string, arguments arguments) {
	t.Helper()
	c.tell(t, "call", map[string]any{"name": tool, "arguments": arguments})
}

func (c *conversation) read(t *testing.T, path string) string {
	t.Helper()
	return onlyText(t, c.call(t, "fs_read", arguments{"path": path}))
}

// close has the client close its server, and end.
func (c *conversation) close(t *testing.T) {
	t.Helper()
	if err := c.say.Close(); err != nil {
		t.Fatal(err)
	}
	for range c.said {
	}
	if err := c.program.Wait(); err != nil {
		t.Errorf("%v\n%s", err, c.log)
	}
}

// A long command tells how it goes, and when the client gives the call up, or itself, nothing
// of the command is left.
func TestRealClientsFollowACommand(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	for _, kind := range libraryClients(t, installClients(t)) {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel() // a server waits for seconds before it ends what runs
			kind.follows(t, newEstate(t, program), func(e estate, v visitor, c *conversation) {
				c.tell(t, "cancel", true)
				if a := c.answer(t); a.Error == "" {
					t.Errorf("a cancelled call gives %s", a.Result)
				}
				e.unfollowed()
				v.isGreeted() // the server goes on
				c.close(t)
			})
			kind.follows(t, newEstate(t, program), func(_ estate, _ visitor, c *conversation) { c.close(t) })
			kind.follows(t, newEstate(t, program), func(_ estate, _ visitor, c *conversation) { c.kill() })
		})
	}
}

// follows has a client run a command that goes on and on, and ends it some way.
func (k clientKind) follows(t *testing.T, e estate, end func(estate, visitor, *conversation)) {
	t.Helper()
	c := k.open(t, e, e.server()).(*conversation)
	v := newVisitor(t, c)
	c.begin(t, "cmd_run", arguments{"commandId": "follow"})
	first := c.progress(t)
	e.adds("root/followed.txt", "second\n")
	if second := c.progress(t); first <= 0 || second <= first {
		t.Errorf("progress is %v after %v", second, first)
	}
	if len(e.followers()) == 0 {
		t.Error("no command runs")
	}
	end(e, v, c)
	e.deserted()
}

// progress waits for a report of progress.
func (c *conversation) progress(t *testing.T) float64 {
	t.Helper()
	e := c.next(t)
	if e.Progress == 0 {
		t.Fatalf("not progress, but %+v\n%s", e, c.log)
	}
	return e.Progress
}
