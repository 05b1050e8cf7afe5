//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// servers are what a configuration names as such: programs, by the name of the server.
type servers map[string]map[string]any

// A hubHouse is a folder with a sandbox directory in it, and a hub of the servers that
// servers.json names.
type hubHouse struct {
	estate
	program string
}

func newHubHouse(t *testing.T, program string, list servers, extra ...string) hubHouse {
	t.Helper()
	h := hubHouse{estate{t, openDir(t)}, program}
	document := map[string]any{"mcpServers": list}
	for at := 0; at < len(extra); at += 2 {
		document[extra[at]] = json.RawMessage(extra[at+1])
	}
	plant(t, h.path("servers.json"), inJSON(t, document))
	plant(t, h.path("outside.txt"), "secret\n")
	for _, folder := range []string{"work", "home"} {
		if err := os.Mkdir(h.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// flags are those of a hub of this house.
func (h hubHouse) flags() []string {
	return []string{"hub", "--config", h.path("servers.json"), "--sandbox-dir", h.path("work")}
}

// A hub is a hub that runs.
type hub struct {
	*run
	t   *testing.T
	url string
}

// open starts the hub, and waits until these servers run.
func (h hubHouse) open(wanted ...string) hub {
	h.t.Helper()
	c := exec.Command(h.program, append(h.flags(), "--port", "0")...)
	c.Dir, c.Env = h.path("home"), append(h.environment(), "HOUSE=number nine")
	r := start(h.t, c)
	opened := hub{r, h.t, r.told.await(h.t, `Serving on (http://127\.0\.0\.1:\d+)\n`)}
	for _, name := range wanted {
		opened.runs(name)
	}
	return opened
}

// in is the hub as a part of the test uses it.
func (h hub) in(t *testing.T) hub {
	h.t = t
	return h
}

// runs waits until a server runs, and gives its process.
func (h hub) runs(name string) (pid string) {
	h.t.Helper()
	return h.told.await(h.t, `"msg":"server_running","server":"`+name+`","pid":(\d+)`)
}

// fetch does a request and gives the status and the body.
func (h hub) fetch(method, path, body string) (status int, answer string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.told)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.told)
	}
	return response.StatusCode, string(text)
}

// gets reads a path into a value.
func (h hub) gets(path string, into any) {
	h.t.Helper()
	status, text := h.fetch("GET", path, "")
	if status != http.StatusOK {
		h.t.Fatalf("%s: %d %s\n%s", path, status, text, h.told)
	}
	fromJSON(h.t, text, into)
}

// A health is what the hub says of its servers.
type health struct {
	Status  string
	Servers map[string]string
	Details map[string]struct {
		PID             int
		Era             string
		ProtocolVersion string `json:"protocol_version"`
		Tools           int
	}
}

// An execution is what a call came to: what the tool gave, or how it was refused.
type execution struct {
	httpStatus int
	text       string
	Status     string
	Output     json.RawMessage
	Error      string
	Code, Rule string
	Detail     string
}

func (h hub) execute(tool string, with arguments) execution {
	h.t.Helper()
	status, text := h.fetch("POST", "/execute", inJSON(h.t, map[string]any{"tool_name": tool, "arguments": with}))
	x := execution{httpStatus: status, text: text}
	fromJSON(h.t, text, &x)
	return x
}

// gives calls a tool that gives just this output.
func (h hub) gives(tool string, with arguments, want any) {
	h.t.Helper()
	x := h.execute(tool, with)
	if x.httpStatus != http.StatusOK || x.Status != "success" {
		h.t.Errorf("%s %v: %d %s\n%s", tool, with, x.httpStatus, x.text, h.told)
		return
	}
	if difference := unlike("the output", valueOf(h.t, []byte(inJSON(h.t, want))), valueOf(h.t, x.Output)); difference != "" {
		h.t.Errorf("%s %v: %s in %s", tool, with, difference, x.text)
	}
}

// refuses calls a tool whose arguments lead out of the sandbox directory.
func (h hub) refuses(tool string, with arguments) {
	h.t.Helper()
	x := h.execute(tool, with)
	if x.httpStatus != http.StatusBadRequest || x.Code != "path_validation" || x.Rule == "" || strings.Contains(x.text, "secret") {
		h.t.Errorf("%s %v: %d %s\n%s", tool, with, x.httpStatus, x.text, h.told)
	}
}

// close ends the hub, after which no process of a server is left.
func (h hub) close() {
	h.t.Helper()
	var at health
	h.gets("/health", &at)
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	h.ends(h.t)
	for _, server := range at.Details {
		awaitEnd(h.t, server.PID, time.Now()) // it has ended
	}
}
