//go:build abuse && (amd64 || arm64)

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestKilledServersLeaveNothing kills a server again and again while it is called in one session of
// MCP and by orders: when that is over there are as many goroutines and descriptors as before, and
// when the hub has ended none.
func TestKilledServersLeaveNothing(t *testing.T) {
	const kills = 20
	env := home(t)
	file := func(name string) string { return filepath.Join(env["HOME"], name) }
	build := exec.Command("go", "build", "-o", file("server"), "../engine/mcpclient/testdata/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	config := `{"servers":[{"name":"a","command":"` + file("server") + `","x-gateway":{"concurrency":2,"restart":{"policy":"always","initialMs":1,"maxMs":1}}}]}`
	if err := os.WriteFile(file("servers.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	url, end := serveHub(t, env, "--config", file("servers.json"), "--sandbox-dir", file("work"))
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	ask := func(path, session, body string) (text, id string) {
		r, err := http.NewRequest(http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return "", ""
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return "", ""
		}
		defer response.Body.Close()
		said, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		return string(said), response.Header.Get("Mcp-Session-Id")
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	_, session := ask("/mcp", "", hello)
	works := func() bool {
		text, _ := ask("/mcp", session, `{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"echo","arguments":{"n":1.0}}}`)
		return strings.Contains(text, `"structuredContent":{"n":1.0}`)
	}
	process := func() int {
		var at struct {
			Details map[string]struct{ PID int }
		}
		response, err := client.Get(url + "/health")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&at); err != nil {
			t.Fatal(err)
		}
		return at.Details["a"].PID
	}
	until(t, "it works", works)
	client.CloseIdleConnections()
	until(t, "connections are closed", func() bool { client.CloseIdleConnections(); return process() > 0 })
	goroutines, descriptors := runtime.NumGoroutine(), descriptorsOpen(t)

	stop := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if caller == 0 {
					ask("/execute", "", `{"tool_name":"echo"}`)
					continue
				}
				ask("/mcp", session, `{"jsonrpc":"2.0","id":`+string(rune('0'+caller))+`,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}`)
			}
		})
	}
	for range kills {
		until(t, "it runs", func() bool { return process() > 0 })
		pid := process()
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		until(t, "another one runs, and works in the same session", func() bool { return process() != pid && works() })
	}
	close(stop)
	callers.Wait()
	until(t, "all is as it was", func() bool {
		client.CloseIdleConnections()
		return process() > 0 && runtime.NumGoroutine() <= goroutines && descriptorsOpen(t) <= descriptors
	})
	client.CloseIdleConnections()
	end()
}

// serveHub starts a hub in this process, and gives its address and what ends it.
func serveHub(t *testing.T, env map[string]string, args ...string) (url string, end func()) {
	t.Helper()
	p, _, _ := start(t, env, env["HOME"], nil)
	said, into := io.Pipe()
	p.stdout, p.stderr = outlets(io.Discard, into)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- p.main(ctx, append([]string{"durward", "hub", "--port", "0"}, args...))
		p.stderr.finish()
		into.Close()
	}()
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "Serving on ")
	if !ok {
		t.Fatalf("%q, %v", first, err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return url, func() {
		cancel()
		if status := <-ended; status != 0 {
			t.Errorf("it ended with %d", status)
		}
		<-read
	}
}

// until asks again until it is so.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s; there are %d goroutines", what, runtime.NumGoroutine())
		}
	}
}
