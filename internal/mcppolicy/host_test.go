//go:build unix

package mcppolicy_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/mcppolicy"
)

// A tree is a file system for tests: what there is at a path. A link leads to its target,
// and may hold no "..".
type tree map[string]node

type fileMode = fs.FileMode

type node struct {
	mode fs.FileMode
	link string
}

func dir() node           { return node{mode: fs.ModeDir | 0o755} }
func program() node       { return node{mode: 0o755} }
func file() node          { return node{mode: 0o644} }
func link(to string) node { return node{mode: fs.ModeSymlink, link: to} }
func special() node       { return node{mode: fs.ModeNamedPipe | 0o644} }

// standard is the machine most tests run on.
func standard() tree {
	t := tree{
		"/usr/bin/git": program(), "/usr/bin/rg": program(), "/usr/bin/ls": program(), "/usr/bin/dash": program(), "/usr/bin/sh": link("/usr/bin/dash"),
		"/usr/bin/notes.txt": file(), "/usr/bin/pipe": special(), "/bin": link("/usr/bin"), "/usr/lib": dir(), "/etc": dir(),
		"/home/ann/code/scratch": dir(), "/home/ann/code/project": dir(), "/home/ann/code/readme": file(), "/home/ann/.ssh": dir(),
		"/home/ann/code/scratch/tool": program(), "/usr/bin/planted": link("/home/ann/code/scratch/tool"), "/home/ann/code/scratch/out": link("/usr/bin/git"),
		"/home/ann/link": link("/srv/data"), "/srv/data": dir(), "/w": dir(), "/": dir(),
	}
	for path := range t {
		for parent := filepath.Dir(path); parent != "/"; parent = filepath.Dir(parent) {
			if _, there := t[parent]; !there {
				t[parent] = dir()
			}
		}
	}
	return t
}

// resolve follows the links of the tree, component by component.
func (t tree) resolve(path string) (string, error) {
	at := "/"
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, part)
		n, ok := t[at]
		switch {
		case !ok:
			return "", fmt.Errorf("resolve %s: %w", path, fs.ErrNotExist)
		case n.link != "":
			if !filepath.IsAbs(n.link) {
				n.link = filepath.Join(filepath.Dir(at), n.link)
			}
			var err error
			if at, err = t.resolve(n.link); err != nil {
				return "", err
			}
		}
	}
	return at, nil
}

func (t tree) readlink(path string) (string, error) {
	if n := t[path]; n.link != "" {
		return n.link, nil
	}
	return "", fs.ErrInvalid
}

func (t tree) stat(path string) (fs.FileMode, error) {
	physical, err := t.resolve(path)
	return t[physical].mode, err
}

func (t tree) host() mcppolicy.Host {
	return mcppolicy.Host{
		GOOS: "linux", Home: "/home/ann", Path: []string{"", "bin", "/usr/local/bin", "/usr/bin"}, Mode: 0o600,
		Resolve: t.resolve, Readlink: t.readlink, Stat: t.stat,
	}
}

func parse(t testing.TB, text string) *mcppolicy.Document {
	t.Helper()
	doc, err := mcppolicy.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func compile(t testing.TB, text string) *mcppolicy.Policy {
	return compileOn(t, standard().host(), text)
}

func compileOn(t testing.TB, h mcppolicy.Host, text string) *mcppolicy.Policy {
	t.Helper()
	p, err := mcppolicy.Compile(parse(t, text), h, mcppolicy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// load gives the error of reading and compiling a document.
func load(h mcppolicy.Host, text string) error {
	doc, err := mcppolicy.Parse("p.yaml", []byte(text))
	if doc == nil {
		return err
	}
	_, err = mcppolicy.Compile(doc, h, mcppolicy.Options{})
	return err
}

// wantProblems checks that err is an invalid policy with just these lines.
func wantProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("it loads, want\n%s", strings.Join(want, "\n"))
	}
	if durward.KindOf(err) != durward.Invalid || durward.ReasonOf(err) != durward.PolicyInvalid {
		t.Fatalf("not the error of an invalid policy: %v", err)
	}
	if got := config.ProblemsOf(err); len(got) == 0 || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func command(t testing.TB, p *mcppolicy.Policy, id string) *mcppolicy.Command {
	t.Helper()
	c, err := p.Command(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
