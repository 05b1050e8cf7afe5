//go:build linux

package site_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsAsCurlSeesThem sends what a site refuses, and what it does not, with curl.
func TestErrorsAsCurlSeesThem(t *testing.T) {
	port := freePort(t)
	serve(t, "./examples/site/run.sh", port)
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte(`{"command": ["`+strings.Repeat("x", 1<<20)+`"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const json = "Content-Type: application/json"
	post := func(body string) []string { return []string{"-H", json, "-d", body} }
	weekday := post(`{"command": ["date", "-u", "-d", "2026-11-21", "+%A"]}`)
	for _, test := range []struct {
		name, path string
		args       []string
		status     string
		has        string
	}{
		{"not JSON", "/weekday", post(`{command`), "400", `"code":"bad_request"`},
		{"a member twice", "/weekday", post(`{"command": ["ls"], "command": ["date"]}`), "400", `"code":"bad_request"`},
		{"wrong shape", "/weekday", post(`{"command": "date"}`), "400", `"code":"bad_request"`},
		{"wrong type", "/weekday", []string{"-d", `{"command": ["date"]}`}, "415", `"code":"bad_content_type"`},
		{"body too large", "/weekday", post("@" + large), "413", `"code":"body_too_large"`},
		{"no command", "/weekday", post(`{"command": []}`), "400", `"code":"bad_request"`},
		{"NUL", "/weekday", post(`{"command": ["date", "\u0000"]}`), "400", `"code":"bad_request"`},
		{"bad variable", "/weekday", post(`{"command": ["date"], "env": {"A-B": "x"}}`), "400", `"code":"bad_env"`},
		{"path with ..", "/docs/../weekday", weekday, "403", `"code":"path_denied"`},
		{"encoded ..", "/docs/%2e%2e/weekday", weekday, "403", `"code":"path_denied"`},
		{"absolute path", "//weekday", weekday, "403", `"code":"path_denied"`},
		{"no such page", "/none", weekday, "404", `"code":"not_found"`},
		{"directory without a page", "/docs/guide", weekday, "404", `"code":"not_found"`},
		{"hidden file", "/.env", nil, "404", `"code":"not_found"`},
		{"no frontmatter", "/docs/guide/doors.txt", weekday, "400", `"code":"no_frontmatter"`},
		{"not allowed", "/weekday", post(`{"command": ["rm", "-rf", "docs"]}`), "403", `"code":"not_allowed"`},
		{"a word too many", "/weekday", post(`{"command": ["date", "-u", "-d", "2026-11-21", "+%A", "-s"]}`), "403", `"code":"not_allowed"`},
		{"an argument that leads out", "/docs", post(`{"command": ["grep", "-rn", "../shop", "guide"]}`), "403", `"code":"arg_denied"`},
		{"an exit code that is not 0", "/docs", post(`{"command": ["grep", "-rn", "dragon", "guide"]}`), "200", `{"stdout":"","stderr":"","returncode":1}`},
		{"foreign origin", "/weekday", append([]string{"-H", "Origin: https://example.org"}, weekday...), "403", `"code":"origin_denied"`},
		{"foreign host", "/weekday", append([]string{"-H", "Host: example.org"}, weekday...), "403", `"code":"origin_denied"`},
		{"another method", "/weekday", []string{"-X", "DELETE"}, "405", `"code":"method"`},
		{"a page", "/docs", nil, "200", "# The guide"},
		{"a file", "/docs/guide/keys.txt", nil, "200", "A key opens one door."},
		{"a command", "/weekday", weekday, "200", `{"stdout":"Saturday\n","stderr":"","returncode":0}`},
		{"a search", "/docs", post(`{"command": ["grep", "-rn", "Knock", "guide"]}`), "200", `guide/doors.txt:2:Knock before you enter.`},
		{"a pattern that holds", "/docs", post(`{"command": ["cat", "guide/keys.txt"]}`), "200", "A key opens one door."},
		{"a pattern that does not", "/docs", post(`{"command": ["cat", "guide/../README.md"]}`), "403", `"code":"not_allowed"`},
		{"a query", "/shop", post(`{"command": ["sqlite3", "-batch", "-safe", "-csv", "-init", "shop.sql", ":memory:", "SELECT name FROM goods WHERE stock > 10"]}`), "200", `"hinge\n"`},
		{"a change", "/shop", post(`{"command": ["sqlite3", "-batch", "-safe", "-csv", "-init", "shop.sql", ":memory:", "DELETE FROM goods"]}`), "403", `"code":"not_allowed"`},
		{"a change behind a query", "/shop", post(`{"command": ["sqlite3", "-batch", "-safe", "-csv", "-init", "shop.sql", ":memory:", "SELECT 1; DELETE FROM goods"]}`), "403", `"code":"not_allowed"`},
	} {
		args := append([]string{"-s", "--path-as-is", "-w", "\n%{http_code}", "http://127.0.0.1:" + port + test.path}, test.args...)
		out, err := exec.Command("curl", args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		body, status, _ := strings.Cut(string(out), "\n"+test.status)
		if !strings.HasSuffix(string(out), "\n"+test.status) || status != "" || !strings.Contains(body, test.has) {
			t.Errorf("%s: %s; want %s and %s", test.name, out, test.status, test.has)
		}
	}
}
