package execpolicy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/execpolicy"
)

// TestTheCeilingNarrows has the same done under several of them.
func TestTheCeilingNarrows(t *testing.T) {
	const try = `cat a.txt >/dev/null && printf r || printf -; echo x >> a.txt && printf w || printf -; cat $T/out/secret.txt >/dev/null && printf o || printf -; echo x > $T/out/n && printf p || printf -; bash -c 'exec 3<>/dev/udp/127.0.0.1/9' && printf n || printf -`
	full := execpolicy.Options{Sandbox: durward.DangerFullAccess}
	for _, tt := range []struct {
		name   string
		o      execpolicy.Options
		object string
		want   string
		rule   string
	}{
		{"none", execpolicy.Options{}, `null`, "rwopn", "default"},
		{"none", full, disabled, "rwopn", "default"},
		{"none and an object", full, workspace, "rwo--", "sandbox"},
		{"read-only", execpolicy.Options{Sandbox: durward.ReadOnly}, `null`, "r-o--", "--sandbox"},
		{"read-only and an object that asks for more", execpolicy.Options{Sandbox: durward.ReadOnly}, workspace, "r-o--", "sandbox"},
		{"read-only and no confinement", execpolicy.Options{Sandbox: durward.ReadOnly}, disabled, "r-o--", "--sandbox"},
		{"read-only and an external one", execpolicy.Options{Sandbox: durward.ReadOnly}, `{"sandboxPolicy":{"type":"external-sandbox","network_access":"enabled"}}`, "r-o--", "--sandbox"},
		{"workspace-write, and /tmp, where the world lies", execpolicy.Options{Sandbox: durward.WorkspaceWrite}, `null`, "rwop-", "--sandbox"},
		{"workspace-write and an object", execpolicy.Options{Sandbox: durward.WorkspaceWrite}, workspace, "rwo--", "sandbox"},
		{"workspace-write and less", execpolicy.Options{Sandbox: durward.WorkspaceWrite}, little, "r----", "sandbox"},
		{"a root", execpolicy.Options{Root: "$T/ws"}, `null`, "rw--n", "--root"},
		{"a root and no confinement", execpolicy.Options{Root: "$T/ws"}, disabled, "rw--n", "--root"},
		{"a root and an object", execpolicy.Options{Root: "$T/ws"}, workspace, "rw---", "sandbox"},
		{"a root and reading", execpolicy.Options{Root: "$T/ws"}, readOnly, "r----", "sandbox"},
		{"a root and what lies outside", execpolicy.Options{Root: "$T/ws"}, holding(entry("write", "$T"), entry("write", "$T/out")), "rw---", "sandbox"},
		{"a root for reading", execpolicy.Options{Sandbox: durward.ReadOnly, Root: "$T/ws"}, `null`, "r----", "--sandbox"},
		{"a root by a link", execpolicy.Options{Root: "$T/link"}, workspace, "rw---", "sandbox"},
		{"a root around the workspace", execpolicy.Options{Root: "$T"}, workspace, "rwo--", "sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			must(t, os.Symlink("ws", w.at("link")))
			w.ofUser()
			tt.o.Root = w.path(tt.o.Root)
			p := w.policy(tt.o)
			c := w.call(tt.object, "ws", "exec 2>/dev/null; "+try)
			d := p.Decide(c, durward.Tool{})
			if d.Rule != tt.rule || d.PolicyHash != p.PolicyHash() || d.Where.File != "" && d.Where.File != tt.rule {
				t.Errorf("%+v", d)
			}
			if e := w.run(p, c); e.out != tt.want || e.err != nil {
				t.Errorf("%q, %v; want %q", e.out, e.err, tt.want)
			}
		})
	}
}

// A working directory outside of the ceiling is refused by the flag's name.
func TestTheWorkingDirectoryIsUnderTheCeiling(t *testing.T) {
	w := newWorld(t)
	p := w.policy(execpolicy.Options{Root: w.at("ws/sub")})
	for _, object := range []string{`null`, workspace, holding(entry("read", "$T/out"))} {
		d := p.Decide(w.call(object, "out", "true"), durward.Tool{})
		if d.Allow || d.Code != durward.DirDenied || d.Rule != "--root" || d.Remedy == "" {
			t.Errorf("%+v", d)
		}
	}
}

// To begin in what is hidden is refused alike whatever is there, be it by a link or not. What
// is missing where all may be read is for the engine to tell.
func TestNoWorkingDirectoryTellsWhatIsHidden(t *testing.T) {
	for _, under := range []struct {
		o      execpolicy.Options
		object string
	}{{execpolicy.Options{Root: "$T/ws"}, `null`}, {execpolicy.Options{Root: "$T/ws"}, readOnly}, {execpolicy.Options{}, little}} {
		w := newWorld(t)
		must(t, os.Symlink("../out/hidden", w.at("ws/link")))
		under.o.Root = w.path(under.o.Root)
		p := w.policy(under.o)
		for what, make := range map[string]func(path string) error{
			"nothing":     func(string) error { return nil },
			"a file":      func(path string) error { return os.WriteFile(path, nil, 0o644) },
			"a directory": func(path string) error { return os.MkdirAll(path+"/x", 0o755) },
			"a loop":      func(path string) error { return os.Symlink(path, path) },
			"a dead link": func(path string) error { return os.Symlink("none", path) },
		} {
			must(t, os.RemoveAll(w.at("out/hidden")))
			must(t, make(w.at("out/hidden")))
			for _, dir := range []string{"out/hidden", "out/hidden/x", "ws/link", "ws/link/x", "ws/link/x/y"} {
				c := w.call(under.object, "ws", "true")
				c.Dir = w.at(dir)
				if d := p.Decide(c, durward.Tool{}); d.Allow || d.Code != durward.DirDenied {
					t.Errorf("%+v: %s, where %s is: %+v", under, dir, what, d)
				}
			}
		}
		for _, dir := range []string{"ws/none", "ws/none/none", "ws/a.txt", "ws/a.txt/none"} {
			c := w.call(under.object, "ws", "true")
			c.Dir = w.at(dir)
			if e := w.run(p, c); durward.ReasonOf(e.err) != durward.DirUnavailable {
				t.Errorf("%+v: %s: %v", under, dir, e.err)
			}
		}
	}
}

// A program that is hidden is as good as missing, whatever there is: by its path, by a link and
// on the way along PATH.
func TestNoProgramTellsWhatIsHidden(t *testing.T) {
	w := newWorld(t)
	must(t, os.WriteFile(w.at("ws/prog"), []byte("#!/bin/sh\necho mine\n"), 0o755))
	must(t, os.WriteFile(w.at("ws/plain"), nil, 0o644))
	must(t, os.Symlink("../out/prog", w.at("ws/link")))
	w.ofUser()
	p := w.policy(execpolicy.Options{Root: w.at("ws")})
	run := func(path string, argv ...string) ended {
		c := w.call(`null`, "ws", "")
		c.Argv, c.Env = argv, map[string]string{"PATH": w.path(path)}
		return w.run(p, c)
	}
	for what, make := range map[string]func(path string) error{
		"nothing":     func(string) error { return nil },
		"a program":   func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755) },
		"a file":      func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"a directory": func(path string) error { return os.MkdirAll(path+"/x", 0o755) },
		"a dead link": func(path string) error { return os.Symlink("none", path) },
	} {
		must(t, os.RemoveAll(w.at("out/prog")))
		must(t, make(w.at("out/prog")))
		for _, name := range []string{"out/prog", "out/prog/x", "ws/link", "ws/link/x"} {
			if e := run("/usr/bin:/bin", w.at(name)); durward.ReasonOf(e.err) != durward.ProgramNotFound || !errors.Is(e.err, fs.ErrNotExist) {
				t.Errorf("%s, where %s is: %v", name, what, e.err)
			}
		}
		if e := run("$T/out", "prog"); durward.ReasonOf(e.err) != durward.ProgramNotFound {
			t.Errorf("along PATH, where %s is: %v", what, e.err)
		}
		if e := run("$T/out:$T/ws", "prog"); e.out != "mine\n" {
			t.Errorf("further along PATH, where %s is: %q, %v", what, e.out, e.err)
		}
	}
	if e := run("", w.at("ws/plain")); durward.ReasonOf(e.err) != durward.ProgramNotExecutable {
		t.Errorf("what is shown and no program: %v", e.err)
	}
}

// Where the root is led elsewhere, nothing is given in its place.
func TestTheRootStaysWhatItWas(t *testing.T) {
	w := newWorld(t)
	w.ofUser()
	p := w.policy(execpolicy.Options{Root: w.at("ws")})
	if e := w.run(p, w.call(`null`, "ws", "cat a.txt")); e.out != "in ws/a.txt\n" {
		t.Fatalf("%q, %v", e.out, e.err)
	}
	must(t, os.Rename(w.at("ws"), w.at("was")))
	must(t, os.Symlink("out", w.at("ws")))
	for _, object := range []string{`null`, workspace, readOnly} {
		if e := w.run(p, w.call(object, "ws", "cat secret.txt")); e.err == nil || strings.Contains(e.out, "secret") {
			t.Errorf("%q, %v", e.out, e.err)
		}
	}
	must(t, os.Remove(w.at("ws")))
	must(t, os.Rename(w.at("was"), w.at("ws")))
	if e := w.run(p, w.call(`null`, "ws", "cat a.txt")); e.out != "in ws/a.txt\n" {
		t.Errorf("%q, %v", e.out, e.err)
	}
}

// What an operator keeps from everybody no object gives.
func TestSecretsUnderACeiling(t *testing.T) {
	w := newWorld(t)
	must(t, os.MkdirAll(w.at("ws/.ssh"), 0o755))
	must(t, os.WriteFile(w.at("ws/.ssh/id"), []byte("key"), 0o644))
	w.ofUser()
	o := execpolicy.Options{Root: w.at("ws")}
	o.Host.Home = w.at("ws")
	for name, tt := range map[string]struct {
		o    execpolicy.Options
		want string
	}{"under a ceiling": {o, "none"}, "without": {execpolicy.Options{}, "key"}} {
		p := w.policy(tt.o)
		for _, object := range []string{readOnly, holding(entry("read", "$T/ws"), entry("read", "$T/ws/.ssh"))} {
			if e := w.run(p, w.call(object, "ws", "cat .ssh/id 2>/dev/null || printf none")); e.out != tt.want {
				t.Errorf("%s: %q, %v", name, e.out, e.err)
			}
		}
	}
}

func TestFlagsAtFault(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		o    execpolicy.Options
		flag string
	}{
		{execpolicy.Options{Sandbox: "some"}, "--sandbox"},
		{execpolicy.Options{Sandbox: durward.External}, "--sandbox"},
		{execpolicy.Options{Sandbox: durward.DangerFullAccess, Root: w.top}, "--root"},
		{execpolicy.Options{Root: "/"}, "--root"},
		{execpolicy.Options{Root: w.at("none")}, "--root"},
		{execpolicy.Options{Root: "ws"}, "--root"},
		{execpolicy.Options{Sandbox: durward.WorkspaceWrite, Dir: "/"}, "--sandbox"},
		{execpolicy.Options{Sandbox: durward.WorkspaceWrite}, "--sandbox"},
	} {
		tt.o.Host.Resolve = filepath.EvalSymlinks
		_, err := execpolicy.New(tt.o)
		if e := durward.AsError(err); e == nil || e.Reason != durward.PolicyInvalid || e.Rule != tt.flag || e.Hint == "" {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
}

// The hash is of the ceiling and its limits, whatever calls ask for.
func TestHash(t *testing.T) {
	w := newWorld(t)
	seen := map[string]bool{}
	for _, o := range []execpolicy.Options{
		{},
		{Sandbox: durward.ReadOnly},
		{Sandbox: durward.WorkspaceWrite},
		{Root: w.at("ws")},
		{Root: w.at("out")},
		{Sandbox: durward.ReadOnly, Root: w.at("ws")},
		{Limits: durward.Limits{Wall: time.Second}},
		{Limits: durward.Limits{Pids: 7}},
	} {
		p := w.policy(o)
		if again := w.policy(o).PolicyHash(); seen[p.PolicyHash()] || !strings.HasPrefix(again, "sha256:") || again != p.PolicyHash() {
			t.Errorf("%+v: %s, %s", o, p.PolicyHash(), again)
		}
		seen[p.PolicyHash()] = true
	}
	if p := w.policy(execpolicy.Options{Sandbox: durward.DangerFullAccess}); !seen[p.PolicyHash()] {
		t.Error("no ceiling in words is not the same as none")
	}
}
