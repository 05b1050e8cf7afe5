//go:build linux && (amd64 || arm64)

package site_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/site"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// Each way in which a request can end leaves exactly these records.
func TestRecords(t *testing.T) {
	specs := page("[touch, {}]", "[sh, -c, {}]", "[no-such-program]", "[./x]", `[curl, {}]`)
	files := map[string]string{
		"README.md": specs, "plain.md": "# x", "broken.md": "---\ntools: [[5]]\n---\n", "large.md": strings.Repeat("x", 4<<20+1),
		"x": "-> /bin/echo", "out.md": "-> /etc/passwd",
	}
	const whole = "intent outcome"
	tests := []struct {
		name    string
		request request
		phases  string
		code    string // of the last record
		rule    string
		where   string
	}{
		{"read", get("/"), "", "", "", ""},
		{"read by people", get("/").with("Accept", "text/html"), "", "", "", ""},
		{"read what is not there", get("/nothing"), "", "", "", ""},
		{"method", request{method: "PUT", target: "/"}, "", "", "", ""},
		{"origin", run("/", "touch", "x1").with("Origin", "null"), "", "", "", ""},
		{"content type", run("/", "touch", "x1").with("Content-Type", "text/plain"), "", "", "", ""},
		{"not JSON", post("/", "{"), "", "", "", ""},
		{"size", post("/", strings.Repeat(" ", 2<<20)), "", "", "", ""},
		{"no command", post("/", `{"command": []}`), "", "", "", ""},
		{"variables", post("/", `{"command": ["touch", "x1"], "env": {"A-B": ""}}`), "", "", "", ""},
		{"path", run("/../x", "touch", "x1"), "", "", "", ""},
		{"hidden", run("/.env", "touch", "x1"), "", "", "", ""},
		{"no page", run("/nothing", "touch", "x1"), "deny", "tool_not_found", "", ""},
		{"a link that leaves", run("/out", "touch", "x1"), "deny", "outsideAllowedRoots", "", ""},
		{"a large page", run("/large", "touch", "x1"), "deny", "maxFileBytes", "", ""},
		{"no frontmatter", run("/plain", "touch", "x1"), "deny", "no_frontmatter", "", ""},
		{"invalid", run("/broken", "touch", "x1"), "deny", "bad_frontmatter", "", "broken.md:2"},
		{"not allowed", run("/", "rm", "x1"), "deny", "not_allowed", "", "README.md"},
		{"argument", run("/", "touch", "/x1"), "deny", "arg_denied", "argument_guard", "README.md:3"},
		{"a reserved variable", post("/", `{"command": ["touch", "x1"], "env": {"BASH_ENV": "x"}}`), "deny", "envNotAllowed", "env.BASH_ENV", ""},
		{"no program", run("/", "no-such-program"), "deny", "program_not_found", "tools[2]", "README.md:5"},
		{"a program outside", run("/", "./x"), "deny", "outsideAllowedRoots", "program", ""},
		{"address", run("/", "curl", "http://127.0.0.1/"), "", "", "", ""},
		{"success", run("/", "touch", "x1"), whole, "", "tools[0]", "README.md:3"},
		{"exit code", run("/", "sh", "-c", "exit 3"), whole, "", "tools[1]", "README.md:4"},
		{"timeout", run("/", "sh", "-c", "sleep 600"), whole, "timeout", "tools[1]", "README.md:4"},
		{"output", run("/", "sh", "-c", "yes"), whole, "output_too_large", "tools[1]", "README.md:4"},
	}
	root, state := plant(t, files), t.TempDir()
	h, err := site.New(site.Config{
		Root: root, StateDir: state, Sandbox: unconfined(t), HTTP: site.HTTP{Enabled: true},
		Limits: site.Limits{Timeout: 2 * time.Second, OutputBytes: 10_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.(io.Closer).Close()
	seen := 0
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			askHandler(h, test.request.with("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01").with("X-Request-Id", "mine-1"))
			all := recordsOf(t, state)
			fresh := all[seen:]
			seen = len(all)
			if test.name == "address" { // judged before or after the intent
				if len(fresh) == 0 {
					t.Error("there is no record")
				}
				return
			}
			var names []string
			for _, rec := range fresh {
				names = append(names, string(rec.Phase))
				if rec.ReqID == "" || rec.ReqID != fresh[0].ReqID || rec.TraceID != traceID || rec.ClientID != "mine-1" || rec.Door != "site" ||
					rec.Caller != "anonymous" || rec.Path != test.request.target || string(rec.Tool) != test.request.target || rec.Surface != "" {
					t.Errorf("the record is %+v", rec)
				}
			}
			if got := strings.Join(names, " "); got != test.phases {
				t.Fatalf("the records are %q, want %q", got, test.phases)
			}
			if len(fresh) == 0 {
				return
			}
			last := fresh[len(fresh)-1]
			if string(last.Code) != test.code || test.rule != "" && last.Rule != test.rule || !strings.HasPrefix(last.Where, test.where) {
				t.Errorf("code %q, rule %q, where %q, want %q %q %q", last.Code, last.Rule, last.Where, test.code, test.rule, test.where)
			}
			want := "deny"
			if test.phases == whole {
				want = "allow"
			}
			if last.Decision != want || test.phases == whole && (last.PolicyHash == "" || last.DurationMs == nil) {
				t.Errorf("the record is %+v", last)
			}
		})
	}
	if err := h.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := audit.Verify(t.Context(), filepath.Join(state, "audit")); err != nil {
		t.Errorf("%+v, %v", summary, err)
	}
}

func recordsOf(t *testing.T, state string) []audit.Record {
	t.Helper()
	var all []audit.Record
	for e, err := range audit.Records(t.Context(), filepath.Join(state, "audit"), audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Record.Phase != audit.Event {
			all = append(all, e.Record)
		}
	}
	return all
}

// What a caller sends cannot make a record look like several, and its secrets are not in
// it.
func TestRecordsHoldNoSecrets(t *testing.T) {
	root, state := plant(t, map[string]string{"README.md": page("[echo, {}]")}), t.TempDir()
	h, err := site.New(site.Config{Root: root, StateDir: state, Env: map[string]string{"KEY": "server-secret"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.(io.Closer).Close()
	askHandler(h, post("/", `{"command": ["echo", "argument-secret"], "env": {"A": "caller-secret"}}`))
	askHandler(h, run("/x%0a%7b%22seq%22:1%7d%1b[31m", "echo"))
	for _, rec := range recordsOf(t, state) {
		for _, arg := range rec.Args {
			if strings.Contains(arg, "secret") {
				t.Errorf("an argument is %q", arg)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(state, "audit", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	text := readFile(t, files[0])
	if strings.Contains(text, "secret") || strings.Contains(text, "\x1b") || strings.Count(text, "\n{")+1 != strings.Count(text, "\n") {
		t.Errorf("the log is %s", text)
	}
}
