package site_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/site"
)

// Each file is given as it is, with a type that no browser takes for a page.
func TestFilesAreGivenAsTheyAre(t *testing.T) {
	pagesText := page("[ls]") + "<script>alert(1)</script>\n"
	text := map[string]string{
		"README.md": pagesText, "x.csv": "a,ü\n", "x.html": "<script>alert(1)</script>", "x.svg": "<svg onload='alert(1)'/>", "x.js": "alert(1)",
		"none": "text", "empty": "", "binary.md": "\xff\xfe\x00", "x.png": "\x89PNG\r\n\x1a\n", "nul.txt": "a\x00b",
		"late.txt": strings.Repeat("x", 100_000) + "\xff", "cut.txt": "ab\xc3", "across.txt": strings.Repeat("x", 32<<10-1) + "ü",
	}
	kinds := map[string]string{
		"README.md": "text/markdown; charset=utf-8", "binary.md": "application/octet-stream", "x.png": "application/octet-stream",
		"late.txt": "application/octet-stream", "cut.txt": "application/octet-stream",
	}
	r := start(t, setup{files: text})
	for name, want := range text {
		for _, accept := range []string{"", "*/*", "text/markdown, text/html;q=0.9", "text/plain"} {
			a := r.ask(get("/"+name).with("Accept", accept))
			kind := kinds[name]
			if kind == "" {
				kind = "text/plain; charset=utf-8"
			}
			if a.StatusCode != 200 || a.body != want || a.Header.Get("Content-Type") != kind || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s for %q: %d %v, %d bytes", name, accept, a.StatusCode, a.Header, len(a.body))
			}
			if strings.Contains(a.Header.Get("Cache-Control"), "public") || a.Header.Get("ETag") == "" || a.Header.Get("Last-Modified") == "" {
				t.Errorf("%s: %v", name, a.Header)
			}
		}
	}
}

// A HEAD has the head of a GET, and nothing behind it.
func TestHead(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[ls]"), "x.csv": "a,b\n"}})
	for _, target := range []string{"/", "/x.csv", "/AGENTS.md", "/favicon.ico"} {
		for _, accept := range []string{"", "text/html"} {
			q := get(target).with("Accept", accept)
			full := r.ask(q)
			q.method = "HEAD"
			head := r.ask(q)
			full.Header.Del("Date")
			head.Header.Del("Date")
			if head.StatusCode != full.StatusCode || head.body != "" || !maps.EqualFunc(full.Header, head.Header, func(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }) {
				t.Errorf("%s for %q: %v, and of the whole: %v", target, accept, head.Header, full.Header)
			}
		}
	}
}

// A client that has a page already is not sent it again, and is sent a changed one, even
// one that changed a moment ago and kept its size.
func TestConditionalReads(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": "# one", "x.csv": "a,b,one"}})
	for name, target := range map[string]string{"README.md": "/", "x.csv": "/x.csv"} {
		for i, text := range []string{"two", "six", "ten"} {
			first := r.ask(get(target))
			tag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
			if a := r.ask(get(target).with("If-None-Match", tag)); a.StatusCode != 304 || a.body != "" || a.Header.Get("ETag") != tag {
				t.Errorf("%s %d: the same: %d %v", name, i, a.StatusCode, a.Header)
			}
			if a := r.ask(get(target).with("Range", "bytes=2-3")); a.StatusCode != 206 || a.body != first.body[2:4] {
				t.Errorf("%s %d: a part: %d %q", name, i, a.StatusCode, a.body)
			}
			if a := r.ask(get(target).with("Range", "bytes=900-")); a.StatusCode != 416 {
				t.Errorf("%s %d: a part that is not there: %d", name, i, a.StatusCode)
			}
			head := request{method: "HEAD", target: target}.with("Range", "bytes=2-3")
			if a := r.ask(head); a.StatusCode != 200 || a.Header.Get("Content-Length") != strconv.Itoa(len(first.body)) || a.Header.Get("ETag") != tag {
				t.Errorf("%s %d: the head of a part: %d %v", name, i, a.StatusCode, a.Header)
			}
			path := filepath.Join(r.root, name)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(first.body, first.body[len(first.body)-3:], text, 1)
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
				t.Fatal(err)
			}
			for header, value := range map[string]string{"If-None-Match": tag, "If-Modified-Since": modified} {
				if a := r.ask(get(target).with(header, value)); a.StatusCode != 200 || a.body != changed {
					t.Errorf("%s %d: %s, and it changed: %d %q", name, i, header, a.StatusCode, a.body)
				}
			}
			if a := r.ask(get(target).with("Range", "bytes=0-1").with("If-Range", tag)); a.StatusCode != 200 {
				t.Errorf("%s %d: a part of another version: %d %q", name, i, a.StatusCode, a.body)
			}
		}
	}
}

// People get pages in a form without anything that could act, and only pages.
func TestPagesForPeople(t *testing.T) {
	hostile := page("[ls]") + "<script>alert(1)</script>\n\n[x](javascript:alert(1)) <img src=x onerror=alert(1)>\n\n| a | b |\n|---|---|\n| ~~c~~ | d |\n"
	r := start(t, setup{files: map[string]string{"README.md": hostile, "sub/README.md": hostile, "x.html": hostile, "index.html": "<script>alert(1)</script>"}})
	for _, target := range []string{"/", "/sub", "/README.md"} {
		raw, a := r.ask(get(target)), r.ask(get(target).with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"))
		if raw.body != hostile {
			t.Errorf("%s: %q", target, raw.body)
		}
		for _, answer := range []answer{raw, a} {
			if answer.Header.Get("Vary") != "Accept" {
				t.Errorf("%s: Vary is %q", target, answer.Header.Get("Vary"))
			}
		}
		csp := a.Header.Get("Content-Security-Policy")
		if a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "script-src") {
			t.Errorf("%s: %v", target, a.Header)
		}
		for _, bad := range []string{"<script", "javascript:", "onerror="} {
			if strings.Contains(a.body, bad) {
				t.Errorf("%s holds %q", target, bad)
			}
		}
		if !strings.Contains(a.body, "<table") || !strings.Contains(a.body, "<del") {
			t.Errorf("%s is not rendered: %s", target, a.body)
		}
		if raw.Header.Get("ETag") == a.Header.Get("ETag") || raw.Header.Get("ETag") == "" || a.Header.Get("ETag") == "" {
			t.Errorf("%s: both forms have the tag %s", target, a.Header.Get("ETag"))
		}
	}
	for _, target := range []string{"/x.html", "/index.html"} {
		if kind := r.ask(get(target).with("Accept", "text/html")).Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("%s is given as %s", target, kind)
		}
	}
}

// A site has a guide and an icon without holding them, and its own ones go first; in no
// case is anything written into it.
func TestGuideAndIcon(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": "# x"}})
	before := r.tree()
	guide := r.ask(get("/AGENTS.md"))
	if guide.StatusCode != 200 || guide.Header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("%d %v", guide.StatusCode, guide.Header)
	}
	for _, word := range []string{"GET", "POST", "command", "$", "shell"} {
		if !strings.Contains(guide.body, word) {
			t.Errorf("the guide says nothing of %s", word)
		}
	}
	for _, target := range []string{"/favicon.ico", "/favicon.svg"} {
		if a := r.ask(get(target)); a.StatusCode != 200 || a.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(a.body, "<svg") {
			t.Errorf("%s: %d %v", target, a.StatusCode, a.Header)
		}
	}
	shown := r.ask(get("/AGENTS.md").with("Accept", "text/html"))
	if shown.Header.Get("Content-Type") != "text/html; charset=utf-8" || guide.Header.Get("Vary") != "Accept" || !strings.Contains(shown.body, "</html>") {
		t.Errorf("people get the guide as %v", shown.Header)
	}
	r.ask(get("/").with("Accept", "text/html"))
	r.ask(run("/AGENTS.md", "ls")).wantRefusal(t, "POST", 404, "not_found")
	if now := r.tree(); now != before {
		t.Errorf("the site was changed:\n%s", now)
	}
	own := start(t, setup{files: map[string]string{"README.md": "# x", "AGENTS.md": "# mine", "favicon.svg": "<svg>mine</svg>"}})
	if a := own.ask(get("/AGENTS.md")); a.body != "# mine" {
		t.Errorf("the guide is %q", a.body)
	}
	for _, target := range []string{"/favicon.ico", "/favicon.svg"} {
		a := own.ask(get(target))
		if a.body != "<svg>mine</svg>" || a.Header.Get("Content-Type") != "image/svg+xml" {
			t.Errorf("%s: %q", target, a.body)
		}
		if csp := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "script-src") {
			t.Errorf("%s: a script in it runs in the name of the site: %q", target, csp)
		}
	}
}

// A page is found as the table of the documentation says, for reading and for running
// alike.
func TestHowPagesAreFound(t *testing.T) {
	all := map[string]string{
		"README.md": "root", "docs/README.md": "docs", "bare/x.md": "x", "bare.md": "never", "file.md": "file",
		"data/x.csv": "csv", "v1.2.md": "v1.2", "v1.md": "v1", "both.md": "never", "both/README.md": "both", "notes.md": "notes",
		"in.md": "-> docs/README.md", "linked": "-> docs",
	}
	r := start(t, setup{files: all})
	for target, want := range map[string]string{
		"/": "root", "": "root", "/docs": "docs", "/docs/": "docs", "/docs//": "docs", "/docs/README": "docs", "/docs//README.md": "docs", "/file": "file",
		"/file.md": "file", "/file/": "file", "/data/x.csv": "csv", "/v1.2": "v1.2", "/both": "both", "/in": "docs", "/linked": "docs", "/bare/x": "x",
		"/file?x=..": "file", "/d%6fcs": "docs", "/bare": "", "/file.md.md": "", "/notes.v1": "", "/data": "", "/readme.md": "", "/DOCS": "",
	} {
		if target == "" {
			target = "/?"
		}
		a := r.ask(get(target))
		if want == "" && a.StatusCode != 404 || want != "" && (a.StatusCode != 200 || a.body != want) {
			t.Errorf("%s: %d %q, want %q", target, a.StatusCode, a.body, want)
		}
		wanted := "no_frontmatter"
		if want == "" {
			wanted = "not_found"
		}
		if a := r.ask(run(target, "ls")); a.code() != wanted {
			t.Errorf("POST %s: %d %s", target, a.StatusCode, a.body)
		}
	}
}

// What a page no longer allows is not run, even when it changed a moment ago and kept
// its size and its times.
func TestPagesAreNeverStale(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[echo, a]")}})
	path := filepath.Join(r.root, "README.md")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"b", "c", "d", "e"} {
		r.ask(run("/", "echo", string(word[0]-1))).wantOutput(t, string(word[0]-1)+"\n", 0)
		if err := os.WriteFile(path, []byte(page("[echo, "+word+"]")), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		r.ask(run("/", "echo", string(word[0]-1))).wantRefusal(t, "POST", 403, "not_allowed")
		r.ask(run("/", "echo", word)).wantOutput(t, word+"\n", 0)
	}
}

// A request that comes while the server ends is refused in the form of every other one.
func TestShuttingDown(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[sh, -c, {}]")}, edge: httpedge.Options{Grace: 50 * time.Millisecond, AnswerGrace: patience}})
	c := r.send(run("/", "sh", "-c", "touch up; sleep 600"))
	within(t, patience, "the command runs", func() bool { return r.has("up") })
	r.stop()
	a := r.read(newReader(c), "POST")
	a.wantRefusal(t, "POST", 503, "shutting_down")
	if ended := r.book.take(); phases(ended) != "intent outcome" {
		t.Errorf("the records are %s", phases(ended))
	}
}

// A closed site refuses to run, in the form of every other refusal.
func TestAClosedSiteRunsNothing(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[touch, {}]")}, config: func(c *site.Config) { c.DataEnvelope = true }})
	if s, ok := r.handler.(interface{ Close() error }); !ok || s.Close() != nil {
		t.Fatal("it does not close")
	}
	r.ask(run("/", "touch", "ran")).wantRefusal(t, "POST", 503, "shutting_down")
	if r.has("ran") {
		t.Error("it was run")
	}
}

// An endless body is text that goes on for as long as the test does.
type endless struct {
	over        <-chan struct{}
	read, ended chan struct{}
	first, last sync.Once
}

func (e *endless) Read(p []byte) (int, error) {
	e.first.Do(func() { close(e.read) })
	select {
	case <-e.over:
		return 0, io.EOF
	default:
		return copy(p, "text"), nil
	}
}

func (e *endless) Seek(int64, int) (int64, error) { return 0, nil }

func (e *endless) Close() error {
	e.last.Do(func() { close(e.ended) })
	return nil
}

// Nobody's file is read on: neither when its client has left, nor when the server is to
// end, which it then does.
func TestAReadEndsWithItsRequest(t *testing.T) {
	for name, end := range map[string]func(r *running, c io.Closer){
		"the client left":   func(_ *running, c io.Closer) { c.Close() },
		"the server is off": func(r *running, _ io.Closer) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{})
			body := &endless{over: over, read: make(chan struct{}), ended: make(chan struct{})}
			r := start(t, setup{edge: httpedge.Options{Grace: time.Millisecond}, options: []site.Option{
				site.WithContentResolver(resolverFunc(func(context.Context, string) (*site.Content, error) {
					return &site.Content{Body: body, Path: "large.txt", Size: 1 << 40}, nil
				})),
			}})
			t.Cleanup(func() { close(over) })
			c := r.send(request{method: "HEAD", target: "/large.txt"})
			<-body.read
			end(r, c)
			select {
			case <-body.ended:
			case <-time.After(patience):
				t.Error("the file is still read")
			}
		})
	}
}

// Middleware may give a read less time.
func TestAReadThatIsHurried(t *testing.T) {
	over := make(chan struct{})
	r := start(t, setup{options: []site.Option{
		site.WithContentResolver(resolverFunc(func(context.Context, string) (*site.Content, error) {
			body := &endless{over: over, read: make(chan struct{}), ended: make(chan struct{})}
			return &site.Content{Body: body, Path: "large.txt", Size: 1 << 40}, nil
		})),
		site.WithMiddleware(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond)
				defer cancel()
				next.ServeHTTP(w, r.WithContext(ctx))
			})
		}),
	}})
	t.Cleanup(func() { close(over) })
	r.ask(get("/large.txt")).wantRefusal(t, "GET", 408, "timeout")
}

// A large file is looked through for its kind once, not for each part of it.
func TestALargeFileIsLookedThroughOnce(t *testing.T) {
	var looks atomic.Int64
	const size = 64 << 20
	r := start(t, setup{options: []site.Option{
		site.WithContentResolver(resolverFunc(func(context.Context, string) (*site.Content, error) {
			body := &counted{ReadSeeker: io.NewSectionReader(spaces{}, 0, size), bytes: &looks}
			return &site.Content{Body: body, Path: "large.txt", Size: size, Key: "1"}, nil
		})),
	}})
	for range 3 {
		a := r.ask(get("/large.txt").with("Range", "bytes=7-9"))
		if a.StatusCode != 206 || a.body != "   " || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%d %v %q", a.StatusCode, a.Header, a.body)
		}
	}
	if got := looks.Load(); got >= 2*size {
		t.Errorf("%d bytes were read of a file of %d", got, size)
	}
}

// Spaces is a file of spaces.
type spaces struct{}

func (spaces) ReadAt(p []byte, _ int64) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A counted body adds up what is read of it.
type counted struct {
	io.ReadSeeker
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (*counted) Close() error { return nil }
