package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/durward/durward/worker"
)

// A gatewayHouse is `durward gateway` with a domain package of its own.
type gatewayHouse struct {
	t      testing.TB
	dir    string
	cmd    *exec.Cmd
	url    string
	client http.Client
	read   chan struct{} // closed when standard error has ended

	mu  sync.Mutex
	log bytes.Buffer // guarded by mu; standard error
}

// keepHouse starts the gateway on the two documents; files are further ones of the package by
// their paths. What begins with "@" in the environment is no variable but an argument.
func keepHouse(t testing.TB, manifest, policies string, files map[string]string, env ...string) *gatewayHouse {
	t.Helper()
	h := &gatewayHouse{t: t, dir: t.TempDir(), read: make(chan struct{})}
	h.write("manifest.yaml", manifest)
	h.write("policies.yaml", policies)
	for name, text := range files {
		h.write(name, text)
	}
	args := []string{"gateway", "--port", "0"}
	for _, e := range env {
		if flag, ok := strings.CutPrefix(e, "@"); ok {
			args = append(args, flag)
		}
	}
	h.cmd = program(t, args...)
	h.cmd.Env = append(h.cmd.Env, "DOMAIN_ID=test", "DOMAIN_MANIFEST_PATH="+h.path("manifest.yaml"), "DOMAIN_POLICIES_PATH="+h.path("policies.yaml"), "HTTP_PROXY=http://127.0.0.1:1")
	h.cmd.Env = append(h.cmd.Env, slices.DeleteFunc(slices.Clone(env), func(e string) bool { return e[0] == '@' })...)
	h.begin()
	return h
}

// begin starts the program, which serves, and keeps what it logs.
func (h *gatewayHouse) begin() {
	h.t.Helper()
	errors, err := h.cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	lines := bufio.NewReader(errors)
	first, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "Serving on ")
	if !ok {
		_ = h.cmd.Process.Kill() // it may serve for all that
		rest, _ := io.ReadAll(lines)
		h.t.Fatalf("it says %q %s, %v", first, rest, err)
	}
	h.url = url
	h.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	go func() {
		defer close(h.read)
		for {
			line, err := lines.ReadBytes('\n')
			h.mu.Lock()
			h.log.Write(line)
			h.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() { h.end(syscall.SIGTERM) })
}

func (h *gatewayHouse) path(name string) string { return filepath.Join(h.dir, name) }

func (h *gatewayHouse) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// end ends the gateway by a signal, unless it has ended, and waits for that.
func (h *gatewayHouse) end(s syscall.Signal) {
	h.t.Helper()
	if h.cmd.ProcessState != nil {
		return
	}
	h.client.CloseIdleConnections()
	_ = h.cmd.Process.Signal(s)
	<-h.read
	_ = h.cmd.Wait()
}

func (h *gatewayHouse) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// records gives the lines of the audit log.
func (h *gatewayHouse) records() []string {
	h.t.Helper()
	list := program(h.t, "audit", "export")
	list.Env = h.cmd.Env
	text, err := list.Output()
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

// waitFor waits until the log holds a text so often.
func (h *gatewayHouse) waitFor(text string, times int) {
	h.t.Helper()
	ctx := h.t.Context()
	for strings.Count(h.said(), text) < times {
		select {
		case <-ctx.Done():
			h.t.Fatalf("the log never says %q %d times:\n%s", text, times, h.said())
		case <-h.read:
			h.t.Fatalf("it ended, and the log never says %q:\n%s", text, h.said())
		default:
			h.send("GET", "/healthz", "")
		}
	}
}

// A gatewayAnswer is what a request came back with.
type gatewayAnswer struct {
	status int
	header http.Header
	body   string
	OK     bool
	Output json.RawMessage
	Error  struct {
		Code, Message string
		Retryable     bool
		Details       map[string]any
	}
	Detail string
}

func (h *gatewayHouse) send(method, path, body string, headers ...string) gatewayAnswer {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return gatewayAnswer{}
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	response, err := h.client.Do(r)
	if err != nil {
		h.t.Error(err)
		return gatewayAnswer{}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Error(err)
	}
	a := gatewayAnswer{status: response.StatusCode, header: response.Header, body: string(text)}
	_ = json.Unmarshal(text, &a) // lists and metrics are looked at as they are
	return a
}

func (h *gatewayHouse) run(tool, input string, headers ...string) gatewayAnswer {
	h.t.Helper()
	return h.send("POST", "/v1/tools/"+tool+":run", `{"input":`+input+`}`, headers...)
}

// want checks that an answer is a refusal.
func (a gatewayAnswer) want(t testing.TB, status int, code string, retryable bool, reason any) {
	t.Helper()
	if a.status != status || a.Error.Code != code || a.Error.Retryable != retryable || a.Error.Details["reason"] != reason {
		t.Errorf("want %d %s %v %v: %d %s", status, code, retryable, reason, a.status, a.body)
	}
}

// oneTool is a manifest with one tool, t, whose worker is at url; more are lines of the tool.
func oneTool(url string, more ...string) string { return manifestOf(toolText("t", url, more...)) }

func manifestOf(tools ...string) string {
	return "domain_id: test\nversion: \"1\"\ntools:\n" + strings.Join(tools, "")
}

func toolText(id, url string, more ...string) string {
	text := fmt.Sprintf("  - tool_id: %s\n    transport: {type: http, base_url: %q}\n", id, url)
	for _, line := range more {
		text += "    " + line + "\n"
	}
	return text
}

// startWorker serves a tool by package worker and gives its URL.
func startWorker(t testing.TB, tool worker.Func) string {
	t.Helper()
	started, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- worker.Run(ctx, tool, worker.Options{Listen: "127.0.0.1:0", Started: func(url string) { started <- url }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-started:
		return url
	case err := <-ended:
		t.Fatal(err)
		return ""
	}
}
