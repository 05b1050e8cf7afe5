//go:build linux && (amd64 || arm64)

package site

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/httpedge"
)

// TestSiteIsADoor takes the calls that all doors take through the runtime of a site and
// through a POST: the records are the same.
func TestSiteIsADoor(t *testing.T) {
	const tool = "/battery"
	cases := coretest.StandardCases(t, tool, func(c durward.Call) durward.Call {
		c.Argv = []string{"sh", "-c", "echo no page allows it"}
		return c
	})
	page := map[string]any{"tools": []any{}}
	for i := range cases {
		c := &cases[i]
		c.Call.Path = tool
		c.Call.Argv = append([]string{"sh"}, c.Call.Argv[1:]...) // a page names programs by bare names
		if c.Leaves[0] != coretest.PhaseDeny {
			page["tools"] = append(page["tools"].([]any), append(toAny(c.Call.Argv), ";"))
		}
	}
	frontmatter, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(cases[0].Call.Dir, "battery.md"), "---\n"+string(frontmatter)+"\n---\n")
	coretest.SameCall(t, cases, []coretest.Door{siteRuntime(), siteDoor()})
}

func toAny(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// siteFor builds a fresh site for one case, which has its time from the configuration.
func siteFor(t testing.TB, c coretest.Case) (*site, func() []coretest.Record) {
	t.Helper()
	state := folder(t)
	h, err := New(Config{Root: c.Call.Dir, StateDir: state, Limits: Limits{Timeout: c.Within}})
	if err != nil {
		t.Fatal(err)
	}
	s := h.(*site)
	return s, func() []coretest.Record {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var lines []byte
		for e, err := range audit.Records(context.Background(), filepath.Join(state, "audit"), audit.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, e.Raw...), '\n')
		}
		return coretest.Decode(t, lines)
	}
}

// siteRuntime enters the core that stands behind a site.
func siteRuntime() coretest.Door {
	return coretest.Door{Name: "core", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		s, records := siteFor(t, c)
		c.Call.Door, c.Call.Caller, c.Call.Dir = "core", durward.Caller{Name: "test"}, ""
		_, _ = s.runtime.Do(ctx, c.Call) // the records tell
		return records()
	}}
}

// siteDoor enters by a POST to a server.
func siteDoor() coretest.Door {
	return coretest.Door{Name: "site", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		s, records := siteFor(t, c)
		post(ctx, t, s, string(c.Call.Tool), ActionRequest{Command: c.Call.Argv, Env: c.Call.Env})
		return records()
	}}
}

// post sends a request to a server of its own and waits until both have ended.
func post(ctx context.Context, t testing.TB, h http.Handler, path string, body ActionRequest) int {
	t.Helper()
	l, err := httpedge.Listen(ctx, httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- httpedge.New(h, httpedge.Options{}).Serve(serving, l) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, httpedge.URL(l.Addr())+path, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0 // the caller went away
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestHiddenFilesAreNotListed asks the built-in glob, which runs in the server itself.
func TestHiddenFilesAreNotListed(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "README.md"), "---\ntools: [[glob, \"*\", ;]]\n---\n")
	file := write(t, filepath.Join(dir, "site.toml"), "[auth]\ntoken_file = \"token\"\n")
	write(t, filepath.Join(dir, "token"), "abc")
	if err := errors.Join(os.Symlink("site.toml", filepath.Join(dir, "link.toml")), os.Link(file, filepath.Join(dir, "hard.toml"))); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	c.Root, c.StateDir, c.Tokens = dir, folder(t), nil
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer h.(*site).Close()
	for _, path := range []string{"/site.toml", "/token", "/link.toml", "/hard.toml"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RequestURI = path
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("GET %s gives %d %s", path, w.Code, w.Body)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(`{"command":["glob","*"]}`))
	r.RequestURI = "/"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Body.String() != `{"stdout":"README.md","stderr":"","returncode":0}`+"\n" && w.Body.String() != `{"stdout":"README.md","stderr":"","returncode":0}` {
		t.Errorf("glob gives %d %s", w.Code, w.Body)
	}
}
