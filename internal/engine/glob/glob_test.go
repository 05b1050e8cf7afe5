//go:build linux || darwin

package glob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plant makes files, with the directories they are in, and directories, which end in a
// slash. "a -> b" is a link.
func plant(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, to, isLink := strings.Cut(name, " -> ")
		whole := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(whole), 0o755))
		switch {
		case isLink:
			must(t, os.Symlink(to, whole))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(whole, 0o755))
		default:
			must(t, os.WriteFile(whole, nil, 0o644))
		}
	}
}

// temp gives a directory by its physical path.
func temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func engine(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

func run(ctx context.Context, e *Engine, g durward.Grant, dir string, argv ...string) (durward.Result, error) {
	p, err := e.Prepare(ctx, durward.Tool{}, durward.Call{Argv: argv, Dir: dir}, g)
	if err != nil {
		return durward.Result{}, err
	}
	defer p.Close()
	return p.Run(ctx)
}

// list gives the lines of a glob.
func list(t testing.TB, e *Engine, dir, pattern string) []string {
	t.Helper()
	r, err := run(t.Context(), e, durward.Grant{}, dir, "glob", pattern)
	must(t, err)
	if len(r.Stderr.Bytes()) > 0 {
		t.Errorf("%s: %s", pattern, r.Stderr.Bytes())
	}
	return lines(r)
}

func lines(r durward.Result) []string {
	text := string(r.Stdout.Bytes())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func TestGlob(t *testing.T) {
	root := temp(t)
	plant(t, root, "README.md", "b.md", "a.txt", "{x}", "docs/README.md", "docs/a.md", "docs/deep/a.md", "docs/deep/c.txt", "empty/")
	e := engine(t, Options{Root: root})
	for _, tt := range []struct {
		dir, pattern, want string
	}{
		{"", "*", "README.md a.txt b.md docs empty {x}"},
		{"", "*.md", "README.md b.md"},
		{"", "*/", "docs empty"},
		{"", "**/*.md", "README.md b.md docs/README.md docs/a.md docs/deep/a.md"},
		{"", "**/a.*", "a.txt docs/a.md docs/deep/a.md"},
		{"", "docs/**", "docs/README.md docs/a.md docs/deep docs/deep/a.md docs/deep/c.txt"},
		{"", "**/", "docs docs/deep empty"},
		{"", "{x}", "{x}"},
		{"", "docs/deep/a.md", "docs/deep/a.md"},
		{"", "README.md/*", ""},
		{"", "nothing", ""},
		{"", "empty/*", ""},
		{"docs", "*", "README.md a.md deep"},
		{"docs", "**/[!R]*.md", "a.md deep/a.md"},
		{"docs/deep", "?.txt", "c.txt"},
	} {
		got := strings.Join(list(t, e, filepath.Join(root, tt.dir), tt.pattern), " ")
		if got != tt.want {
			t.Errorf("%s in %q: %q, want %q", tt.pattern, tt.dir, got, tt.want)
		}
	}
}

func TestResult(t *testing.T) {
	root := temp(t)
	plant(t, root, "b", "a", "B", "ä")
	r, err := run(t.Context(), engine(t, Options{Root: root}), durward.Grant{}, root, "glob", "*")
	must(t, err)
	want := "B\na\nb\nä"
	sum := sha256.Sum256([]byte(want))
	code := 0
	if diff := cmp.Diff(durward.Result{
		Exit:   &code,
		Stdout: durward.Capture{Head: []byte(want), Total: int64(len(want)), SHA256: hex.EncodeToString(sum[:])},
		Stderr: durward.Capture{Head: []byte{}, SHA256: hex.EncodeToString(sha256.New().Sum(nil))},
	}, r); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNeverListed(t *testing.T) {
	root := temp(t)
	plant(
		t, root, "shown", ".env", ".git/config", "sub/.hidden/x", "sub/.y", "sub/.well-known/x", ".well-known/shown",
		"a..b", `back\slash`, "two\nlines", "bad\xff", "secret.toml", "sub/secret.toml",
	)
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	names := []string{".well-known", ".well-known/shown", "shown", "sub"}
	e := engine(t, Options{Root: root})
	for _, pattern := range []string{"**", "**/*"} {
		want := slices.Sorted(slices.Values(append(slices.Clone(names), "secret.toml", "sub/secret.toml")))
		if diff := cmp.Diff(want, list(t, e, root, pattern)); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
	for _, pattern := range []string{".env", ".e*", "[.]env", ".git/*", ".git/config", "*/config", "sub/.*", "**/.y", "**/x", "fifo", "a?[.]b"} {
		if got := list(t, e, root, pattern); got != nil {
			t.Errorf("%s lists %q", pattern, got)
		}
	}
	if got := list(t, e, filepath.Join(root, "sub"), ".well-known/*"); got != nil {
		t.Errorf("below the root, .well-known lists %q", got)
	}
	own := engine(t, Options{Root: root, Hidden: func(path string) bool { return unnamable(path) || path == "secret.toml" }})
	if diff := cmp.Diff([]string{"sub/secret.toml"}, list(t, own, root, "**/*.toml")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"secret.toml"}, list(t, own, filepath.Join(root, "sub"), "*.toml")); diff != "" {
		t.Error(diff)
	}
}

func TestLinksAreListedAndNotEntered(t *testing.T) {
	top := temp(t)
	root := filepath.Join(top, "root")
	plant(t, top, "outside/secret", "root/sub/file", "root/in -> sub", "root/out -> ../outside", "root/abs -> "+filepath.Join(top, "outside"),
		"root/loop -> .", "root/dangling -> nothing", "root/sub/up -> ..")
	e := engine(t, Options{Root: root})
	want := []string{"abs", "dangling", "in", "loop", "out", "sub", "sub/file", "sub/up"}
	if diff := cmp.Diff(want, list(t, e, root, "**")); diff != "" {
		t.Error(diff)
	}
	for _, pattern := range []string{"in/*", "in/file", "out/*", "out/secret", "abs/**", "loop/*", "*/secret", "sub/up/*", "in/", "out/"} {
		if got := list(t, e, root, pattern); got != nil {
			t.Errorf("%s lists %q", pattern, got)
		}
	}
}

// The answer of a walk is the same as that of matching every path there is, and it meets
// none of them twice.
func TestWalkAgreesWithThePattern(t *testing.T) {
	root := temp(t)
	var all []string
	for _, a := range []string{"a", "b", "ab"} {
		for _, b := range []string{"a", "b", "c"} {
			plant(t, root, filepath.Join(a, b, "a"), filepath.Join(a, b, "x/b"))
			all = append(all, a+"/"+b, a+"/"+b+"/a", a+"/"+b+"/x", a+"/"+b+"/x/b")
		}
		all = append(all, a)
	}
	slices.Sort(all)
	e := engine(t, Options{Root: root})
	parts := rapid.SampledFrom([]string{"**", "*", "?", "a", "x", "a*", "[ab]", "[!a]", "b"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(parts, 1, 6).Draw(rt, "pattern"), "/")
		p, err := parse(text)
		must(t, err)
		var want []string
		for _, path := range all {
			if p.matches(path) {
				want = append(want, path)
			}
		}
		if diff := cmp.Diff(want, list(t, e, root, text)); diff != "" {
			rt.Fatalf("%s: %s", text, diff)
		}
	})
}

func TestVisitsAreLinear(t *testing.T) {
	root := temp(t)
	const depth = 40
	plant(t, root, strings.Repeat("d/", depth)+"x")
	e := engine(t, Options{Root: root, MaxVisits: depth + 1})
	for _, pattern := range []string{
		"**/x", "**/**/**/x", strings.Repeat("**/*/", 20) + "**/x", strings.Repeat("**/d/", 30) + "**/x", "**/" + strings.Repeat("*/", 30) + "x",
	} {
		if got := list(t, e, root, pattern); len(got) != 1 {
			t.Errorf("%s lists %q", pattern, got)
		}
	}
}

func TestOnlyWhatCanMatchIsEntered(t *testing.T) {
	root := temp(t)
	for i := range 50 {
		plant(t, root, fmt.Sprintf("other/%d/x", i))
	}
	plant(t, root, "docs/deep/more/x", "docs/a.md")
	e := engine(t, Options{Root: root, MaxVisits: 4}) // docs, other; a.md, deep
	if diff := cmp.Diff([]string{"docs/a.md"}, list(t, e, root, "docs/*.md")); diff != "" {
		t.Error(diff)
	}
}

func TestCutList(t *testing.T) {
	root := temp(t)
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("f%02d", i)
		plant(t, root, name)
		want = append(want, name)
	}
	for _, tt := range []struct {
		o     Options
		lists int
		note  string
	}{
		{Options{}, 25, ""},
		{Options{MaxItems: 25}, 25, ""},
		{Options{MaxItems: 24}, 24, "glob: cut off after 24 of 25 matches\n"},
		{Options{MaxItems: 1}, 1, "glob: cut off after 1 of 25 matches\n"},
		{Options{MaxVisits: 25}, 25, ""},
		{Options{MaxVisits: 24}, 24, "glob: stopped after looking at 24 names; there may be more matches\n"},
		{
			Options{MaxVisits: 24, MaxItems: 3},
			3,
			"glob: cut off after 3 of 24 matches\nglob: stopped after looking at 24 names; there may be more matches\n",
		},
	} {
		tt.o.Root = root
		r, err := run(t.Context(), engine(t, tt.o), durward.Grant{}, root, "glob", "**")
		must(t, err)
		got := lines(r)
		if len(got) != tt.lists || string(r.Stderr.Bytes()) != tt.note || *r.Exit != 0 {
			t.Errorf("%+v: %d lines, %q", tt.o, len(got), r.Stderr.Bytes())
		}
		if tt.o.MaxVisits == 0 && !slices.Equal(got, want[:tt.lists]) {
			t.Errorf("%+v: not the first ones: %q", tt.o, got)
		}
	}
}

func TestUnreadableDirectoriesAreCounted(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/x", "b/x", "c/x")
	e := engine(t, Options{Root: root})
	p, err := e.Prepare(t.Context(), durward.Tool{}, durward.Call{Argv: []string{"glob", "*/x"}, Dir: root}, durward.Grant{})
	must(t, err)
	defer p.Close()
	w := &walk{prepared: p.(*prepared), found: shortlist{limit: 9}}
	for range 2 { // whoever runs this test can read everything
		w.missed(&durward.Error{Reason: durward.FilePermission})
	}
	w.missed(&durward.Error{Reason: durward.FileNotFound})
	must(t, w.run(t.Context()))
	if got, want := string(w.notes()), "glob: 2 directories could not be read\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := w.found.sorted(); !slices.Equal(got, []string{"a/x", "b/x", "c/x"}) {
		t.Errorf("found %q", got)
	}
}

func TestRefusedCalls(t *testing.T) {
	top := temp(t)
	root := filepath.Join(top, "root")
	plant(t, top, "root/sub/x", "root/link -> sub", "root/file", "root/.git/x", "outside/x", "root-old/x")
	e := engine(t, Options{Root: root})
	for _, tt := range []struct {
		name, dir string
		argv      []string
		reason    durward.Reason
		kind      durward.Kind
	}{
		{"nothing at all", root, nil, durward.BadCall, durward.Invalid},
		{"no operand", root, []string{"glob"}, durward.BadCall, durward.Invalid},
		{"two operands", root, []string{"glob", "a", "b"}, durward.BadCall, durward.Invalid},
		{"bad syntax", root, []string{"glob", "["}, durward.BadCall, durward.Invalid},
		{"upwards", root, []string{"glob", "../*"}, durward.OutsideRoot, durward.Denied},
		{"absolute", root, []string{"glob", "/etc/*"}, durward.OutsideRoot, durward.Denied},
		{"a directory outside", filepath.Join(top, "outside"), []string{"glob", "*"}, durward.DirDenied, 0},
		{"a directory beside", filepath.Join(top, "root-old"), []string{"glob", "*"}, durward.DirDenied, 0},
		{"a hidden directory", filepath.Join(root, ".git"), []string{"glob", "*"}, durward.DirDenied, 0},
		{"no directory", "", []string{"glob", "*"}, durward.DirDenied, 0},
		{"a relative directory", "sub", []string{"glob", "*"}, durward.DirDenied, 0},
		{"a directory that is gone", filepath.Join(root, "gone"), []string{"glob", "*"}, durward.DirUnavailable, 0},
		{"a file", filepath.Join(root, "file"), []string{"glob", "*"}, durward.DirUnavailable, 0},
		{"a link", filepath.Join(root, "link"), []string{"glob", "*"}, durward.SymlinkTarget, 0},
	} {
		p, err := e.Prepare(t.Context(), durward.Tool{}, durward.Call{Argv: tt.argv, Dir: tt.dir}, durward.Grant{})
		if p != nil || durward.ReasonOf(err) != tt.reason || tt.kind != 0 && durward.KindOf(err) != tt.kind {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.reason)
		}
	}
	for _, o := range []Options{{}, {Root: "rel"}, {Root: root, MaxItems: -1}, {Root: root, MaxVisits: -1}, {Root: filepath.Join(top, "gone")}} {
		if e, err := New(o); err == nil {
			e.Close()
			t.Errorf("New takes %+v", o)
		}
	}
}

func TestOutputLimits(t *testing.T) {
	root := temp(t)
	plant(t, root, "aaaa", "bbbb", "cccc") // 14 bytes
	e := engine(t, Options{Root: root})
	for _, tt := range []struct {
		limit int64
		keep  durward.Keep
		want  string
	}{
		{14, durward.KeepRefuse, "aaaa\nbbbb\ncccc"},
		{13, durward.KeepRefuse, ""},
		{durward.Unlimited, durward.KeepRefuse, "aaaa\nbbbb\ncccc"},
		{6, durward.KeepHead, "aaaa\nb"},
		{7, durward.KeepHeadTail, "aaaa" + "ccc"},
	} {
		r, err := run(t.Context(), e, durward.Grant{Keep: tt.keep, Limits: durward.Limits{Output: tt.limit}}, root, "glob", "*")
		if tt.want == "" {
			if durward.ReasonOf(err) != durward.OutputTooLarge || r.Exit != nil {
				t.Errorf("%d, %s: %v", tt.limit, tt.keep, err)
			}
			continue
		}
		must(t, err)
		if got := string(r.Stdout.Bytes()); got != tt.want || r.Stdout.Total != 14 {
			t.Errorf("%d, %s: %q of %d", tt.limit, tt.keep, got, r.Stdout.Total)
		}
	}
}

func TestTheTimeIsUpWhileWalking(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/x", "b/x", "c/x")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := engine(t, Options{Root: root, Hidden: func(path string) bool {
		if strings.HasSuffix(path, "/x") {
			cancel()
		}
		return false
	}})
	r, err := run(ctx, e, durward.Grant{}, root, "glob", "**")
	if durward.ReasonOf(err) != durward.CallCancelled || len(lines(r)) != 4 { // a, b, c and one x
		t.Errorf("%v with %q", err, lines(r))
	}
}

func TestPolicyDecidesWhatIsShown(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/x", "a/key.pem", "a/secret/x", "b/x", "b/c/key.pem", "ab/x")
	at := func(names ...string) []string {
		for i, name := range names {
			names[i] = filepath.Join(root, name)
		}
		return names
	}
	e := engine(t, Options{Root: root})
	for _, tt := range []struct {
		name    string
		grant   durward.Grant
		dir     string
		want    string
		refused durward.Reason
	}{
		{"all of it", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Read: at("")}}, "", "a/key.pem b/c/key.pem", ""},
		{"the disk", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Read: []string{"/"}}}, "", "a/key.pem b/c/key.pem", ""},
		{"the host", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{HostReadOnly: true}}, "", "a/key.pem b/c/key.pem", ""},
		{"no sets, unconfined", durward.Grant{Mode: durward.DangerFullAccess}, "", "a/key.pem b/c/key.pem", ""},
		{"no sets, confined", durward.Grant{Mode: durward.ReadOnly}, "", "", durward.DirDenied},
		{"a part", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Write: at("a")}}, "a", "key.pem", ""},
		{"another part", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Read: at("a")}}, "ab", "", durward.DirDenied},
		{"less than asked", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Read: at("a")}}, "", "", durward.DirDenied},
		{"a denied path", durward.Grant{Files: durward.Files{Read: at(""), Deny: at("a")}}, "", "b/c/key.pem", ""},
		{"in a denied path", durward.Grant{Files: durward.Files{Read: at(""), Deny: at("a")}}, "a/secret", "", durward.DirDenied},
		{"a denied file", durward.Grant{Files: durward.Files{Deny: at("a/key.pem")}}, "", "b/c/key.pem", ""},
		{"a denied pattern", durward.Grant{Files: durward.Files{DenyGlobs: []string{"/**/*.pem"}}}, "", "", ""},
		{"a denied directory", durward.Grant{Files: durward.Files{DenyGlobs: []string{root + "/*/c"}}}, "", "a/key.pem", ""},
		{"in a denied pattern", durward.Grant{Files: durward.Files{DenyGlobs: []string{"/**/b"}}}, "b/c", "", durward.DirDenied},
		{"a pattern nobody can read", durward.Grant{Files: durward.Files{DenyGlobs: []string{"/x/[z-a]"}}}, "", "", durward.SandboxUnavailable},
	} {
		r, err := run(t.Context(), e, tt.grant, filepath.Join(root, tt.dir), "glob", "**/*.pem")
		if durward.ReasonOf(err) != tt.refused || strings.Join(lines(r), " ") != tt.want {
			t.Errorf("%s: %q, %v", tt.name, lines(r), err)
		}
	}
}
