package site_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/site"
)

// statuses lists what each code is answered with.
var statuses = map[site.Code]int{
	site.BadRequest: 400, site.BadContentType: 415, site.BodyTooLarge: 413, site.BadEnv: 400, site.PathDenied: 403, site.NotFound: 404,
	site.NoFrontmatter: 400, site.BadFrontmatter: 400, site.NotAllowed: 403, site.ArgDenied: 403, site.ExecFailed: 500, site.Timeout: 408,
	site.OutputTooLarge: 413, site.URLDenied: 403, site.Network: 502, site.OriginDenied: 403, site.Method: 405, site.Busy: 503,
	site.ShuttingDown: 503, site.Internal: 500, site.Unauthenticated: 401,
}

func TestEachCodeHasItsStatus(t *testing.T) {
	causes := []error{nil, errors.New("x"), &durward.Error{Reason: durward.FileNotFound}, &durward.Error{Reason: durward.DeadlineExceeded}}
	for code, want := range statuses {
		for _, cause := range causes {
			if got := (&site.Error{Code: code, Message: "x", Err: cause}).Status(); got != want {
				t.Errorf("%s because of %v: %d, want %d", code, cause, got, want)
			}
		}
	}
	if got := (&site.Error{Code: "what"}).Status(); got != 500 {
		t.Errorf("an unknown code: %d", got)
	}
}

type resolverFunc func(ctx context.Context, path string) (*site.Content, error)

func (f resolverFunc) Resolve(ctx context.Context, path string) (*site.Content, error) {
	return f(ctx, path)
}

type executorFunc func(ctx context.Context, c site.Command) (site.Output, error)

func (f executorFunc) Execute(ctx context.Context, c site.Command) (site.Output, error) {
	return f(ctx, c)
}

// What a resolver fails with is what is answered, and nothing is run.
func TestResolverErrors(t *testing.T) {
	hidden := errors.New("/srv/secret: permission denied")
	tests := map[string]struct {
		give   *site.Content
		err    error
		status int
		code   string
	}{
		"not found":       {nil, &site.Error{Code: site.NotFound, Err: hidden}, 404, "not_found"},
		"denied":          {nil, &site.Error{Code: site.PathDenied, Message: "no", Err: hidden}, 403, "path_denied"},
		"wrapped":         {nil, fmt.Errorf("store: %w", &site.Error{Code: site.NotFound}), 404, "not_found"},
		"unreadable":      {nil, hidden, 500, "internal"},
		"an unknown code": {nil, &site.Error{Code: "what", Message: "/srv/secret"}, 500, "internal"},
		"nothing":         {nil, nil, 500, "internal"},
		"no bytes":        {&site.Content{Path: "README.md"}, nil, 500, "internal"},
		"broken bytes":    {&site.Content{Path: "README.md", Dir: "/", Body: broken{}}, nil, 500, "internal"},
		"a panic":         {&site.Content{Path: "panic"}, nil, 500, "internal"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ran := false
			r := start(t, setup{options: []site.Option{
				site.WithContentResolver(resolverFunc(func(context.Context, string) (*site.Content, error) {
					if name == "a panic" {
						panic("/srv/secret")
					}
					return test.give, test.err
				})),
				site.WithExecutor(executorFunc(func(context.Context, site.Command) (site.Output, error) {
					ran = true
					return site.Output{}, nil
				})),
			}, config: func(c *site.Config) { c.Root = "" }})
			a := r.ask(run("/", "ls"))
			a.wantRefusal(t, "POST", test.status, test.code)
			b := r.ask(get("/"))
			if name != "a panic" { // that one is answered by the server
				b.wantRefusal(t, "GET", test.status, test.code)
			}
			if ran || strings.Contains(a.body+b.body, "/srv/secret") {
				t.Errorf("ran: %v; told: %s %s", ran, a.body, b.body)
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error)       { return 0, errors.New("/srv/secret: input/output error") }
func (broken) Seek(int64, int) (int64, error) { return 0, nil }
func (broken) Close() error                   { return nil }

// A resolver is asked for paths that lead nowhere else, and for no others.
func TestResolversSeeCleanPathsOnly(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	r := start(t, setup{options: []site.Option{
		site.WithContentResolver(resolverFunc(func(_ context.Context, path string) (*site.Content, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, path)
			return nil, &site.Error{Code: site.NotFound}
		})),
	}, config: func(c *site.Config) { c.Root = "" }})
	for _, target := range []string{"/../x", "//x", "/%2e%2e/x", "/a%00", "/a%5c", "/%ff", "/.env", "/a/.git/x", "/a..b"} {
		r.ask(get(target))
		r.ask(run(target, "ls"))
	}
	if len(seen) > 0 {
		t.Errorf("it was asked for %q", seen)
	}
	for _, target := range []string{"/", "/a/", "/a//b", "/.well-known/x"} {
		r.ask(run(target, "ls"))
	}
	if want := []string{"", "a", "a/b", ".well-known/x"}; !slices.Equal(seen, want) {
		t.Errorf("it was asked for %q, want %q", seen, want)
	}
}

// What an executor fails with is what is answered.
func TestExecutorErrors(t *testing.T) {
	tests := map[string]struct {
		out    site.Output
		err    error
		status int
		code   string
	}{
		"timeout":           {site.Output{}, &site.Error{Code: site.Timeout}, 408, "timeout"},
		"too large":         {site.Output{}, &site.Error{Code: site.OutputTooLarge}, 413, "output_too_large"},
		"failed":            {site.Output{}, &site.Error{Code: site.ExecFailed, Message: "/srv/secret"}, 500, "exec_failed"},
		"without a code":    {site.Output{}, errors.New("/srv/secret"), 500, "exec_failed"},
		"more than allowed": {site.Output{Stdout: make([]byte, 600), Stderr: make([]byte, 401)}, nil, 413, "output_too_large"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := start(t, setup{
				options: []site.Option{site.WithExecutor(executorFunc(func(context.Context, site.Command) (site.Output, error) { return test.out, test.err }))},
				files:   map[string]string{"README.md": page("[ls]")},
				config:  func(c *site.Config) { c.Limits.OutputBytes = 1000 },
			})
			a := r.ask(run("/", "ls"))
			a.wantRefusal(t, "POST", test.status, test.code)
			if strings.Contains(a.body, "/srv/secret") {
				t.Error(a.body)
			}
			if notes := r.book.take(); phases(notes) != "intent outcome" || notes[1].err == nil {
				t.Errorf("the records are %s", phases(notes))
			}
		})
	}
}

// An executor is given the expanded command, the whole environment, the directory and
// the limits, and what it gives back is the answer.
func TestExecutor(t *testing.T) {
	var got site.Command
	r := start(t, setup{
		options: []site.Option{site.WithExecutor(executorFunc(func(_ context.Context, c site.Command) (site.Output, error) {
			got = c
			return site.Output{Stdout: []byte("out\n"), Stderr: []byte("err\xff"), Code: 137}, nil
		}))},
		files: map[string]string{"sub/README.md": page(`[tool, "$KEY", {}]`)},
		config: func(c *site.Config) {
			c.Limits = site.Limits{Timeout: 7 * time.Second, OutputBytes: 1000}
			c.Env = map[string]string{"KEY": "k"}
		},
	})
	a := r.ask(post("/sub", `{"command": ["tool", "$KEY", "$KEY"], "env": {"KEY": "mine", "X": "x", "LD_PRELOAD": "y"}}`))
	a.wantOutput(t, "out\n", 137)
	if m := a.members(t); m["stderr"] != "err\ufffd" {
		t.Errorf("stderr is %q", m["stderr"])
	}
	wantEnv := map[string]string{"KEY": "k", "X": "x", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
	if !slices.Equal(got.Argv, []string{"tool", "k", "$KEY"}) || !maps.Equal(got.Env, wantEnv) || got.Dir != r.root+"/sub" {
		t.Errorf("it was given %+v", got)
	}
	if got.Limits.Timeout != 7*time.Second || got.Limits.OutputBytes != 1000 {
		t.Errorf("the limits are %+v", got.Limits)
	}
}

// The time of a call and its client bound an executor as they bound a process.
func TestExecutorsAreEnded(t *testing.T) {
	began := make(chan struct{}, 1)
	ended := make(chan error, 1)
	r := start(t, setup{
		options: []site.Option{site.WithExecutor(executorFunc(func(ctx context.Context, _ site.Command) (site.Output, error) {
			began <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return site.Output{}, ctx.Err()
		}))},
		files:  map[string]string{"README.md": page("[ls]")},
		config: func(c *site.Config) { c.Limits.Timeout = 300 * time.Millisecond },
	})
	r.ask(run("/", "ls")).wantRefusal(t, "POST", 408, "timeout")
	<-began
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// The first middleware is the outermost one, and all of them see a request before it is
// judged.
func TestMiddleware(t *testing.T) {
	var order []string
	mark := func(name string) site.Middleware {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				order = append(order, name+" "+r.Method)
				w.Header().Set("X-Last", name)
				next.ServeHTTP(w, r)
			})
		}
	}
	r := start(t, setup{files: map[string]string{"README.md": "# x"}, options: []site.Option{
		site.WithMiddleware(mark("a"), mark("b")), site.WithMiddleware(mark("c")),
	}})
	for _, q := range []request{get("/"), get("/").with("Host", "evil.example"), {method: "PUT", target: "/"}} {
		order = nil
		a := r.ask(q)
		want := []string{"a " + q.method, "b " + q.method, "c " + q.method}
		if !slices.Equal(order, want) || a.Header.Get("X-Last") != "c" {
			t.Errorf("%s: %q", q.method, order)
		}
	}
}

// A site that could not hold what was asked for is not made.
func TestNewRefuses(t *testing.T) {
	root := plant(t, map[string]string{"README.md": "# x"})
	state := t.TempDir()
	for name, c := range map[string]site.Config{
		"no root":               {StateDir: state},
		"a root that is not":    {Root: root + "/nothing", StateDir: state},
		"a root that is a file": {Root: root + "/README.md", StateDir: state},
		"no state directory":    {Root: root},
		"a file for the state":  {Root: root, StateDir: root + "/README.md"},
		"a negative timeout":    {Root: root, StateDir: state, Limits: site.Limits{Timeout: -1}},
		"a negative output":     {Root: root, StateDir: state, Limits: site.Limits{OutputBytes: -1}},
		"a negative list":       {Root: root, StateDir: state, Limits: site.Limits{ListItems: -1}},
		"negative calls":        {Root: root, StateDir: state, MaxConcurrent: -1},
		"an odd host":           {Root: root, StateDir: state, AllowedHosts: []string{"a b"}},
		"a path to here":        {Root: root, StateDir: state, Path: "/bin:."},
		"an odd variable":       {Root: root, StateDir: state, Env: map[string]string{"A=B": "x"}},
		"a cut variable":        {Root: root, StateDir: state, Env: map[string]string{"A": "x\x00y"}},
		"an odd origin":         {Root: root, StateDir: state, AllowedOrigins: []string{"example.org"}},
	} {
		if h, err := site.New(c); err == nil || h != nil {
			t.Errorf("%s: no error", name)
			h.(io.Closer).Close()
		}
	}
	if _, err := site.ParseSandbox("p.yaml", []byte("mode: off\n")); err == nil {
		t.Error("an unknown mode is a policy")
	}
}

// A site that is closed twice is closed once.
func TestClose(t *testing.T) {
	h, err := site.New(site.Config{Root: plant(t, map[string]string{"README.md": "# x"}), StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	}
}

// What a page says can be asked without a server, and its mistakes have their codes.
func TestParsing(t *testing.T) {
	for document, want := range map[string]site.Code{"# x": site.NoFrontmatter, "---\ntools: [[5]]\n---\n": site.BadFrontmatter} {
		_, err := site.ParseFrontmatter([]byte(document))
		var e *site.Error
		if !errors.As(err, &e) || e.Code != want || e.Status() != 400 {
			t.Errorf("%q: %v", document, err)
		}
	}
	var e *site.Error
	if err := site.CheckEnv(map[string]string{"A-B": ""}); !errors.As(err, &e) || e.Code != site.BadEnv {
		t.Error(err)
	}
	if err := site.CheckEnv(map[string]string{"A": "b"}); err != nil {
		t.Error(err)
	}
	if got := site.Expand("$A-${A}-$B-$A_-$$A", map[string]string{"A": "$B"}); got != "$B-${A}-$B-$A_-$$B" {
		t.Error(got)
	}
}
