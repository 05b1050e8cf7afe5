//go:build linux && (amd64 || arm64)

package site_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/site"
)

// component gives a block whose code is replaced by what it prints.
func component(code string) string { return "```component\n" + code + "\n```" }

// living has components run, by another user than ours, who can make files beside the
// pages and write none of these.
func living(files map[string]string, config ...func(*site.Config)) setup {
	return setup{files: files, open: true, config: func(c *site.Config) {
		c.Components, c.Sandbox, c.SandboxLevel = true, site.Sandbox{}, durward.LevelNone // what they leave is looked at
		for _, change := range config {
			change(c)
		}
	}}
}

// alone reports that nobody but ourselves can run commands here, so that no component
// is run; see TestComponentsOfOurOwnPages.
func alone(t *testing.T) bool {
	if os.Geteuid() == 0 {
		return false
	}
	t.Log("only a runtime that is root runs commands as somebody else")
	return true
}

// Unless they are turned on, components are text like any other.
func TestComponentsAreOff(t *testing.T) {
	text := "# x\n" + component("touch ran") + "\n"
	r := start(t, setup{files: map[string]string{"README.md": text}})
	for _, accept := range []string{"", "text/html"} {
		if a := r.ask(get("/?A-B=%zz").with("Accept", accept)); a.StatusCode != 200 || accept == "" && a.body != text || a.Header.Get("ETag") == "" {
			t.Errorf("%d %v %s", a.StatusCode, a.Header, a.body)
		}
	}
	if r.has("ran") || len(r.book.take()) > 0 {
		t.Error("it was run")
	}
}

// What a component prints takes its place, and what it fails with is told in fixed words.
func TestComponents(t *testing.T) {
	if alone(t) {
		return
	}
	long := strings.Repeat("ü", 128) // 256 bytes
	tests := map[string]struct{ code, want string }{
		"output":                {"echo a; echo b; echo; echo err >&2", "a\nb"},
		"blanks behind":         {`printf ' x \t\r\n\n '`, " x"},
		"wide blanks behind":    {`printf 'x\302\240\342\200\203\n'`, "x"},
		"none":                  {":", ""},
		"several lines":         {"x=1\necho $x", "1"},
		"empty":                 {"", ""},
		"not text":              {`printf 'a\377'`, "a\ufffd"},
		"another component":     {"printf '```component\\necho no\\n```\\n'", "```component\necho no\n```"},
		"its directory":         {"basename $PWD", "sub"},
		"no input":              {"cat", ""},
		"a server variable":     {"echo $KEY $HOME", "k /tmp"},
		"exit":                  {"echo out; echo ' err ' >&2; exit 3", "[eval error: exit 3 — err]"},
		"exit, output only":     {"echo out; exit 3", "[eval error: exit 3 — out]"},
		"a signal":              {"echo x; kill -KILL $$", "[eval error: exit 137 — x]"},
		"256 bytes of detail":   {"printf " + long + " >&2; exit 1", "[eval error: exit 1 — " + long + "]"},
		"more":                  {"printf x" + long + " >&2; exit 1", "[eval error: exit 1 — x" + long[:254] + "…]"},
		"what it left":          {"sleep 600 & echo done", "done"},
		"at the output limit":   {"head -c 1000 /dev/zero | tr '\\0' x", strings.Repeat("x", 1000)},
		"over the output limit": {"printf x; for i in $(seq 500); do printf ü; done; printf ü", "x" + strings.Repeat("ü", 499)},
	}
	files := map[string]string{}
	for name, test := range tests {
		files["sub/"+name+".md"] = "before\n" + component(test.code) + "\nafter\n"
	}
	r := start(t, living(files, func(c *site.Config) { c.Env, c.Limits.OutputBytes = map[string]string{"KEY": "k"}, 1000 }))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := r.ask(get("/sub/" + strings.ReplaceAll(name, " ", "%20")))
			if want := "before\n" + test.want + "\nafter\n"; a.StatusCode != 200 || a.body != want {
				t.Errorf("%d %.500q, want %.500q", a.StatusCode, a.body, want)
			}
			if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("ETag") != "" || a.Header.Get("Last-Modified") != "" || a.Header.Get("Content-Type") != "text/markdown; charset=utf-8" {
				t.Errorf("the head is %v", a.Header)
			}
		})
	}
}

// What only looks like a component is text.
func TestNoComponents(t *testing.T) {
	for name, text := range map[string]string{
		"another word": "```sh\ntouch ran\n```\n", "more words": "```component x\ntouch ran\n```\n", "another case": "```Component\ntouch ran\n```\n",
		"open": "```component\ntouch ran\n", "tildes": "~~~component\ntouch ran\n~~~\n", "indented": " ```component\ntouch ran\n ```\n",
		"in a longer fence": "````\n```component\ntouch ran\n```\n````\n", "in tildes": "~~~\n```component\ntouch ran\n```\n~~~\n",
		"in another block": "```md\n ```component\n```\n", "in frontmatter": "---\nx: |\n  ```component\n  touch ran\n  ```\n---\n",
	} {
		r := start(t, living(map[string]string{"README.md": text, "x.txt": component("touch ran") + "\n", "x.html": component("touch ran")}))
		for target, want := range map[string]string{"/": text, "/x.txt": component("touch ran") + "\n", "/x.html": component("touch ran")} {
			if a := r.ask(get(target)); a.body != want {
				t.Errorf("%s, %s: %q", name, target, a.body)
			}
		}
		if r.has("ran") || len(r.book.take()) > 0 {
			t.Errorf("%s: it was run", name)
		}
	}
}

// A HEAD runs nothing, a GET runs each component and records it, and a POST cannot.
func TestWhoRunsComponents(t *testing.T) {
	if alone(t) {
		return
	}
	r := start(t, living(map[string]string{"README.md": page("[ls]") + component("touch ran; echo x") + "\n" + component("exit 1") + "\n"}))
	head := r.ask(request{method: "HEAD", target: "/"})
	if head.StatusCode != 200 || head.Header.Get("Cache-Control") != "no-store" || r.has("ran") || len(r.book.take()) > 0 {
		t.Errorf("%d %v, ran: %v", head.StatusCode, head.Header, r.has("ran"))
	}
	r.ask(run("/", "sh", "-c", "touch ran; echo x")).wantRefusal(t, "POST", 403, "not_allowed")
	r.ask(get("/").with("Host", "evil.example")).wantRefusal(t, "GET", 403, "origin_denied")
	if r.has("ran") {
		t.Fatal("it was run")
	}
	r.book.take()
	a := r.ask(get("/").with("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01").with("X-Request-Id", "mine-1"))
	if !r.has("ran") || !strings.Contains(a.body, "x\n[eval error: exit 1 — ]\n") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	count := map[string]int{}
	ids := map[durward.CallID]bool{}
	for _, n := range r.book.take() {
		count[n.phase]++
		ids[n.call.ID] = true
		if n.call.Surface != "component" || n.call.Door != "site" || n.call.Tool != "/" || n.call.Path != "/" || n.decision.Rule != "components" ||
			n.decision.Where.File != "README.md" || n.call.ClientID != "mine-1" || n.call.Trace.ID() != traceID {
			t.Errorf("the record is %+v", n)
		}
	}
	if fmt.Sprint(count) != "map[intent:2 outcome:2]" || len(ids) != 2 {
		t.Errorf("the records are %v of %d calls", count, len(ids))
	}
}

// Four components run at a time, 32 in all.
func TestManyComponents(t *testing.T) {
	if alone(t) {
		return
	}
	code := `mktemp -d begun.XXXXXX >/dev/null
until [ $(ls -d begun.* | wc -l) -ge 4 ]; do sleep 0.01; done
begun=$(ls -d begun.* | wc -l); echo $((begun - $(ls -d ended.* 2>/dev/null | wc -l)))
mktemp -d ended.XXXXXX >/dev/null`
	r := start(t, living(map[string]string{"README.md": strings.Repeat(component(code)+"\n", 34)}))
	lines := strings.Split(strings.TrimSuffix(r.ask(get("/")).body, "\n"), "\n")
	if len(lines) != 34 {
		t.Fatalf("%q", lines)
	}
	most := 0
	for i, line := range lines {
		n, err := strconv.Atoi(line)
		if most = max(most, n); i < 32 && (err != nil || n > 4) || i >= 32 && line != "[eval error: too many components]" {
			t.Errorf("%d: %q", i, line)
		}
	}
	if most != 4 {
		t.Errorf("at most %d ran at a time", most)
	}
}

// A component that takes too long is over, with all it started, when the page is given;
// the rest of the page is there.
func TestSlowComponents(t *testing.T) {
	if alone(t) {
		return
	}
	m := newMarker()
	text := component("setsid sleep "+string(m)+" & sleep "+string(m)) + "\n" + component("echo quick") + "\n"
	for _, limit := range []time.Duration{0, 3 * time.Second} {
		r := start(t, living(map[string]string{"README.md": text}, func(c *site.Config) { c.Limits.Timeout = limit }))
		shown := "5s"
		if limit > 0 {
			shown = "3s"
		}
		began := time.Now()
		a := r.ask(get("/"))
		if want := "[eval error: timed out after " + shown + "]\nquick\n"; a.body != want {
			t.Errorf("%q, want %q", a.body, want)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("it took %s", took)
		}
		if left := m.alive(); left > 0 {
			t.Errorf("%d processes live", left)
		}
	}
}

// Of a query, a component sees what its page lists, below the server's own variables.
func TestQueryVariables(t *testing.T) {
	if alone(t) {
		return
	}
	text := "---\nenv: [NAME, KEY, PATH, LD_X, PGHOST]\n---\n" + component(`echo "$NAME|$KEY|$OTHER|$LD_X|$PGHOST|$PATH"`) + "\n"
	r := start(t, living(map[string]string{"README.md": text, "plain.md": "# x"}, func(c *site.Config) { c.Env = map[string]string{"KEY": "server"} }))
	a := r.ask(get("/?NAME=a%20b&KEY=mine&OTHER=x&PATH=/evil&LD_X=x&PGHOST=h"))
	if want := "a b|server|||h|/usr/local/bin:/usr/bin:/bin\n"; !strings.HasSuffix(a.body, want) {
		t.Errorf("%q, want %q", a.body, want)
	}
	r.book.take()
	for _, query := range []string{"NAME=%zz", "NAME=1&NAME=2", "A-B=1", "NAME=%00", "NAME=a%0ab", "NAME=" + strings.Repeat("x", 4097), "NAME=1;x=2"} {
		r.ask(get("/?"+query)).wantRefusal(t, "GET", 400, "bad_env")
		if a := r.ask(get("/plain?" + query)); a.StatusCode != 200 {
			t.Errorf("%s: a page without components: %d", query, a.StatusCode)
		}
	}
	if len(r.book.take()) > 0 {
		t.Error("a component ran for a malformed query")
	}
}

// People see what components print, as text that cannot act.
func TestComponentsForPeople(t *testing.T) {
	if alone(t) {
		return
	}
	r := start(t, living(map[string]string{"README.md": component("echo '<script>alert(1)</script>'; echo '*x*'") + "\n"}))
	a := r.ask(get("/").with("Accept", "text/html"))
	if strings.Contains(a.body, "<script") || !strings.Contains(a.body, "<em>x</em>") || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("%v %s", a.Header, a.body)
	}
}

// A component that cannot be recorded is not run, and its page is read nevertheless.
func TestUnrecordedComponents(t *testing.T) {
	if alone(t) {
		return
	}
	r := start(t, living(map[string]string{"README.md": "# x\n" + component("touch ran") + "\n"}))
	r.book.fill()
	a := r.ask(get("/"))
	if a.StatusCode != 200 || !strings.HasPrefix(a.body, "# x\n[eval error: ") || strings.Contains(a.body, "/var/lib") || r.has("ran") {
		t.Errorf("%d %q, ran: %v", a.StatusCode, a.body, r.has("ran"))
	}
}

// Components whose client goes away end.
func TestComponentsOfAClientThatIsGone(t *testing.T) {
	if alone(t) {
		return
	}
	m := newMarker()
	r := start(t, living(map[string]string{"README.md": strings.Repeat(component("setsid sleep "+string(m)+" & sleep "+string(m))+"\n", 8)}))
	c := r.send(get("/"))
	within(t, patience, "they run", func() bool { return m.alive() >= 4 })
	began := time.Now()
	c.Close()
	within(t, patience, "they are dead", func() bool { return m.alive() == 0 })
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
}

// A page that its own commands could write is shown as it is: nobody gets a shell by
// writing one.
func TestComponentsOfOurOwnPages(t *testing.T) {
	text := "# x\n" + component("touch ran") + "\n"
	for name, change := range map[string]func(*site.Config){
		"the commands run as ourselves": func(c *site.Config) { c.Sandbox = unconfined(t) },
		"the built-in policy":           nil,
	} {
		if change == nil && os.Geteuid() == 0 {
			continue // runs them as somebody else
		}
		r := start(t, setup{files: map[string]string{"README.md": text}, config: func(c *site.Config) {
			c.Components = true
			if change != nil {
				change(c)
			}
		}})
		if a := r.ask(get("/")); a.StatusCode != 200 || a.body != text || r.has("ran") || len(r.book.take()) > 0 {
			t.Errorf("%s: %d %q", name, a.StatusCode, a.body)
		}
	}
}

// Of the pages whose components are not run the log tells, and Check.
func TestIdleComponentsAreTold(t *testing.T) {
	var log bytes.Buffer
	var checked site.Config
	start(t, setup{
		files: map[string]string{"README.md": "# x", "b.md": component("echo"), "a/c.md": component("echo"), "d.txt": component("echo")},
		config: func(c *site.Config) {
			c.Components, c.Sandbox, c.Logger = true, unconfined(t), slog.New(slog.NewTextHandler(&log, nil))
			checked = *c
		},
	})
	var told []string
	for line := range strings.Lines(log.String()) {
		if _, page, ok := strings.Cut(line, "page="); ok && strings.Contains(line, "shown and not run") {
			told = append(told, strings.TrimSpace(page))
		}
	}
	want := []string{"a/c.md", "b.md"}
	if !slices.Equal(told, want) {
		t.Errorf("the log tells of %q, not of %q: %s", told, want, log.String())
	}
	_, findings, err := site.Check(t.Context(), checked)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range findings {
		if !f.Fatal && strings.Contains(f.Message, "shown and not run") {
			found = append(found, f.Where.File)
		}
	}
	if want := []string{filepath.Join(checked.Root, "a/c.md"), filepath.Join(checked.Root, "b.md")}; !slices.Equal(found, want) {
		t.Errorf("Check finds %q, not %q", found, want)
	}
}

// What a command makes of the site while it is served does not run.
func TestComponentsThatSomebodyPutThere(t *testing.T) {
	if alone(t) {
		return
	}
	const commandUser = 65533
	mine := "# mine\n" + component("echo mine") + "\n"
	other := "# other\n" + component("touch ran; echo other") + "\n"
	place := func(r *running, name, text string, mode os.FileMode, uid int) {
		path := filepath.Join(r.root, name)
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), mode), os.Chmod(path+".new", mode), os.Chown(path+".new", uid, uid), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		change func(r *running)
		file   string
		runs   bool
	}{
		"nothing":                              {func(*running) {}, "a.md", true},
		"a new page of the commands' user":     {func(r *running) { place(r, "new.md", other, 0o644, commandUser) }, "new.md", false},
		"a new page of ours":                   {func(r *running) { place(r, "new.md", other, 0o644, 0) }, "new.md", false},
		"a page that was replaced by the user": {func(r *running) { place(r, "a.md", other, 0o644, commandUser) }, "a.md", false},
		"a page that was replaced by another":  {func(r *running) { place(r, "a.md", other, 0o644, 0) }, "a.md", false},
		"a page that all may write now":        {func(r *running) { must(t, os.Chmod(filepath.Join(r.root, "a.md"), 0o666)) }, "a.md", false},
		"a page that was given away":           {func(r *running) { must(t, os.Chown(filepath.Join(r.root, "a.md"), commandUser, 0)) }, "a.md", false},
		"a page that its group may write now": {func(r *running) {
			path := filepath.Join(r.root, "a.md")
			must(t, errors.Join(os.Chown(path, 0, commandUser), os.Chmod(path, 0o664)))
		}, "a.md", false},
		"a page that another group may write": {func(r *running) { must(t, os.Chmod(filepath.Join(r.root, "a.md"), 0o664)) }, "a.md", true},
		"a link to a page":                    {func(r *running) { must(t, os.Symlink("a.md", filepath.Join(r.root, "link.md"))) }, "link.md", true},
		"a link to a file that is no page":    {func(r *running) { must(t, os.Symlink("a.txt", filepath.Join(r.root, "link.md"))) }, "link.md", false},
		"a page that its author wrote over": {func(r *running) {
			must(t, os.WriteFile(filepath.Join(r.root, "a.md"), []byte(mine), 0o644))
		}, "a.md", true},
		"a page that its author replaced, where nobody else could": {func(r *running) {
			must(t, os.Chmod(r.root, 0o755))
			place(r, "shut/a.md", mine, 0o644, 0)
		}, "shut/a.md", true},
		"a page that came where nobody else could": {func(r *running) { place(r, "shut/b.md", mine, 0o644, 0) }, "shut/b.md", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, living(map[string]string{"a.md": mine, "a.txt": mine, "shut/a.md": mine}))
			must(t, os.Chmod(filepath.Join(r.root, "shut"), 0o755))
			test.change(r)
			a := r.ask(get("/" + test.file))
			if ran := strings.HasPrefix(a.body, "# mine\nmine\n"); a.StatusCode != 200 || ran != test.runs || r.has("ran") {
				t.Errorf("%d %q", a.StatusCode, a.body)
			}
			if n := len(r.book.take()); (n > 0) != test.runs {
				t.Errorf("%d records", n)
			}
		})
	}
}

// Of a secret that commands can read the log tells, and of no other.
func TestSecretsThatCommandsCanRead(t *testing.T) {
	if alone(t) {
		return
	}
	var log bytes.Buffer
	start(t, living(map[string]string{"README.md": "# x", "token": "x", "vars": "x"}, func(c *site.Config) {
		must(t, os.Chmod(filepath.Join(c.Root, "token"), 0o600))
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Hidden = []string{filepath.Join(c.Root, "token"), filepath.Join(c.Root, "vars"), "/etc/passwd"}
	}))
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "file=vars") {
		t.Errorf("%s", text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
