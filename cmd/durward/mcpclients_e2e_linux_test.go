//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// An mcpClient is somebody else's client with a server that it started.
type mcpClient interface {
	list(t *testing.T) []mcpTool
	call(t *testing.T, tool string, arguments arguments) mcpResult
	// read gives the text that the client shows of a file.
	read(t *testing.T, path string) string
	// close ends the client. How the server ends is the client's own business.
	close(t *testing.T)
}

type arguments map[string]any

type mcpTool struct {
	Name         string
	OutputSchema *jsonschema.Schema
}

// An mcpResult has no content where the client shows nothing but the structure.
type mcpResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// A clientKind is a client in an era of the protocol.
type clientKind struct {
	name   string
	modern bool
	open   func(t *testing.T, e estate, server []string) mcpClient
}

// What people use as clients lists the tools and calls them, in each era that it speaks.
func TestRealClientsUseTheTools(t *testing.T) {
	t.Parallel()
	program, packages := buildProgram(t), installClients(t)
	for _, kind := range slices.Concat(commandLineClients(packages), libraryClients(t, packages)) {
		t.Run(kind.name, func(t *testing.T) {
			kind.speaksItsEra(t, newEstate(t, program))
			kind.usesTheTools(t, newEstate(t, program))
		})
	}
}

// speaksItsEra asks how a client begins, and what it says with its requests.
func (k clientKind) speaksItsEra(t *testing.T, e estate) {
	t.Helper()
	c := k.open(t, e, e.recordedServer())
	c.list(t)
	c.close(t)
	e.deserted()
	heard := e.heard()
	lists := regexp.MustCompile(`.*"method":"tools/list".*`).FindString(heard)
	modern := strings.Contains(lists, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
	if lists == "" || modern != k.modern || strings.Contains(heard, `"method":"initialize"`) == k.modern {
		t.Errorf("the client says\n%s", heard)
	}
}

func (k clientKind) usesTheTools(t *testing.T, e estate) {
	t.Helper()
	v := newVisitor(t, k.open(t, e, e.server()))
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(letter)))

	v.gets("fs_read", arguments{"path": e.path("root/letter.txt")}, arguments{"data": letter, "bytesRead": len(letter), "sha256": digest})
	if text := v.client.read(t, e.path("root/letter.txt")); text != letter {
		t.Errorf("the client shows %q; want %q", text, letter)
	}
	v.gets("fs_write", arguments{"path": e.path("zone/copy.txt"), "data": letter}, arguments{"bytesWritten": len(letter), "sha256": digest})
	e.has("zone/copy.txt", letter)
	v.isRefused("fs_write", arguments{"path": e.path("root/copy.txt"), "data": letter}, "POLICY_DENY (outsideWriteZones): ")
	e.hasOnly("root", "followed.txt", "letter.txt")
	e.hasOnly("zone", "copy.txt")

	v.isGreeted()
	v.isRefused("cmd_run", arguments{"commandId": "say", "args": []string{"-n"}}, "POLICY_DENY (argDashNotAllowed): ")
	v.isTimedOut(arguments{"commandId": "follow", "timeoutMs": 500})
	if left := e.followers(); len(left) > 0 {
		t.Errorf("processes %d outlive their call", left)
	}
	v.client.close(t)
	e.deserted()
}

// A visitor calls tools, and knows what form their results are to have.
type visitor struct {
	t      *testing.T
	client mcpClient
	forms  map[string]*jsonschema.Resolved
}

func newVisitor(t *testing.T, c mcpClient) visitor {
	t.Helper()
	v := visitor{t, c, map[string]*jsonschema.Resolved{}}
	var names []string
	for _, tool := range c.list(t) {
		form, err := tool.OutputSchema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		v.forms[tool.Name] = form
		names = append(names, tool.Name)
	}
	if want := []string{"cmd_run", "fs_read", "fs_write"}; !slices.Equal(names, want) {
		t.Fatalf("the client lists %q; want %q", names, want)
	}
	return v
}

// structure gives a result's structure, which has the form that the tool promises.
func (v visitor) structure(tool string, r mcpResult) map[string]any {
	v.t.Helper()
	var got map[string]any
	if err := json.Unmarshal(r.StructuredContent, &got); err != nil {
		v.t.Fatalf("%s: %v in %q", tool, err, r.StructuredContent)
	}
	if err := v.forms[tool].Validate(got); err != nil {
		v.t.Errorf("%s: %v", tool, err)
	}
	return got
}

// onlyText gives the one block of text that a result has.
func onlyText(t *testing.T, r mcpResult) string {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("there is no one text in %+v", r)
	}
	return r.Content[0].Text
}

// gets calls a tool that gives just this.
func (v visitor) gets(tool string, with, want arguments) {
	v.t.Helper()
	r := v.client.call(v.t, tool, with)
	if r.IsError {
		v.t.Errorf("%s: %+v", tool, r)
	}
	if got, want := inJSON(v.t, v.structure(tool, r)), inJSON(v.t, want); got != want {
		v.t.Errorf("%s: %s; want %s", tool, got, want)
	}
}

// isGreeted runs a command that ends at once.
func (v visitor) isGreeted() {
	v.t.Helper()
	v.gets("cmd_run", arguments{"commandId": "say", "args": []string{"good day"}},
		arguments{"exitCode": 0, "stdout": "good day\n", "stderr": "", "timedOut": false, "truncated": false})
}

// isRefused calls a tool that does nothing but say why not.
func (v visitor) isRefused(tool string, with arguments, why string) {
	v.t.Helper()
	r := v.client.call(v.t, tool, with)
	if !r.IsError || !strings.HasPrefix(onlyText(v.t, r), why) || r.StructuredContent != nil {
		v.t.Errorf("%s: %+v; want %s", tool, r, why)
	}
}

// isTimedOut runs a command for longer than it may.
func (v visitor) isTimedOut(with arguments) {
	v.t.Helper()
	r := v.client.call(v.t, "cmd_run", with)
	got := v.structure("cmd_run", r)
	if !r.IsError || got["timedOut"] != true || got["exitCode"] != -1.0 {
		v.t.Errorf("%+v", r)
	}
}
