package site_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward/site"
)

// Whatever path is asked for, nothing outside the site is given or run, and it is never
// the site's own mistake.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "", "//", "/README.md", "/sub", "/sub/", "/%2e%2e/secret.md", "/..%2fsecret.md", "/%252e%252e/secret.md", "/out/secret", "/out", "/link", "/.env", "/.git/config",
		"/a%00", "/a%5cb", "/%ff", "/%c0%af", "/./sub", "/sub/../../secret.md", "http://localhost/", "*", "/?x=..", "/#", "/%zz", "/sub;x", "/.well-known/x", "/AGENTS.md",
		"/favicon.ico", "/favicon.svg", "/sub%2fREADME", "/" + strings.Repeat("a/", 300), "/" + strings.Repeat("x", 5000), "/%F0%9F%98%80", "/a\tb",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	root := plant(f, map[string]string{
		"site/README.md": page("[touch, ran]"), "site/sub/README.md": page("[touch, ran]"), "site/.env": secret, "site/.git/config": secret,
		"site/out": "-> ROOT", "site/link.md": "-> ../secret.md", "secret.md": page("[touch, ran]") + secret,
	})
	notes := &book{}
	h, err := site.New(site.Config{Root: filepath.Join(root, "site"), Sandbox: unconfined(f)},
		site.WithRecorder(notes), site.WithExecutor(runsNothing{filepath.Join(root, "site")}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.(io.Closer).Close() })
	f.Fuzz(func(t *testing.T, target string, running bool) {
		q := get(target)
		if running {
			q = run(target, "touch", "ran")
		}
		w := askHandler(h, q)
		body := w.Body.String()
		notes.take()
		if w.Code >= 500 || w.Code < 200 || w.Code >= 300 && w.Code < 400 {
			t.Errorf("%q: %d %s", target, w.Code, body)
		}
		if strings.Contains(body, secret) || strings.Contains(body, root) {
			t.Errorf("%q: %s", target, body)
		}
		if w.Code >= 400 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %s", target, body)
		}
		if decoded := strings.ToLower(target); w.Code < 400 && strings.Contains(strings.ReplaceAll(before(decoded, "?"), "%2e", "."), "..") {
			t.Errorf("%q: %d", target, w.Code)
		}
		if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
			t.Errorf("%q: it ran outside", target)
		}
	})
}

func before(text, mark string) string {
	text, _, _ = strings.Cut(text, mark)
	return text
}
