package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// A double is a runtime made of one function.
type double func(ctx context.Context, c durward.Call) (durward.Result, error)

func (f double) Do(ctx context.Context, c durward.Call) (durward.Result, error) { return f(ctx, c) }

func (f double) Refuse(_ durward.Call, why error) error { return why }

// nothing is a runtime that no call is to reach.
func nothing(t testing.TB) double {
	return func(context.Context, durward.Call) (durward.Result, error) {
		t.Error("there was a call")
		return durward.Result{}, nil
	}
}

// echo answers at once: files hold "hello", and commands print their arguments.
func echo(_ context.Context, c durward.Call) (durward.Result, error) {
	switch c.Tool {
	case fsRead:
		return durward.Result{Output: json.RawMessage(`{"data":"hello\n","bytesRead":6,"sha256":"` + someDigest + `"}`)}, nil
	case fsWrite:
		return durward.Result{Output: json.RawMessage(`{"bytesWritten":5,"sha256":"` + someDigest + `"}`)}, nil
	}
	zero := 0
	said := []byte(strings.Join(c.Argv, " "))
	return durward.Result{Exit: &zero, Stdout: durward.Capture{Head: said, Total: int64(len(said))}, Took: 1}, nil
}

var someDigest = strings.Repeat("0a", 32)

// surface is what the tests show.
func surface() Surface {
	return Surface{
		Commands: []Command{
			{ID: "rg", Allow: []string{"-n"}, Patterns: []string{"[a-z]+"}, CWDPolicy: "withinRoot", TimeoutMs: 30000, MaxOutputBytes: 1000},
			{ID: "git", Description: "version control", CWDPolicy: "none", TimeoutMs: 5000, MaxOutputBytes: 1000},
		},
		PolicyHash: "sha256:00",
		Summary:    json.RawMessage(`{"allowedRoots":1}`),
	}
}

func options(runtime Runtime) Options {
	return Options{Runtime: runtime, Surface: surface, Version: "1.2.3", Caller: durward.Caller{Name: "local:1000", Method: "process"}}
}

// converse gives all that is said to an input.
func converse(t testing.TB, o Options, input string) string {
	t.Helper()
	var said bytes.Buffer
	if err := Serve(context.Background(), o, strings.NewReader(input), &said); err != nil {
		t.Error(err)
	}
	return said.String()
}

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	batchHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}` + "\n"
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// said gives the lines behind the answer to initialize.
func behindHello(t testing.TB, said string) string {
	t.Helper()
	hello, rest, _ := strings.Cut(said, "\n")
	if !strings.HasPrefix(hello, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":`) {
		t.Fatalf("initialize was answered with %s", hello)
	}
	return rest
}

func result(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + "}\n"
}

func refusal(id, code, message string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"` + message + `"}}` + "\n"
}
