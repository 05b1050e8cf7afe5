//go:build unix

package policy_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// A tree is a file system for tests: existing paths, and links with where they lead.
type tree map[string]string

// standard is the machine most tests run on.
func standard() tree {
	t := tree{"/bin": "/usr/bin", "/lib": "/usr/lib", "/var/run": "/run", "/home/ann/link": "/data/real"}
	for _, path := range []string{
		"/usr/bin", "/usr/lib", "/etc/ssl", "/etc/passwd", "/run/docker.sock", "/opt/tool",
		"/home/ann/work/src", "/home/ann/work/.env", "/home/ann/work/app/[id]", "/home/ann/.ssh/config", "/home/ann/.aws", "/home/ann/.netrc",
		"/home/ann/notes", "/data/real/sub", "/srv/shared",
	} {
		for ; path != "/"; path = filepath.Dir(path) {
			t[path] = path
		}
	}
	t["/"] = "/"
	return t
}

// resolve follows the links of the tree, component by component.
func (t tree) resolve(path string) (string, error) {
	at := "/"
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, part)
		to, ok := t[at]
		if !ok {
			return "", fmt.Errorf("resolve %s: %w", path, fs.ErrNotExist)
		}
		at = to
	}
	return at, nil
}

func (t tree) with(links map[string]string) tree {
	maps.Copy(t, links)
	return t
}

func host() policy.Host { return hostOf(standard()) }

func hostOf(t tree) policy.Host {
	return policy.Host{
		GOOS: "linux", Home: "/home/ann", Workspace: "/home/ann/work", Resolve: t.resolve,
		Environ: map[string]string{"TERM": "xterm", "TOKEN": "s3cret", "LD_PRELOAD": "/x.so"},
		Own:     []string{"/home/ann/work/durward-policy.yaml"},
	}
}

func compile(t testing.TB, text string) *policy.Policy { return compileOn(t, host(), text) }

func compileOn(t testing.TB, h policy.Host, text string) *policy.Policy {
	t.Helper()
	doc, err := policy.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Compile(doc, h)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// load gives the error of reading and compiling a document.
func load(h policy.Host, text string) error {
	doc, err := policy.Parse("p.yaml", []byte(text))
	if err != nil {
		return err
	}
	_, err = policy.Compile(doc, h)
	return err
}

// wantProblems checks that err is an invalid policy with just these lines.
func wantProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	if durward.KindOf(err) != durward.Invalid || durward.ReasonOf(err) != durward.PolicyInvalid {
		t.Fatalf("not the error of an invalid policy: %v", err)
	}
	if got := config.ProblemsOf(err); len(got) == 0 || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func defaultPolicy(t testing.TB, flags policy.Flags) *policy.Policy {
	t.Helper()
	p, err := policy.Default(host(), flags)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(argv ...string) durward.Call { return durward.Call{Argv: argv} }

func grantOf(t testing.TB, p *policy.Policy, c durward.Call) durward.Grant {
	t.Helper()
	d := p.Decide(c, durward.Tool{})
	if !d.Allow {
		t.Fatalf("denied by %s: %s", d.Rule, d.Reason)
	}
	return d.Grant
}
