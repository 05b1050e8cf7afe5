//go:build linux || darwin

package site

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMigrationGuide runs each row of the table in docs/from-toolfront.md.
func TestMigrationGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/from-toolfront.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+?) \| [^|]+ \| [^|]+ \| [^|]+ \| [^|]+ \|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(migration)+1 { // the first is the head of the table
		t.Errorf("the guide has %d rows, and %d are run", len(rows)-1, len(migration))
	}
	for _, row := range rows[1:] {
		run, ok := migration[row[1]]
		if !ok {
			t.Errorf("the row %q is not run", row[1])
			continue
		}
		t.Run(row[1], run)
	}
}

// An oldSite is a site as statespace could have served it.
type oldSite struct {
	*testing.T
	url  string
	root string
}

func serveOld(t *testing.T, change func(*Config)) oldSite {
	t.Helper()
	root := filepath.Join(t.TempDir(), "site")
	for name, page := range map[string]string{
		"README.md":   "---\ntools:\n  - [sh, -c, {regex: \"^(exit 3|echo out; echo err >&2|sleep 60)$\"}]\n  - [echo, $WHO, {}]\n  - [cat, ../README.md]\n  - [cat, {}]\n  - [glob, {}]\n  - [curl, {}]\n---\n# Root\n",
		"notes.md":    "# Notes\n",
		"v1.2.md":     "# 1.2\n",
		"v1.md":       "# 1\n",
		"index.html":  "<p>index</p>",
		"AGENTS.md":   "# Mine\n",
		"look.md":     "---\ntools: [[cat, {regex: \"a(?!b)\"}]]\n---\n",
		"sub/page.md": "---\ntools: [[cat, ../README.md], [cat, {}]]\n---\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dir := root; strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Root: root, StateDir: t.TempDir()}
	if change != nil {
		change(&c)
	}
	handler, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if err := handler.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	return oldSite{t, server.URL, root}
}

// ask sends a request and gives the status, the header and the members of the answer.
func (s oldSite) ask(method, path, body string, header ...string) (int, http.Header, map[string]any, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.URL.Opaque = path
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	var members map[string]any
	_ = json.Unmarshal(text, &members)
	return answer.StatusCode, answer.Header, members, string(text)
}

func (s oldSite) want(method, path, body string, status int, members map[string]any, header ...string) {
	s.Helper()
	got, _, all, text := s.ask(method, path, body, header...)
	if got != status {
		s.Errorf("%s %s %s: %d, %s; want %d", method, path, body, got, text, status)
	}
	for name, value := range members {
		if all[name] != value {
			s.Errorf("%s %s %s: %s is %v; want %v", method, path, body, name, all[name], value)
		}
	}
}

func (s oldSite) get(path, want string) {
	s.Helper()
	if status, _, _, text := s.ask("GET", path, ""); status != 200 || !strings.HasPrefix(text, want) {
		s.Errorf("GET %s: %d, %q; want %q", path, status, text, want)
	}
}

var migration = map[string]func(*testing.T){
	"not allowed": func(t *testing.T) {
		serveOld(t, nil).want("POST", "/", `{"command": ["rm", "x"]}`, 403, map[string]any{"code": "not_allowed"})
	},
	"timeout": func(t *testing.T) {
		s := serveOld(t, func(c *Config) { c.Limits.Timeout = 200e6 })
		s.want("POST", "/", `{"command": ["sh", "-c", "sleep 60"]}`, 408, map[string]any{"code": "timeout"})
	},
	"response": func(t *testing.T) {
		s := serveOld(t, nil)
		s.want("POST", "/", `{"command": ["sh", "-c", "exit 3"]}`, 200, map[string]any{"returncode": 3.0})
		s.want("POST", "/", `{"command": ["sh", "-c", "echo out; echo err >&2"]}`, 200, map[string]any{"stdout": "out\n", "stderr": "err\n"})
		later := serveOld(t, func(c *Config) { c.DataEnvelope = true })
		if _, _, all, _ := later.ask("POST", "/", `{"command": ["sh", "-c", "exit 3"]}`); all["data"].(map[string]any)["returncode"] != 3.0 {
			t.Errorf("the later form is %v", all)
		}
	},
	"error body": func(t *testing.T) {
		_, _, all, _ := serveOld(t, nil).ask("POST", "/", `{"command": ["rm"]}`)
		if all["error"] != all["stderr"] || all["error"] == "" || all["stdout"] != "" || all["returncode"] != 1.0 {
			t.Errorf("the body is %v", all)
		}
	},
	"page type": func(t *testing.T) {
		s := serveOld(t, nil)
		for accept, want := range map[string]string{"*/*": "text/markdown; charset=utf-8", "text/html": "text/html; charset=utf-8"} {
			if _, header, _, _ := s.ask("GET", "/notes", "", "Accept", accept); header.Get("Content-Type") != want {
				t.Errorf("for %s the type is %s", accept, header.Get("Content-Type"))
			}
		}
	},
	"missing page with a dot in its name": func(t *testing.T) {
		s := serveOld(t, nil)
		s.want("GET", "/notes.v1", "", 404, nil)
		s.get("/v1.2", "# 1.2")
	},
	"`/`": func(t *testing.T) { serveOld(t, nil).get("/", "---\ntools:") },
	"absolute path": func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(serveOld(t, nil).url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET //notes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") // a client of net/http would mend it
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") || !strings.Contains(string(answer), `"code":"path_denied"`) {
			t.Errorf("%s, %v", answer, err)
		}
	},
	"request env": func(t *testing.T) {
		s := serveOld(t, nil)
		s.want("POST", "/", `{"command": ["echo", "$WHO", "$WHO"], "env": {"WHO": "me"}}`, 200, map[string]any{"stdout": "me $WHO\n"})
		s.want("POST", "/", `{"command": ["echo", "me", "x"], "env": {"WHO": "me"}}`, 403, nil)
	},
	"`args`": func(t *testing.T) {
		serveOld(t, nil).want("POST", "/", `{"command": ["cat", "{file}"], "args": {"file": "notes.md"}}`, 200, map[string]any{"stdout": "", "returncode": 1.0})
	},
	"argument guard": func(t *testing.T) {
		s := serveOld(t, nil)
		s.want("POST", "/sub/page", `{"command": ["cat", "/etc/hostname"]}`, 403, map[string]any{"code": "arg_denied"})
		s.want("POST", "/sub/page", `{"command": ["cat", "../README.md"]}`, 200, map[string]any{"returncode": 0.0})
		open := serveOld(t, func(c *Config) { c.NoArgumentGuard = true })
		open.want("POST", "/sub/page", `{"command": ["cat", "../notes.md"]}`, 200, map[string]any{"stdout": "# Notes\n"})
	},
	"`glob`": func(t *testing.T) {
		serveOld(t, nil).want("POST", "/", `{"command": ["glob", "v*.md"]}`, 200, map[string]any{"stdout": "v1.2.md\nv1.md"})
	},
	"`curl`": func(t *testing.T) {
		on := serveOld(t, func(c *Config) { c.HTTP.Enabled = true })
		on.want("POST", "/", `{"command": ["curl", "http://127.0.0.1/"]}`, 403, map[string]any{"code": "url_denied"})
		off := serveOld(t, func(c *Config) { c.Path = "/nowhere" })
		off.want("POST", "/", `{"command": ["curl", "http://127.0.0.1/"]}`, 500, map[string]any{"code": "exec_failed"})
	},
	"regular expressions": func(t *testing.T) {
		_, _, all, _ := serveOld(t, nil).ask("POST", "/look", `{"command": ["cat", "a"]}`)
		if message, _ := all["error"].(string); all["code"] != "bad_frontmatter" || !strings.Contains(message, "look-around") {
			t.Errorf("the answer is %v", all)
		}
	},
	"CORS": func(t *testing.T) {
		s := serveOld(t, nil)
		s.want("GET", "/", "", 403, map[string]any{"code": "origin_denied"}, "Origin", "https://example.org")
		if _, header, _, _ := s.ask("GET", "/", ""); header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("there are CORS headers")
		}
		listed := serveOld(t, func(c *Config) { c.AllowedOrigins = []string{"https://example.org"} })
		listed.want("GET", "/", "", 200, nil, "Origin", "https://example.org")
	},
	"configuration file": func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "site.toml")
		if err := os.WriteFile(file, []byte("[env]\nWHO = \"toml\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := serveOld(t, func(c *Config) {
			loaded, err := LoadConfig(file)
			if err != nil {
				t.Fatal(err)
			}
			c.Env = loaded.Env
		})
		s.want("POST", "/", `{"command": ["echo", "$WHO", "x"]}`, 200, map[string]any{"stdout": "toml x\n"})
	},
}
