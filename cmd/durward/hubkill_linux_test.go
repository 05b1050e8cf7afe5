//go:build abuse && (amd64 || arm64)

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const livingServer = `{"command":"FIXTURE","args":["any"],"x-gateway":{"pathPolicy":"off","concurrency":4,"restart":{"policy":"always","initialMs":1,"maxMs":1}}}`

// A crowd calls the servers of a hub, each time with a number of its own.
type crowd struct {
	livingHub
	session []string
	number  atomic.Int64
	good    [3]atomic.Int64 // calls of the server that is killed, by the way
	lost    atomic.Int64
}

// The ways to call.
const (
	inSession = iota
	withoutSession
	byExecute
)

// call calls a server, and says how it went: "good", "lost" for a call that may have been carried
// out, "stopped" for one that was not, and what was answered for all else.
func (c *crowd) call(way int, server string) string {
	number := c.number.Add(1)
	marked := fmt.Sprintf(`{"tool":"echo","n":1%019d}`, number)
	path, body, headers := "/mcp", toolCall(number, server+"__any", marked), c.session
	switch way {
	case withoutSession:
		body, headers = newerCall(number, server+"__any", marked)
	case byExecute:
		path, body, headers = "/execute", `{"tool_name":"`+server+`__any","arguments":`+marked+`}`, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for at := 0; at+1 < len(headers); at += 2 {
		r.Header.Set(headers[at], headers[at+1])
	}
	response, err := c.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return c.verdict(way, response.StatusCode, number, marked, string(text))
}

// mayHaveRun is the word on whether the tool ran, for a model or for a program.
var mayHaveRun = regexp.MustCompile(`the tool may have run|"may_have_run":true`)

func (c *crowd) verdict(way, status int, number int64, marked, text string) string {
	said := fmt.Sprint(status, " ", text)
	if way != byExecute && (status != 200 || !strings.Contains(text, fmt.Sprintf(`"id":%d,`, number))) {
		return said
	}
	failed := strings.Contains(text, `"isError":true`) || strings.Contains(text, `"status":"error"`)
	switch {
	case !failed && status == 200 && strings.Contains(text, marked):
		return "good"
	case failed && status == 200 && strings.Contains(text, "disconnected") && mayHaveRun.MatchString(text):
		return "lost"
	case failed && strings.Contains(text, `"durward/code":"server_stopped"`), status == 503 && strings.Contains(text, `"code":"server_stopped"`):
		return "stopped"
	}
	return said
}

// press calls both servers until stop is closed: "dies" may be lost, "stays" not.
func (c *crowd) press(way int, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		switch got := c.call(way, "dies"); got {
		case "good":
			c.good[way].Add(1)
		case "lost", "stopped":
			c.lost.Add(1)
		default:
			c.t.Errorf("a call of a server that is killed: %s", got)
			return
		}
		if got := c.call(way, "stays"); got != "good" {
			c.t.Errorf("a call of another server: %s", got)
			return
		}
	}
}

// A server is killed fifty times while many call it, most of them in one session. Each call is
// answered, the session goes on, nobody else notices, and nothing is left.
func TestHubWhoseServerIsKilledFiftyTimes(t *testing.T) {
	c := &crowd{livingHub: keepHub(t, map[string]string{"dies": livingServer, "stays": livingServer}, "DEFAULT_TIMEOUT=20")}
	c.runs("dies", "stays")
	c.session = append(c.livingHub.session("2025-11-25"), "MCP-Protocol-Version", "2025-11-25")
	for way := range c.good {
		if got := c.call(way, "dies"); got != "good" {
			t.Fatal(got)
		}
	}
	hub := c.cmd.Process.Pid
	processes, open := len(descendants(t, hub)), descriptors(t, hub)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range 11 {
		way := map[int]int{8: withoutSession, 9: byExecute, 10: byExecute}[caller] // the other eight are in the session
		callers.Go(func() { c.press(way, stop) })
	}
	over := sync.OnceFunc(func() { close(stop); callers.Wait() })
	defer over()
	for range 50 {
		c.killOnce()
		if t.Failed() {
			t.FailNow()
		}
	}
	over()
	if n := c.health().Details["dies"].Restarts; n != 50 {
		t.Errorf("it was started again %d times", n)
	}
	c.client.CloseIdleConnections()
	eventually(t, "all is as it was before", func() bool {
		now := descendants(t, hub)
		for _, state := range now {
			if state == "Z" {
				return false
			}
		}
		return len(now) == processes && descriptors(t, hub) <= open
	})
	t.Logf("%d calls were good, and %d lost", c.good[inSession].Load()+c.good[withoutSession].Load()+c.good[byExecute].Load(), c.lost.Load())
}

// killOnce kills the server and somebody whom it has started, and waits until calls in all ways are
// carried out again.
func (c *crowd) killOnce() {
	c.t.Helper()
	pid := c.runs("dies")[0]
	marker := fmt.Sprintf("8%09d", c.number.Add(1))
	c.does("dies", `{"tool":"fork","text":"`+marker+`"}`)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, "another one runs", func() bool { return c.runs("dies")[0] != pid })
	var before [len(c.good)]int64
	for way := range c.good {
		before[way] = c.good[way].Load()
	}
	eventually(c.t, "all can call it, and of the former one nothing is left", func() bool {
		for way := range c.good {
			if c.good[way].Load() == before[way] {
				return c.t.Failed()
			}
		}
		return !lives(pid) && !running(marker)
	})
}

// A hub that is told twice to end does so at once, and says of the calls that it cuts short that they
// may have run.
func TestHubThatIsToldTwice(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	h := keepHub(t, map[string]string{"any": livingServer}, "DURWARD_STATE_DIR="+state)
	h.runs("any")
	answers := make(chan string, 2)
	for name, path := range map[string]string{"execute": "/execute", "mcp": "/mcp"} {
		began := h.path("tmp/began." + name)
		arguments := `{"tool":"hang","began":"` + began + `"}`
		body, headers := `{"tool_name":"any__any","arguments":`+arguments+`}`, []string(nil)
		if path == "/mcp" {
			body, headers = newerCall(1, "any__any", arguments)
		}
		go func() {
			a := h.send("POST", path, body, append(headers, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")...)
			answers <- fmt.Sprint(a.status, " ", a.body)
		}()
		awaitFile(t, began)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM} {
		if err := h.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		eventually(t, "no more requests are taken", func() bool {
			response, err := h.client.Get(h.url + "/ready")
			if err == nil {
				response.Body.Close()
			}
			return err != nil || response.StatusCode == http.StatusServiceUnavailable
		})
	}
	for range cap(answers) {
		if got := <-answers; !strings.HasPrefix(got, "200 ") || !mayHaveRun.MatchString(got) {
			t.Errorf("a call that was cut short: %s", got)
		}
	}
	h.end(0) // it does by itself
	heads, err := os.ReadFile(filepath.Join(state, "audit/heads"))
	if err != nil || !strings.Contains(string(heads), " 4 closed ") {
		t.Errorf("two calls are not on record, in a log that was closed: %v\n%s", err, heads)
	}
}

// When the hub is killed while calls run, no process of a server is left, whatever that ignores. The
// next hub removes what there was in the temporary directory.
func TestHubThatIsKilled(t *testing.T) {
	h := keepHub(t, map[string]string{
		"plain":    livingServer,
		"deaf":     `{"command":"sh","args":["-c","trap '' TERM; \"$0\" any; while :; do sleep 1000; done","FIXTURE"],"x-gateway":{"pathPolicy":"off"}}`,
		"confined": `{"command":"FIXTURE","args":["any"],"x-gateway":{"pathPolicy":"off","sandbox":{"mode":"read-only","filesystem":{"read":["@system","DIR/bin"],"exec":["DIR/bin"]},"network":{"mode":"none"}}}}`,
		"ours":     `{"command":"durward","args":["mcp","--files","${workspaceFolder}"]}`,
	})
	pids := h.runs("plain", "deaf", "confined", "ours")
	marker := fmt.Sprintf("8%09d", os.Getpid())
	if got := h.does("plain", `{"tool":"fork","text":"`+marker+`"}`); !strings.Contains(got, "success") {
		t.Fatal(got)
	}
	var calls sync.WaitGroup
	for _, server := range []string{"plain", "deaf"} {
		began := h.path("tmp/began." + server)
		calls.Go(func() {
			response, err := h.client.Post(h.url+"/execute", "application/json",
				strings.NewReader(`{"tool_name":"`+server+`__any","arguments":{"tool":"hang","began":"`+began+`"}}`))
			if err == nil {
				response.Body.Close()
				t.Errorf("a call that cannot end was answered with %s", response.Status)
			}
		})
		awaitFile(t, began)
	}
	eventually(t, "somebody was started", func() bool { return running(marker) })
	all := descendants(t, h.cmd.Process.Pid)
	for _, pid := range pids {
		if _, ok := all[pid]; !ok {
			t.Errorf("process %d is not one of %v", pid, all)
		}
	}
	h.end(syscall.SIGKILL)
	calls.Wait()
	eventually(t, "nobody lives", func() bool {
		for pid := range all {
			if lives(pid) {
				return false
			}
		}
		return !running(marker) && !running(h.path("bin/fixture"))
	})
	left, _ := filepath.Glob(h.path("tmp/durward-hub.*"))
	for _, dir := range left { // only what has stood for a while is looked at
		if err := os.Chtimes(dir, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	h.open()
	h.runs("plain", "deaf", "confined", "ours")
	for _, dir := range left {
		eventually(t, dir+" is removed", func() bool { _, err := os.Lstat(dir); return os.IsNotExist(err) })
	}
	h.end(syscall.SIGTERM)
	if left, _ := filepath.Glob(h.path("tmp/durward*")); len(left) != 0 {
		t.Errorf("there is still %q", left)
	}
}

// A hub ends though a call of a session goes on whose stream has begun, and leaves nobody behind.
func TestHubEndsWithCallsOfSessions(t *testing.T) {
	h := keepHub(t, map[string]string{"plain": strings.Replace(livingServer, `"args"`, `"timeout":300,"args"`, 1)})
	pids := h.runs("plain")
	session := h.session("2025-11-25")
	r, err := http.NewRequest(http.MethodPost, h.url+"/mcp", strings.NewReader(
		strings.Replace(toolCall(1, "plain__any", `{"tool":"linger"}`), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, session[0]: {session[1]}}
	response, err := h.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan() && !strings.Contains(lines.Text(), `"progress":1`); {
	}
	h.end(syscall.SIGTERM)
	if code := h.cmd.ProcessState.ExitCode(); code != 0 || lives(pids[0]) {
		t.Errorf("the status is %d, the server lives: %t", code, lives(pids[0]))
	}
}

// A second signal does not let servers take their time, whatever the hub does at the moment.
func TestSecondSignalEndsAHubAtOnce(t *testing.T) {
	h := keepHub(t, map[string]string{
		"deaf": `{"command":"sh","args":["-c","trap 'echo told >&2' TERM; \"$0\" any; while :; do sleep 1; done","FIXTURE"],"x-gateway":{"pathPolicy":"off"}}`,
	}, "LOG_LEVEL=DEBUG")
	pids := h.runs("deaf")
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server was told to end", func() bool { return strings.Contains(h.said(), "told") })
	h.end(syscall.SIGTERM)
	if code := h.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("the status is %d", code)
	}
	eventually(t, "the server is gone", func() bool { return !lives(pids[0]) })
}
