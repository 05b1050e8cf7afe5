package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonx"
)

// A listed tool is what callers are told of one.
type listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Server      string          `json:"server"`
	Original    string          `json:"original_name"`
	Qualified   string          `json:"qualified_name"`
	Title       string          `json:"title,omitempty"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// showTools lists what is offered, or what of it one server has.
func (d *door) showTools(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("the query is malformed")
	}
	list := []listed{}
	for _, t := range d.Tools(httpedge.CallerOf(r.Context())) {
		if query.Has("server") && query.Get("server") != t.Server {
			continue
		}
		list = append(list, listed{string(t.ID), t.Doc, t.Input, t.Server, t.Original, t.Qualified, t.Title, t.Output, t.Annotations})
	}
	write(w, http.StatusOK, map[string]any{"tools": list})
	return nil
}

// A detail is what is told of a server to who may know.
type detail struct {
	PID             int     `json:"pid,omitempty"`
	UptimeS         float64 `json:"uptime_s"`
	Restarts        int     `json:"restarts"`
	LastError       string  `json:"last_error,omitempty"`
	Tools           int     `json:"tools"`
	ProtocolVersion string  `json:"protocol_version,omitempty"`
	Era             string  `json:"era,omitempty"`
	Sandbox         *held   `json:"sandbox,omitempty"`
}

// Held is what a server is held to while it runs.
type held struct {
	Mode       durward.Mode    `json:"mode"`
	Level      int             `json:"level"`
	Guarantees durward.Holding `json:"guarantees"`
	Weak       []string        `json:"weak,omitempty"`
}

// A health is the body of /health.
type health struct {
	Status  string            `json:"status"`
	Servers map[string]string `json:"servers"`
	Config  string            `json:"configuration,omitempty"`
	Details map[string]detail `json:"details,omitempty"`
}

// showHealth tells how the servers are. Who shows no credential where one is asked for is
// told no more than that.
func (d *door) showHealth(w http.ResponseWriter, r *http.Request) error {
	servers := d.Servers()
	h := health{Status: statusOf(servers), Servers: map[string]string{}, Config: d.Missing}
	if d.mayKnow(r) {
		h.Details = map[string]detail{}
	}
	for _, s := range servers {
		h.Servers[s.Name] = map[bool]string{true: "running", false: "stopped"}[s.Running]
		if h.Details == nil {
			continue
		}
		one := detail{PID: s.PID, Restarts: s.Restarts, LastError: s.LastError, Tools: s.Tools, ProtocolVersion: s.ProtocolVersion, Era: s.Era}
		if s.Running {
			one.UptimeS = float64(time.Since(s.Since).Milliseconds()) / 1000
		}
		if r := s.Sandbox; r != nil {
			one.Sandbox = &held{r.Mode, r.Level, r.Guarantees, r.Weak}
		}
		h.Details[s.Name] = one
	}
	write(w, http.StatusOK, h)
	return nil
}

// mayKnow reports whether a request that needs no credential is of somebody who operates the hub
// all the same.
func (d *door) mayKnow(r *http.Request) bool {
	if d.Rules.Authenticate == nil {
		return true
	}
	caller, err := d.Rules.Authenticate(r)
	return err == nil && d.Operates(caller)
}

// statusOf sums the servers up.
func statusOf(servers []Server) string {
	running := 0
	for _, s := range servers {
		if s.Running {
			running++
		}
	}
	switch {
	case running == len(servers):
		return "healthy"
	case running > 0:
		return "degraded"
	}
	return "unhealthy"
}

// showReady tells whether anything can be run.
func (d *door) showReady(w http.ResponseWriter, _ *http.Request) error {
	status := statusOf(d.Servers())
	code := http.StatusOK
	if status == "unhealthy" {
		code = http.StatusServiceUnavailable
	}
	write(w, code, map[string]any{"ready": code == http.StatusOK, "status": status})
	return nil
}

// showMetrics shows what was counted.
func (d *door) showMetrics(w http.ResponseWriter, _ *http.Request) error {
	var page bytes.Buffer
	d.Metrics.write(&page, d.Servers())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // a client that is gone is noticed by the server
	return nil
}

// showLogs shows what a server has said last on its standard error.
func (d *door) showLogs(w http.ResponseWriter, server string) error {
	if !slices.ContainsFunc(d.Servers(), func(s Server) bool { return s.Name == server }) {
		return noServer("logs")
	}
	lines := []string{}
	for line := range bytes.Lines(d.Stderr(server)) {
		lines = append(lines, strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\ufffd"))
	}
	write(w, http.StatusOK, map[string]any{"server": server, "lines": lines})
	return nil
}

func noServer(op string) error {
	return &durward.Error{Reason: durward.FileNotFound, Op: op, Err: errors.New("there is no such server")}
}

// restart starts a server anew.
func (d *door) restart(w http.ResponseWriter, r *http.Request, server string) error {
	if _, err := httpedge.ReadBody(r, maxBody); err != nil {
		return err
	}
	err := d.Restart(r.Context(), server)
	if durward.ReasonOf(err) == durward.ToolNotFound {
		return noServer("restart")
	}
	if _, known := faults[durward.ReasonOf(err)]; err != nil && !known {
		return &durward.Error{Reason: durward.ServerStopped, Op: "restart", Err: fmt.Errorf("MCP server %q did not start: %w", server, err)}
	}
	if err != nil {
		return err
	}
	write(w, http.StatusOK, map[string]any{"server": server, "status": "running"})
	return nil
}

// write sends a value of our own.
func write(w http.ResponseWriter, status int, body any) {
	line, err := jsonx.Marshal(body)
	if err != nil {
		panic(err) // it is nothing that a request brings
	}
	send(w, status, line)
}

func send(w http.ResponseWriter, status int, line []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(line)))
	w.WriteHeader(status)
	_, _ = w.Write(line) // a client that is gone is noticed by the server
}
