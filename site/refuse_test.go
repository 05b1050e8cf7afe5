package site_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/site"
)

// secret is what lies beside the site and must not be seen through it.
const secret = "a secret beside the site"

// wild is a site in which there is something to be found for every wrong request. All
// of its pages allow "touch ran".
func wild(t testing.TB) setup {
	t.Helper()
	outside := plant(t, map[string]string{"secret.md": page("[touch, ran]") + secret})
	hidden := plant(t, map[string]string{"x": ""})
	const touch = "[touch, {}]"
	s := setup{files: map[string]string{
		"README.md":          page(touch, "[no-such-program]", "[./not-a-program]", "[./script]", "[./gone/x]", `["false"]`, "[glob, {}]", "[curl, {}]", "[sh, -c, {}]"),
		"a..b.md":            page(touch),
		"plain.md":           "# no frontmatter, and touch ran\n",
		"broken.md":          "---\ntools:\n  - [touch, {}]\n  - [touch, 5]\n---\n",
		"binary.md":          "\xff\xfe",
		".env":               "TOKEN=" + secret,
		".git/config":        secret,
		"sub/.hidden.md":     page(touch),
		".well-known/ok.txt": "ok",
		"empty/":             "",
		"in":                 "-> sub",
		"sub/README.md":      page(touch),
		"out":                "-> " + outside,
		"out.link.md":        "-> " + filepath.Join(outside, "secret.md"),
		"relative.md":        "-> ../" + filepath.Base(outside) + "/secret.md",
		"etc":                "-> /etc",
		"absolute.md":        "-> ROOT/sub/README.md",
		"dangling.md":        "-> nowhere",
		"loop.md":            "-> loop.md",
		"script":             "#!/bin/sh\ntouch ran\n",
		"not-a-program":      "x",
		"large.md":           page(touch) + strings.Repeat("x", 4<<20),
		"site.toml":          "host = \"127.0.0.1\"\n",
	}}
	s.config = func(c *site.Config) {
		c.HTTP.Enabled = true
		c.Limits = site.Limits{Timeout: 30 * time.Second, OutputBytes: 1000}
		c.Hidden = []string{filepath.Join(c.Root, "site.toml"), filepath.Join(hidden, "x")}
	}
	return s
}

// A refused request leaves everything as it was, and says why in the one form.
func TestRefusals(t *testing.T) {
	const touch = `{"command": ["touch", "ran"]}`
	ran := run("/", "touch", "ran")
	env := func(env string) request { return post("/", `{"command": ["touch", "ran"], "env": `+env+`}`) }
	many := func(n int, name, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d": %q`, name, i, value)
		}
		return "{" + b.String()[1:] + "}"
	}
	tests := []struct {
		name    string
		request request
		status  int
		code    string
	}{
		// rows 1 and 2: the body
		{"no body", post("/", ""), 400, "bad_request"},
		{"not JSON", post("/", "touch ran"), 400, "bad_request"},
		{"cut short", post("/", touch[:len(touch)-1]), 400, "bad_request"},
		{"two values", post("/", touch+touch), 400, "bad_request"},
		{"trailing comma", post("/", `{"command": ["touch", "ran"],}`), 400, "bad_request"},
		{"comment", post("/", touch+"// x"), 400, "bad_request"},
		{"byte order mark", post("/", "\ufeff"+touch), 400, "bad_request"},
		{"a list", post("/", `["touch", "ran"]`), 400, "bad_request"},
		{"null", post("/", "null"), 400, "bad_request"},
		{"no command", post("/", `{"args": ["touch", "ran"]}`), 400, "bad_request"},
		{"command is null", post("/", `{"command": null}`), 400, "bad_request"},
		{"command is a string", post("/", `{"command": "touch ran"}`), 400, "bad_request"},
		{"command is an object", post("/", `{"command": {"0": "touch"}}`), 400, "bad_request"},
		{"a number in it", post("/", `{"command": ["touch", 5]}`), 400, "bad_request"},
		{"a null in it", post("/", `{"command": ["touch", null]}`), 400, "bad_request"},
		{"a list in it", post("/", `{"command": ["touch", ["ran"]]}`), 400, "bad_request"},
		{"a name twice", post("/", `{"command": ["true"], "command": ["touch", "ran"]}`), 400, "bad_request"},
		{"a name twice, escaped", post("/", `{"command": ["true"], "\u0063ommand": ["touch", "ran"]}`), 400, "bad_request"},
		{"an unknown name twice", post("/", `{"command": ["touch", "ran"], "x": 1, "x": 2}`), 400, "bad_request"},
		{"another case", post("/", `{"Command": ["touch", "ran"]}`), 400, "bad_request"},
		{"not UTF-8", post("/", "{\"command\": [\"touch\", \"ran\xff\"]}"), 400, "bad_request"},
		{"not UTF-8 in an unknown member", post("/", "{\"command\": [\"touch\", \"ran\"], \"x\": \"\xff\"}"), 400, "bad_request"},
		{"half a surrogate pair", post("/", `{"command": ["touch", "ran\ud800"]}`), 400, "bad_request"},
		{"deep", post("/", `{"command": ["touch", "ran"], "x": `+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`), 400, "bad_request"},
		// row 3: the content type
		{"no content type", ran.with("Content-Type", ""), 415, "bad_content_type"},
		{"plain text", ran.with("Content-Type", "text/plain"), 415, "bad_content_type"},
		{"a form", ran.with("Content-Type", "application/x-www-form-urlencoded"), 415, "bad_content_type"},
		{"almost JSON", ran.with("Content-Type", "application/jsonp"), 415, "bad_content_type"},
		{"JSON of another kind", ran.with("Content-Type", "application/ld+json"), 415, "bad_content_type"},
		{"text that names JSON", ran.with("Content-Type", "text/plain; x=application/json"), 415, "bad_content_type"},
		{"packed", ran.with("Content-Encoding", "gzip"), 415, "bad_content_type"},
		// row 4: its size
		{"announced too large", post("/", touch+strings.Repeat(" ", 1<<20)), 413, "body_too_large"},
		{"a byte too large", post("/", touch+strings.Repeat(" ", 1<<20-len(touch)+1)), 413, "body_too_large"},
		{
			"too large in chunks", post("/", fmt.Sprintf("%x\r\n%s\r\n100000\r\n%s\r\n0\r\n\r\n", len(touch), touch, strings.Repeat(" ", 1<<20))).
				with("Content-Length", "").with("Transfer-Encoding", "chunked"), 413, "body_too_large",
		},
		// rows 5 and 6: the command
		{"empty command", post("/", `{"command": []}`), 400, "bad_request"},
		{"NUL", post("/", `{"command": ["touch", "ran\u0000"]}`), 400, "bad_request"},
		{"1025 words", run("/", append([]string{"touch", "ran"}, make([]string, 1023)...)...), 400, "bad_request"},
		{"a long word", run("/", "touch", "ran", strings.Repeat("x", 128<<10+1)), 400, "bad_request"},
		// row 7: the variables
		{"env is a list", env(`[]`), 400, "bad_env"},
		{"env is null", env(`null`), 400, "bad_env"},
		{"env is a string", env(`"A=1"`), 400, "bad_env"},
		{"a number", env(`{"A": 1}`), 400, "bad_env"},
		{"a null", env(`{"A": null}`), 400, "bad_env"},
		{"a list", env(`{"A": ["1"]}`), 400, "bad_env"},
		{"no name", env(`{"": "1"}`), 400, "bad_env"},
		{"a digit first", env(`{"1A": "1"}`), 400, "bad_env"},
		{"a dash", env(`{"A-B": "1"}`), 400, "bad_env"},
		{"an equals sign", env(`{"A=B": "1"}`), 400, "bad_env"},
		{"not ASCII", env(`{"Ä": "1"}`), 400, "bad_env"},
		{"a newline behind the name", env(`{"A\n": "1"}`), 400, "bad_env"},
		{"long name", env(`{"` + strings.Repeat("A", 65) + `": "1"}`), 400, "bad_env"},
		{"long value", env(`{"A": "` + strings.Repeat("x", 4<<10+1) + `"}`), 400, "bad_env"},
		{"NUL in a value", env(`{"A": "x\u0000"}`), 400, "bad_env"},
		{"newline in a value", env(`{"A": "x\ny"}`), 400, "bad_env"},
		{"tab in a value", env(`{"A": "x\ty"}`), 400, "bad_env"},
		{"delete in a value", env(`{"A": "x\u007f"}`), 400, "bad_env"},
		{"65 variables", env(many(65, "A", "")), 400, "bad_env"},
		{"over 16 KiB in all", env(many(5, "A", strings.Repeat("x", 4000))), 400, "bad_env"},
		{"a variable twice", env(`{"A": "1", "A": "2"}`), 400, "bad_request"},
		{"BASH_ENV", env(`{"BASH_ENV": "x"}`), 400, "bad_env"},
		{"a family", env(`{"GIT_SSH_COMMAND": "x"}`), 400, "bad_env"},
		{"a proxy, lower case", env(`{"https_proxy": "x"}`), 400, "bad_env"},
		// rows 8 and 9: the path
		{"dots", run("/../x", "touch", "ran"), 403, "path_denied"},
		{"dots in a name", run("/a..b.md", "touch", "ran"), 403, "path_denied"},
		{"dots, encoded", run("/%2e%2e/x", "touch", "ran"), 403, "path_denied"},
		{"dots, half encoded", run("/.%2e/x", "touch", "ran"), 403, "path_denied"},
		{"dots and an encoded slash", run("/..%2fx", "touch", "ran"), 403, "path_denied"},
		{"dots at the end", run("/sub/..", "touch", "ran"), 403, "path_denied"},
		{"absolute", run("//sub", "touch", "ran"), 403, "path_denied"},
		{"absolute, encoded", run("/%2fetc/passwd", "touch", "ran"), 403, "path_denied"},
		{"absolute, thrice", run("///sub", "touch", "ran"), 403, "path_denied"},
		{"NUL in the path", run("/sub%00", "touch", "ran"), 403, "path_denied"},
		{"backslash", run(`/a%5cb`, "touch", "ran"), 403, "path_denied"},
		{"bare backslash", run(`/a\b`, "touch", "ran"), 403, "path_denied"},
		{"not UTF-8 in the path", run("/%ff", "touch", "ran"), 403, "path_denied"},
		{"overlong slash", run("/%c0%af", "touch", "ran"), 403, "path_denied"},
		// row 10: links
		{"a link to a directory outside", run("/out/secret", "touch", "ran"), 403, "path_denied"},
		{"what is not there behind it", run("/out/nothing", "touch", "ran"), 403, "path_denied"},
		{"a link to a file outside", run("/out.link", "touch", "ran"), 403, "path_denied"},
		{"by its own name", run("/out.link.md", "touch", "ran"), 403, "path_denied"},
		{"a relative link outside", run("/relative", "touch", "ran"), 403, "path_denied"},
		{"a link to a system directory", run("/etc/passwd", "touch", "ran"), 403, "path_denied"},
		// rows 11 and 12: what is not there
		{"no such page", run("/nothing", "touch", "ran"), 404, "not_found"},
		{"a directory without README", run("/empty", "touch", "ran"), 404, "not_found"},
		{"the extension once more", run("/README.md.md", "touch", "ran"), 404, "not_found"},
		{"another case of the name", run("/readme.md", "touch", "ran"), 404, "not_found"},
		{"dots, encoded twice", run("/%252e%252e/x", "touch", "ran"), 404, "not_found"},
		{"a slash, encoded twice", run("/sub%252fREADME", "touch", "ran"), 404, "not_found"},
		{"a dot file", run("/.env", "touch", "ran"), 404, "not_found"},
		{"a dot directory", run("/.git/config", "touch", "ran"), 404, "not_found"},
		{"a dot, encoded", run("/%2eenv", "touch", "ran"), 404, "not_found"},
		{"this directory", run("/./sub", "touch", "ran"), 404, "not_found"},
		{"a dot file in a directory", run("/sub/.hidden", "touch", "ran"), 404, "not_found"},
		{"well-known, not first", run("/sub/.well-known/x", "touch", "ran"), 404, "not_found"},
		{"the configuration", run("/site.toml", "touch", "ran"), 404, "not_found"},
		{"a dangling link", run("/dangling", "touch", "ran"), 404, "not_found"},
		{"a loop", run("/loop", "touch", "ran"), 404, "not_found"},
		{"below a file", run("/README.md/x", "touch", "ran"), 404, "not_found"},
		{"a long name", run("/"+strings.Repeat("x", 300), "touch", "ran"), 404, "not_found"},
		// rows 13 to 16: the page
		{"no frontmatter", run("/plain", "touch", "ran"), 400, "no_frontmatter"},
		{"not a page", run("/script", "touch", "ran"), 400, "no_frontmatter"},
		{"invalid frontmatter", run("/broken", "touch", "ran"), 400, "bad_frontmatter"},
		{"a page over 4 MiB", run("/large", "touch", "ran"), 413, "body_too_large"},
		{"another program", run("/", "touch2", "ran"), 403, "not_allowed"},
		{"too few words", run("/", "touch"), 403, "not_allowed"},
		{"an empty program", run("/", "", "touch", "ran"), 403, "not_allowed"},
		{"a program by its path", run("/", "/usr/bin/touch", "ran"), 403, "not_allowed"},
		{"a shell line", run("/", "touch ran"), 403, "not_allowed"},
		{"the lock", run("/", "false;", "x"), 403, "not_allowed"},
		{"absolute argument", run("/", "touch", "/tmp/durward-test-ran"), 403, "arg_denied"},
		{"absolute extra", run("/", "touch", "ran", "/tmp/durward-test-ran"), 403, "arg_denied"},
		{"argument with dots", run("/", "touch", "../ran"), 403, "arg_denied"},
		{"dots in the middle", run("/", "touch", "sub/../../ran"), 403, "arg_denied"},
		{"home", run("/", "touch", "~/ran"), 403, "arg_denied"},
		{"in an option", run("/", "touch", "ran", "--reference=/etc/passwd"), 403, "arg_denied"},
		{"in a short option", run("/", "touch", "ran", "-r/etc/passwd"), 403, "arg_denied"},
		// rows 17 to 19: starting it
		{"no such program", run("/", "no-such-program"), 500, "exec_failed"},
		{"no such script", run("/", "./gone/x"), 500, "exec_failed"},
		{"not executable", run("/", "./not-a-program"), 500, "exec_failed"},
		// rows 23 to 25: the built-in commands
		{"glob without a pattern", run("/", "glob", ""), 400, "bad_request"},
		{"glob with two", run("/", "glob", "*", "*"), 400, "bad_request"},
		{"glob, bad pattern", run("/", "glob", "["), 400, "bad_request"},
		{"glob, dots", run("/", "glob", "../*"), 403, "arg_denied"},
		{"glob, absolute", run("/", "glob", "/etc/*"), 403, "arg_denied"},
		{"curl, unknown flag", run("/", "curl", "--fail-early", "http://example.com/"), 400, "bad_request"},
		{"curl, no operand", run("/", "curl", "-s"), 400, "bad_request"},
		{"curl, two operands", run("/", "curl", "http://example.com/", "http://example.org/"), 400, "bad_request"},
		{"curl, no host", run("/", "curl", "http://"), 400, "bad_request"},
		{"curl, another scheme", run("/", "curl", "ftp://example.com/"), 403, "url_denied"},
		{"curl, a file", run("/", "curl", "file:///etc/passwd"), 403, "url_denied"},
		{"curl, this machine", run("/", "curl", "http://ADDR/"), 403, "url_denied"},
		{"curl, by name", run("/", "curl", "http://localhost/"), 403, "url_denied"},
		{"curl, as a number", run("/", "curl", "http://2130706433/"), 403, "url_denied"},
		{"curl, metadata", run("/", "curl", "http://169.254.169.254/"), 403, "url_denied"},
		{"curl, IPv6", run("/", "curl", "http://[::1]/"), 403, "url_denied"},
		{"curl, a user", run("/", "curl", "http://me@example.com/"), 403, "url_denied"},
		{"curl, another port", run("/", "curl", "http://example.com:22/"), 403, "url_denied"},
		{"curl, no such name", run("/", "curl", "http://durward.invalid/"), 502, "network"},
		// row 28: where from and where to
		{"a foreign origin", ran.with("Origin", "http://evil.example"), 403, "origin_denied"},
		{"no origin at all", ran.with("Origin", "null"), 403, "origin_denied"},
		{"our origin with TLS", ran.with("Origin", "https://ADDR"), 403, "origin_denied"},
		{"another port here", ran.with("Origin", "http://127.0.0.1:1"), 403, "origin_denied"},
		{"a rebound name", ran.with("Host", "evil.example"), 403, "origin_denied"},
		{"a rebound name and its own origin", ran.with("Host", "evil.example").with("Origin", "http://evil.example"), 403, "origin_denied"},
		{"a name like ours", ran.with("Host", "localhost.evil.example"), 403, "origin_denied"},
		{"an absolute target, foreign", run("http://evil.example/", "touch", "ran"), 403, "origin_denied"},
		{"an absolute target, ours", run("http://ADDR/", "touch", "ran"), 400, "bad_request"},
	}
	r := start(t, wild(t))
	before := r.tree()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := test.request
			q.body = strings.ReplaceAll(q.body, "ADDR", r.addr)
			r.ask(q).wantRefusal(t, "POST", test.status, test.code)
			if now := r.tree(); now != before {
				t.Fatalf("something ran:\n%s", now)
			}
		})
	}
	if _, err := os.Stat("/tmp/durward-test-ran"); err == nil {
		t.Error("a file was made outside the site")
	}
	for _, n := range r.book.take() {
		if n.phase != "deny" && n.call.Argv[0] != "curl" && n.call.Argv[0] != "glob" {
			t.Errorf("%s of %q", n.phase, n.call.Argv)
		}
	}
	// and what was refused is seen when it does run
	r.ask(run("/", "touch", "ran")).wantOutput(t, "", 0)
	if !r.has("ran") {
		t.Error("the allowed command made no file either")
	}
}

// Whatever a refusal says, it says nothing of where the site is, and nothing of what
// lies beside it.
func TestRefusalsNameNoPathOfThisMachine(t *testing.T) {
	r := start(t, wild(t))
	for _, target := range []string{"/nothing", "/../x", "/out/secret", "/out.link", "/etc/passwd", "/plain", "/broken", "/empty", "/.env", "/dangling", "/large"} {
		for _, q := range []request{get(target), run(target, "touch", "ran")} {
			a := r.ask(q)
			if a.StatusCode >= 400 && (strings.Contains(a.body, r.root) || strings.Contains(a.body, secret) || strings.Contains(a.body, os.TempDir())) {
				t.Errorf("%s %s: %s", q.method, target, a.body)
			}
		}
	}
	for _, command := range [][]string{{"no-such-program"}, {"./not-a-program"}, {"./gone/x"}, {"curl", "http://durward.invalid/"}} {
		if a := r.ask(run("/", command...)); strings.Contains(a.body, r.root) || strings.Contains(a.body, os.TempDir()) {
			t.Errorf("%q: %s", command, a.body)
		}
	}
}

// Of two things that are wrong with a request, the answer names the one that is looked
// at first.
func TestTheEarlierRefusalIsTold(t *testing.T) {
	const badEnv = `"env": {"A-B": ""}`
	tests := []struct {
		name    string
		request request
		code    string
	}{
		{"method before host", request{method: "PUT", target: "/", head: map[string]string{"Host": "evil.example"}}, "method"},
		{"method before origin", request{method: "DELETE", target: "/", head: map[string]string{"Origin": "null"}}, "method"},
		{"host before content type", run("/", "touch", "ran").with("Host", "evil.example").with("Content-Type", "text/plain"), "origin_denied"},
		{"origin before content type", run("/", "touch", "ran").with("Origin", "null").with("Content-Type", "text/plain"), "origin_denied"},
		{"content type before size", post("/", strings.Repeat(" ", 2<<20)).with("Content-Type", "text/plain"), "bad_content_type"},
		{"size before form", post("/", strings.Repeat("x", 2<<20)), "body_too_large"},
		{"form before shape, both before variables", post("/", `{"command": "touch", `+badEnv), "bad_request"},
		{"shape before variables", post("/", `{"command": "touch", `+badEnv+`}`), "bad_request"},
		{"no command before variables", post("/", `{`+badEnv+`}`), "bad_request"},
		{"empty command before variables", post("/", `{"command": [], `+badEnv+`}`), "bad_request"},
		{"NUL before variables", post("/", `{"command": ["\u0000"], `+badEnv+`}`), "bad_request"},
		{"form before the path", post("/../x", `{`), "bad_request"},
		{"variables before the path", post("/../x", `{"command": ["touch"], `+badEnv+`}`), "bad_env"},
		{"variables before a page that is missing", post("/nothing", `{"command": ["touch"], `+badEnv+`}`), "bad_env"},
		{"NUL in the path before dots", run("/%00/../.env", "x"), "path_denied"},
		{"dots before what is hidden", run("/.git/../.env", "x"), "path_denied"},
		{"absolute before what is hidden", run("//.env", "x"), "path_denied"},
		{"hidden before a link that leaves", run("/out/.env", "x"), "not_found"},
		{"path before a page that is missing", run("/nothing/../x", "x"), "path_denied"},
		{"missing before the command", run("/nothing", "nothing"), "not_found"},
		{"a link that leaves before the command", run("/out.link", "nothing"), "path_denied"},
		{"no frontmatter before the command", run("/plain", "nothing"), "no_frontmatter"},
		{"invalid frontmatter before the command", run("/broken", "nothing"), "bad_frontmatter"},
		{"a reserved variable before the command", post("/", `{"command": ["nothing"], "env": {"BASH_ENV": "x"}}`), "bad_env"},
		{"the page before a variable that it could allow", post("/broken", `{"command": ["nothing"], "env": {"BASH_ENV": "x"}}`), "bad_frontmatter"},
		{"the command before its arguments", run("/", "nothing", "/etc/passwd"), "not_allowed"},
		{"arguments before the program", run("/", "no-such-program", "/etc/passwd"), "arg_denied"},
		{"arguments before the built-in's own", run("/", "glob", "/etc", "x"), "arg_denied"},
	}
	r := start(t, wild(t))
	before := r.tree()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := r.ask(test.request)
			if a.code() != test.code {
				t.Errorf("%d %s, want %s", a.StatusCode, a.body, test.code)
			}
		})
	}
	if r.tree() != before {
		t.Error("something ran")
	}
}

// Reading is refused by the same rules, in the shorter form, and a HEAD without one.
func TestReadsAreRefused(t *testing.T) {
	r := start(t, wild(t))
	tests := map[string]struct {
		status int
		code   string
	}{
		"/../x": {403, "path_denied"}, "//sub": {403, "path_denied"}, "/%2e%2e/x": {403, "path_denied"}, "/..%2fx": {403, "path_denied"},
		"/a%00b": {403, "path_denied"}, "/a%5cb": {403, "path_denied"}, "/%ff": {403, "path_denied"}, "/a..b.md": {403, "path_denied"},
		"/out/secret": {403, "path_denied"}, "/out.link": {403, "path_denied"}, "/relative": {403, "path_denied"}, "/etc/passwd": {403, "path_denied"},
		"/nothing": {404, "not_found"}, "/empty": {404, "not_found"}, "/empty/": {404, "not_found"}, "/.env": {404, "not_found"},
		"/.git/config": {404, "not_found"}, "/site.toml": {404, "not_found"}, "/%252e%252e/x": {404, "not_found"}, "/dangling.md": {404, "not_found"},
		"http://ADDR/": {400, "bad_request"},
	}
	for target, want := range tests {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(method+" "+target, func(t *testing.T) {
				q := get(target)
				q.method = method
				r.ask(q).wantRefusal(t, method, want.status, want.code)
			})
		}
	}
	if notes := r.book.take(); len(notes) > 0 {
		t.Errorf("reading left %d records", len(notes))
	}
}

// What is neither read nor run is answered with the methods that are.
func TestMethods(t *testing.T) {
	r := start(t, wild(t))
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "post"} {
		a := r.ask(request{method: method, target: "/", body: ""})
		a.wantRefusal(t, method, 405, "method")
		if allow := a.Header.Get("Allow"); allow != "GET, HEAD, POST" {
			t.Errorf("%s: Allow is %q", method, allow)
		}
	}
}

// What stands behind a refused request on the same connection is not run.
func TestNothingRunsBehindARefusal(t *testing.T) {
	r := start(t, wild(t))
	next := run("/", "touch", "ran")
	first := map[string]request{
		"host":           get("/").with("Host", "evil.example"),
		"method":         {method: "PUT", target: "/", head: map[string]string{"Content-Length": "0"}},
		"content type":   run("/", "true").with("Content-Type", "text/plain"),
		"size":           post("/", "").with("Content-Length", "2000000"),
		"short body":     post("/", "{}").with("Content-Length", "1"),
		"two lengths":    post("/", "").with("Content-Length", "0\r\nContent-Length: 5"),
		"length, chunks": post("/", "0\r\n\r\n").with("Content-Length", "3").with("Transfer-Encoding", "chunked"),
		"odd coding":     post("/", "").with("Content-Length", "").with("Transfer-Encoding", "xchunked"),
		"a lone CR":      get("/").with("X", "a\rGET / HTTP/1.1"),
		"blank in name":  get("/").with("X ", "a"),
	}
	for name, q := range first {
		t.Run(name, func(t *testing.T) {
			c := r.send(q, next, next)
			text, _ := io.ReadAll(bufio.NewReader(c)) // a reset is an end as well
			if strings.Contains(string(text), "HTTP/1.1 2") || !strings.HasPrefix(string(text), "HTTP/1.1 ") {
				t.Errorf("the answers are %q", text)
			}
			if r.has("ran") {
				t.Fatal("what stood behind it was run")
			}
		})
	}
}

// A client that sends its request too slowly is let go, and what it began to ask for is
// not run.
func TestSlowClients(t *testing.T) {
	s := wild(t)
	s.edge = httpedge.Options{HeaderTimeout: 300 * time.Millisecond, RequestTimeout: 600 * time.Millisecond}
	r := start(t, s)
	for name, part := range map[string]string{
		"head":           "POST / HTTP/1.1\r\nHost: " + r.addr + "\r\nX-Slow: ",
		"body":           "POST / HTTP/1.1\r\nHost: " + r.addr + "\r\nContent-Type: application/json\r\nContent-Length: 29\r\n\r\n{\"command\": [\"touch\", \"ran\"]",
		"body in chunks": "POST / HTTP/1.1\r\nHost: " + r.addr + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n{\"command\": [\"touch\", \"ran\"]}\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := r.dial()
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			text, err := io.ReadAll(c)
			if err != nil || time.Since(began) > patience/2 {
				t.Errorf("let go after %s: %v", time.Since(began), err)
			}
			if name != "head" {
				a, err := readAnswer(bufio.NewReader(strings.NewReader(string(text))), "POST")
				if err != nil {
					t.Fatal(err)
				}
				a.wantRefusal(t, "POST", 408, "timeout")
			}
			if r.has("ran") {
				t.Error("it was run")
			}
		})
	}
}

// A head that is too large is refused before anybody looks at it.
func TestLargeHead(t *testing.T) {
	r := start(t, wild(t))
	for _, q := range []request{
		run("/", "touch", "ran").with("X-Large", strings.Repeat("x", 128<<10)),
		run("/"+strings.Repeat("x", 128<<10), "touch", "ran"),
	} {
		if a := r.ask(q); a.StatusCode != 431 {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
	if r.has("ran") {
		t.Error("it was run")
	}
}

// The limits themselves are still within.
func TestWhatIsJustAllowed(t *testing.T) {
	files := map[string]string{"README.md": page("[printenv, {}]", "[echo]", "[test]"), ".well-known/ok.txt": "ok", "sub/README.md": page("[pwd]"), "abs.md": "-> ROOT/sub/README.md"}
	r := start(t, setup{files: files})
	env := map[string]string{}
	for i := range 63 {
		env[fmt.Sprintf("A%d", i)] = ""
	}
	env[strings.Repeat("N", 64)] = strings.Repeat("x", 4<<10)
	var list []string
	for name, value := range env {
		list = append(list, fmt.Sprintf("%q: %q", name, value))
	}
	r.ask(post("/", `{"command": ["printenv", "A1"], "env": {`+strings.Join(list, ",")+`}}`)).wantOutput(t, "\n", 0)
	r.ask(run("/", append([]string{"echo", "-n"}, make([]string, 1022)...)...)).wantOutput(t, strings.Repeat(" ", 1021), 0)
	r.ask(run("/", "test", strings.Repeat("x", 128<<10-1))).wantOutput(t, "", 0)
	body := `{"command": ["echo"], "args": {"command": 5}, "more": [null]}`
	r.ask(post("/", body+strings.Repeat(" ", 1<<20-len(body)))).wantOutput(t, "\n", 0)
	r.ask(run("/", "echo").with("Content-Type", `Application/JSON; charset="utf-8"`)).wantOutput(t, "\n", 0)
	for _, host := range []string{"localhost", "LOCALHOST:1234", "127.0.0.1", "ADDR"} {
		r.ask(run("/", "echo").with("Host", host)).wantOutput(t, "\n", 0)
	}
	for _, origin := range []string{"http://ADDR", "http://localhost" + r.addr[strings.LastIndex(r.addr, ":"):]} {
		r.ask(run("/", "echo").with("Origin", origin)).wantOutput(t, "\n", 0)
	}
	for _, target := range []string{"/?x=1", "/README", "/README.md", "/README.md/", "/%52EADME"} {
		r.ask(run(target, "echo")).wantOutput(t, "\n", 0)
	}
	for _, target := range []string{"/sub", "/sub/", "/sub//README", "/sub%2fREADME.md", "/abs"} {
		r.ask(run(target, "pwd")).wantOutput(t, filepath.Join(r.root, "sub")+"\n", 0)
	}
	if a := r.ask(get("/.well-known/ok.txt")); a.body != "ok" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// Names and origins that the configuration lists are let through, and no others.
func TestAllowedHostsAndOrigins(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[echo]")}, config: func(c *site.Config) {
		c.AllowedHosts, c.AllowedOrigins = []string{"docs.example"}, []string{"https://app.example"}
	}})
	r.ask(run("/", "echo").with("Host", "docs.example")).wantOutput(t, "\n", 0)
	r.ask(run("/", "echo").with("Host", "DOCS.example:8000").with("Origin", "https://app.example")).wantOutput(t, "\n", 0)
	for name, value := range map[string]string{"Host": "x.docs.example", "Origin": "http://app.example"} {
		r.ask(run("/", "echo").with(name, value)).wantRefusal(t, "POST", 403, "origin_denied")
	}
	for name := range r.ask(run("/", "echo").with("Origin", "http://ADDR")).Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("the answer has %s", name)
		}
	}
}

// With credentials, nothing is served without one.
func TestCredentials(t *testing.T) {
	token, err := httpedge.NewToken("ci", "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, setup{files: map[string]string{"README.md": page("[touch, {}]", `["true"]`)}, config: func(c *site.Config) {
		c.Tokens = site.Tokens{site.Token(token)}
	}})
	for _, q := range []request{get("/"), run("/", "touch", "ran"), get("/AGENTS.md"), get("/nothing")} {
		for _, header := range []string{"", "Bearer wrong", "Basic s3cret", "s3cret"} {
			a := r.ask(q.with("Authorization", header))
			a.wantRefusal(t, q.method, 401, "unauthenticated")
			if a.Header.Get("WWW-Authenticate") == "" {
				t.Error("nothing tells how to authenticate")
			}
		}
	}
	if r.has("ran") || len(r.book.take()) > 0 {
		t.Error("it was run")
	}
	r.ask(run("/", "true").with("Authorization", "Bearer s3cret")).wantOutput(t, "", 0)
	if notes := r.book.take(); len(notes) != 2 || notes[0].call.Caller.Name != "token:ci" {
		t.Errorf("the records are %+v", notes)
	}
}

// Whoever refuses a request around a site tells no more than the site does.
func TestWriteErrorTellsWhatASiteTells(t *testing.T) {
	broken := &durward.Error{Reason: durward.FileIO, Hint: "look at /srv/secret", Err: errors.New("/srv/secret broke")}
	for _, test := range []struct {
		method string
		err    error
		want   string
	}{
		{http.MethodGet, broken, `{"error":"input/output error","code":"internal","hint":"tell whoever runs the site; the log says why"}`},
		{http.MethodPost, broken, `{"error":"input/output error","code":"internal","hint":"tell whoever runs the site; the log says why","stdout":"","stderr":"input/output error","returncode":1}`},
		{http.MethodGet, &durward.Error{Reason: durward.ToolNotFound}, `{"error":"there is no such page","code":"not_found","hint":"GET / to see where the pages are"}`},
		{http.MethodGet, &site.Error{Code: site.NotFound, Message: "none"}, `{"error":"there is no such page","code":"not_found","hint":"GET / to see where the pages are"}`},
	} {
		w := httptest.NewRecorder()
		site.WriteError(w, httptest.NewRequest(test.method, "/", nil), test.err)
		if got := strings.TrimSpace(w.Body.String()); got != test.want {
			t.Errorf("%s: got %s; want %s", test.method, got, test.want)
		}
	}
}
