//go:build linux && (amd64 || arm64)

package site_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/site"
)

// A page whose bytes are not text is given as it is, and allows nothing.
func TestPagesThatAreNoText(t *testing.T) {
	r := start(t, living(map[string]string{
		"a.md": "\xff\xfe", "b.md": page("[touch, ran]") + "\xff", "c.md": "---\n# \xff\ntools: [[touch, ran]]\n---\n",
		"d.md": component("touch ran") + "\n\xff",
	}))
	for _, target := range []string{"/a", "/b", "/c", "/d"} {
		if a := r.ask(get(target)); a.StatusCode != 200 || a.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s: %d %v", target, a.StatusCode, a.Header)
		}
		if a := r.ask(run(target, "touch", "ran")); a.StatusCode != 400 || !strings.HasSuffix(a.code(), "frontmatter") || r.has("ran") {
			t.Errorf("%s: %d %s", target, a.StatusCode, a.body)
		}
	}
}

// What is neither a file nor a directory is not there, and nobody waits for it.
func TestSpecialFiles(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": "# x", "null": "-> /dev/null"}})
	if err := syscall.Mkfifo(filepath.Join(r.root, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(r.root, "page.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/fifo", "/page", "/page.md"} {
		r.ask(get(target)).wantRefusal(t, "GET", 404, "not_found")
		r.ask(run(target, "ls")).wantRefusal(t, "POST", 404, "not_found")
	}
	r.ask(get("/null")).wantRefusal(t, "GET", 403, "path_denied")
}

// A page that this user may not read is a failure of the site's, not of the caller's.
func TestUnreadablePages(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[touch, ran]")}})
	name := filepath.Join(r.root, "README.md")
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(name); err == nil { // as root
		r.ask(run("/", "touch", "ran")).wantOutput(t, "", 0)
		return
	}
	r.ask(get("/")).wantRefusal(t, "GET", 500, "internal")
	r.ask(run("/", "touch", "ran")).wantRefusal(t, "POST", 500, "internal")
	if r.has("ran") {
		t.Error("it was run")
	}
}

// A directory that is gone is where nothing can be run.
func TestWorkingDirectoryIsGone(t *testing.T) {
	for _, dir := range []string{"", "/no/such/directory", "relative"} {
		r := start(t, setup{config: func(c *site.Config) { c.Root = "" }, options: []site.Option{
			site.WithContentResolver(resolverFunc(func(context.Context, string) (*site.Content, error) {
				text := page("[touch, /tmp/durward-test-ran]")
				return &site.Content{Path: "README.md", Dir: dir, Size: int64(len(text)), Body: inMemory{strings.NewReader(text)}}, nil
			})),
		}})
		a := r.ask(run("/", "touch", "/tmp/durward-test-ran"))
		if a.StatusCode < 400 || dir != "relative" && a.code() != "exec_failed" {
			t.Errorf("%q: %d %s", dir, a.StatusCode, a.body)
		}
		if _, err := os.Stat("/tmp/durward-test-ran"); err == nil {
			t.Fatalf("%q: it was run", dir)
		}
	}
}

// The built-in list shows what pages could be named by, below the page's directory.
func TestGlob(t *testing.T) {
	files := map[string]string{
		"README.md": page("[glob, {}]", "[glob, '../*', now]"), "sub/README.md": page("[glob, {}]", "[glob, '../*', ';']", "[glob, /etc/*, ';']"),
		"sub/a.txt": "", "sub/b.txt": "", "sub/deep/c.txt": "", "sub/.env": "", "sub/deep/.git/x": "", "out": "-> /etc", "in": "-> sub", "secret.toml": "",
	}
	r := start(t, setup{files: files, config: func(c *site.Config) {
		c.Hidden, c.Limits.ListItems = []string{filepath.Join(c.Root, "secret.toml")}, 5
	}})
	for pattern, want := range map[string]string{
		"*": "README.md\na.txt\nb.txt\ndeep", "*.txt": "a.txt\nb.txt", "**/*.txt": "a.txt\nb.txt\ndeep/c.txt", "[!a].txt": "b.txt", "none*": "", "?.txt": "a.txt\nb.txt",
		".*": "", "deep/.git/*": "",
	} {
		a := r.ask(run("/sub", "glob", pattern))
		a.wantOutput(t, want, 0)
	}
	a := r.ask(run("/", "glob", "**"))
	if out, _ := a.members(t)["stdout"].(string); strings.Count(out, "\n") != 4 || strings.Contains(out, "secret") || a.members(t)["stderr"] == "" {
		t.Errorf("%s", a.body)
	}
	for _, pattern := range []string{"out/*", "in/*", "*.toml"} {
		r.ask(run("/", "glob", pattern)).wantOutput(t, "", 0)
	}
	for _, pattern := range []string{"../*", "a..b", "sub/../*", "/etc/*", "~/*"} {
		if a := r.ask(run("/", "glob", pattern)); a.StatusCode != 403 {
			t.Errorf("%s: %d %s", pattern, a.StatusCode, a.body)
		}
	}
	r.ask(run("/sub", "glob", "../*")).wantRefusal(t, "POST", 403, "arg_denied")
}

// What a caller puts into an author's variable is the caller's: it picks no program, and
// leads nowhere else.
func TestVariablesOfCallersAreGuarded(t *testing.T) {
	files := map[string]string{
		"README.md": page("[$TOOL, x]", "[cat, $FILE, ';']", "[cat, 'sub/$FILE', sub, ';']", "[echo, '../$FILE', up, ';']", "[echo, '--file=$FILE', ';']", "[echo, '$URL', url, ';']", "[echo, 'https://example.com$FILE', ';']"),
		"sub/x":     "x",
	}
	r := start(t, setup{files: files, config: func(c *site.Config) { c.Env = map[string]string{"URL": "/of/the/server"} }})
	ask := func(file string, command ...string) answer {
		return r.ask(post("/", fmt.Sprintf(`{"command": ["%s"], "env": {"FILE": %q, "TOOL": "touch", "URL": "/mine"}}`, strings.Join(command, `", "`), file)))
	}
	ask("", "$TOOL", "x").wantRefusal(t, "POST", 500, "exec_failed")
	if r.has("x") {
		t.Error("the caller picked the program")
	}
	for _, file := range []string{"/etc/passwd", "../x", "~/x", "a/../../x"} {
		ask(file, "cat", "$FILE").wantRefusal(t, "POST", 403, "arg_denied")
		ask(file, "echo", "../$FILE", "up").wantRefusal(t, "POST", 403, "arg_denied")
	}
	ask("/etc/passwd", "echo", "--file=$FILE").wantRefusal(t, "POST", 403, "arg_denied")
	ask("../../x", "cat", "sub/$FILE", "sub").wantRefusal(t, "POST", 403, "arg_denied")
	ask("sub/x", "cat", "$FILE").wantOutput(t, "x", 0)
	ask("sub/x", "echo", "../$FILE", "up").wantOutput(t, "../sub/x up\n", 0)
	ask("x", "echo", "--file=$FILE").wantOutput(t, "--file=x\n", 0)
	ask("/v1", "echo", "https://example.com$FILE").wantOutput(t, "https://example.com/v1\n", 0)
	ask("x", "echo", "$URL", "url").wantOutput(t, "/of/the/server url\n", 0)
}

// No variable of a caller's makes a program run what the page does not allow, unless the
// page says that it may be set.
func TestVariablesOfCallersRunNothing(t *testing.T) {
	const archive = "[tar, -cf, /dev/null, x, ;]"
	r := start(t, setup{files: map[string]string{
		"README.md": page(archive), "listed.md": "---\ntools: [[printenv, {}]]\nenv: [TAR_OPTIONS]\n---\n", "x": "x",
	}})
	const env = `"env": {"TAR_OPTIONS": "--checkpoint=1 --checkpoint-action=exec=touch\\ ran"}`
	r.ask(post("/", `{"command": ["tar", "-cf", "/dev/null", "x"], `+env+`}`)).wantRefusal(t, "POST", 400, "bad_env")
	if r.has("ran") {
		t.Error("the caller's command was run")
	}
	if a := r.ask(post("/listed", `{"command": ["printenv", "TAR_OPTIONS"], `+env+`}`)); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// The guard can be turned off for a site, and the author turns it off for a word by a
// pattern that says all of it.
func TestArgumentGuard(t *testing.T) {
	files := map[string]string{"README.md": page("[echo, {regex: '^/etc/[a-z]+$'}, ';']", "[echo, {regex: '^/etc'}, x]", "[echo, ../data, {}]")}
	r := start(t, setup{files: files})
	r.ask(run("/", "echo", "/etc/passwd")).wantOutput(t, "/etc/passwd\n", 0)
	r.ask(run("/", "echo", "/etc/passwd", "x")).wantRefusal(t, "POST", 403, "arg_denied")
	r.ask(run("/", "echo", "../data", "x", "https://example.com/../x", "a..b", "HEAD~2..HEAD", "-n")).
		wantOutput(t, "../data x https://example.com/../x a..b HEAD~2..HEAD -n\n", 0)
	r.ask(run("/", "echo", "../data", "..")).wantRefusal(t, "POST", 403, "arg_denied")
	open := start(t, setup{files: files, config: func(c *site.Config) { c.NoArgumentGuard = true }})
	open.ask(run("/", "echo", "/etc/passwd", "x", "../..")).wantOutput(t, "/etc/passwd x ../..\n", 0)
}

// A site works behind the server of net/http, too, and notices there that its client is
// gone.
func TestBehindNetHTTP(t *testing.T) {
	r := start(t, shells(nil))
	server := httptest.NewServer(r.handler)
	defer server.Close()
	r.addr = strings.TrimPrefix(server.URL, "http://")
	if a := r.ask(get("/")); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	r.ask(sh("echo x")).wantOutput(t, "x\n", 0)
	r.ask(run("//x", "ls")).wantRefusal(t, "POST", 403, "path_denied")
	m := newMarker()
	c := r.send(sh("setsid sleep %[1]s & sleep %[1]s", m))
	within(t, patience, "the command runs", func() bool { return m.alive() >= 2 })
	c.Close()
	within(t, patience, "it is dead", func() bool { return m.alive() == 0 })
}

// A closed site gives nothing more, and says so.
func TestAClosedSiteReadsNothing(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": "# x"}})
	if err := r.handler.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	a := r.ask(get("/"))
	if a.StatusCode < 500 || a.code() == "" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// A program that ends a site says how long it waits for what runs; what it cuts short is
// told so.
func TestShutdownOfTheHandler(t *testing.T) {
	r := start(t, shells(nil))
	m := newMarker()
	c := r.send(sh("setsid sleep %[1]s & sleep %[1]s", m))
	within(t, patience, "the command runs", func() bool { return m.alive() >= 2 })
	now, cancel := context.WithCancel(t.Context())
	cancel()
	r.handler.(interface{ Shutdown(context.Context) }).Shutdown(now)
	if left := m.alive(); left > 0 {
		t.Errorf("%d processes live", left)
	}
	r.read(newReader(c), "POST").wantRefusal(t, "POST", 503, "shutting_down")
	r.ask(sh("touch ran")).wantRefusal(t, "POST", 503, "shutting_down")
	if r.has("ran") {
		t.Error("it was run")
	}
}

// Middleware may give a request less time.
func TestMiddlewareThatHurries(t *testing.T) {
	s := shells(nil)
	s.options = append(s.options, site.WithMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}))
	r := start(t, s)
	m := newMarker()
	r.ask(sh("setsid sleep %[1]s & sleep %[1]s", m)).wantRefusal(t, "POST", 408, "timeout")
	if left := m.alive(); left > 0 {
		t.Errorf("%d processes live", left)
	}
}

// What the operator's policy refuses is told without a word of this machine.
func TestTheOperatorsRefusalNamesNoPath(t *testing.T) {
	for name, text := range map[string]string{
		"unreadable": "mode: read-only\nfilesystem: {read: ['@system']}\n", "denied": "mode: read-only\nfilesystem: {deny: ['${workspace}/sub']}\n",
	} {
		t.Run(name, func(t *testing.T) {
			sandbox, err := site.ParseSandbox("policy.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			r := start(t, setup{files: map[string]string{"sub/README.md": page("[touch, ran]")}, config: func(c *site.Config) { c.Sandbox = sandbox }})
			a := r.ask(run("/sub", "touch", "ran"))
			if a.StatusCode < 400 || strings.Contains(a.body, r.root) || strings.Contains(a.body, "/tmp") || r.has("sub/ran") {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
		})
	}
}

// A site does not begin where no command could be held to its policy.
func TestNoSiteWithoutWhatThePolicyAsksFor(t *testing.T) {
	for text, rule := range map[string]string{
		"mode: read-only\nminLevel: 4\n":                                              "level",
		"mode: read-only\nlevel: 0\nrequire: [fs.write, fs.read, net, kill]\n":        "require",
		"mode: read-only\nlevel: 1\nfilesystem: {deny: ['${workspace}/README.md']}\n": "filesystem",
	} {
		sandbox, err := site.ParseSandbox("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		h, err := site.New(site.Config{Root: plant(t, map[string]string{"README.md": page("[true]")}), Sandbox: sandbox}, site.WithRecorder(&book{}))
		if e := durward.AsError(err); h != nil || e == nil || e.Reason != durward.SandboxUnavailable || e.Rule != rule || e.Hint == "" || strings.Contains(e.Error(), "%!") {
			t.Errorf("%s: %v, %v", text, h, err)
		}
	}
}

// A refusal does not tell what the server's variables hold.
func TestRefusalsTellNoVariables(t *testing.T) {
	for _, value := range []string{
		"ftp://topsecret/", "--topsecret", "http://topsecret:99999/", "http://topsecret.localhost/", "http://a topsecret/", "http://me:topsecret@example.com/",
		"topsecret", "http://127.0.0.1:80/topsecret", "[topsecret", "../topsecret", "/topsecret", "http://topsecret.invalid/", "http://0x7f.1.topsecret/", "http://example.com:22/topsecret",
	} {
		r := start(t, setup{files: map[string]string{
			"README.md": page("[curl, $V, ';']", "[curl, -X, $V, x, ';']", "[curl, -H, $V, x, ';']", "[glob, $V, ';']", "[$V, ';']", "[./$V, ';']", "[../$V, ';']", "[/$V, ';']"),
		}, config: func(c *site.Config) {
			c.Env, c.HTTP.Enabled = map[string]string{"V": value}, true
			c.Limits.Timeout = 5 * time.Second
		}})
		for _, command := range [][]string{{"curl", "$V"}, {"curl", "-X", "$V", "x"}, {"curl", "-H", "$V", "x"}, {"glob", "$V"}, {"$V"}, {"./$V"}, {"../$V"}, {"/$V"}} {
			if a := r.ask(run("/", command...)); strings.Contains(a.body, "topsecret") {
				t.Errorf("%q with %s: %d %s", command, value, a.StatusCode, a.body)
			}
		}
	}
}
