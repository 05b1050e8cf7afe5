package execpolicy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/execpolicy"
	"github.com/durward/durward/internal/sandbox"
)

// TestNobodyMakesWhatIsProtected has a command make what is missing: it is ended, told of,
// and what it made is not left where programs look for it.
func TestNobodyMakesWhatIsProtected(t *testing.T) {
	for _, script := range []string{
		"mkdir .codex; sleep 60", "mkdir x; echo hooks > x/config; mv x .agents; sleep 60", "ln -s a.txt .codex; sleep 60",
		"echo x > .agents", "mkdir -p .codex/deep/er; sleep 60",
	} {
		for _, object := range []string{
			workspace, seedOld, usual,
		} {
			w := newWorld(t)
			w.ofUser()
			e := w.run(w.policy(execpolicy.Options{}), w.call(object, "ws", script))
			if durward.ReasonOf(e.err) != durward.ProtectedPath {
				t.Errorf("%s: %q, %v", script, e.out, e.err)
			}
			for _, name := range []string{"ws/.codex", "ws/.agents"} {
				if _, err := os.Lstat(w.at(name)); !os.IsNotExist(err) {
					t.Errorf("%s: %s is there: %v", script, name, err)
				}
			}
		}
	}
}

// What ".git" names is not written, be it a directory, a file or a link.
func TestWhatGitNamesIsKept(t *testing.T) {
	for name, make := range map[string]func(w *world){
		"a directory": func(*world) {},
		"a file": func(w *world) {
			must(t, os.Rename(w.at("ws/.git"), w.at("ws/main")))
			must(t, os.WriteFile(w.at("ws/.git"), []byte("gitdir: main\n"), 0o644))
		},
		"a link": func(w *world) {
			must(t, os.Rename(w.at("ws/.git"), w.at("ws/main")))
			must(t, os.Symlink("main", w.at("ws/.git")))
		},
		"a link that leads out": func(w *world) {
			must(t, os.Rename(w.at("ws/.git"), w.at("out/git")))
			must(t, os.Symlink("../out/git", w.at("ws/.git")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			make(w)
			w.ofUser()
			real := "ws/.git/config"
			for _, other := range []string{"ws/main/config", "out/git/config"} {
				if w.holds(other) != "" {
					real = other
				}
			}
			// The last one writes to all that could be the directory.
			e := w.run(w.policy(execpolicy.Options{}), w.call(workspace, "ws", `exec 2>/dev/null; echo x > a.txt && echo written; for f in .git/config main/config $T/out/git/config .git; do echo x > $f; echo x > $f/hook; done; true`))
			if e.out != "written\n" || e.err != nil || w.holds(real) != "in ws/.git/config\n" {
				t.Errorf("%q, %v; %s holds %q", e.out, e.err, real, w.holds(real))
			}
		})
	}
}

// A workspace of root's is written by a command that is not root, and stays root's.
func TestAWorkspaceOfRoots(t *testing.T) {
	w := newWorld(t)
	for _, at := range [][2]string{{workspace, "ws"}, {workspace, "ws/sub"}, {usual, "ws"}, {usual, "ws/sub"}} {
		object, dir := at[0], at[1]
		e := w.run(w.policy(execpolicy.Options{}), w.call(object, dir, `id -u; echo x >> $T/ws/a.txt && echo y > $T/ws/new && mkdir -p $T/ws/dir/in && rm -r $T/ws/dir && echo written`))
		uid, out, _ := strings.Cut(e.out, "\n")
		if e.err != nil || out != "written\n" || uid == "0" || e.Report.Identity.Host == 0 {
			t.Errorf("%s: %q, %v", dir, e.out, e.err)
		}
		info, err := os.Stat(w.at("ws/new"))
		must(t, err)
		own, err := os.Stat(w.at("ws"))
		must(t, err)
		if owner(info) != owner(own) {
			t.Errorf("what was made belongs to %d, and the workspace to %d", owner(info), owner(own))
		}
	}
}

// Where a host has no level that holds a confinement, nothing runs; where level 1 does, it does.
func TestHostsWithoutNamespaces(t *testing.T) {
	w := newWorld(t)
	w.ofUser()
	p := w.policy(execpolicy.Options{})
	host := sandbox.ProbeAll()
	tried := 0
	for _, trial := range host.Trials {
		if trial.Containment == sandbox.PIDNamespace || trial.Err != nil {
			continue
		}
		tried++
		w.engine = process.New(process.Options{ScratchDir: w.at("scratch"), Host: func() sandbox.Host { return host.With(trial.Containment) }})
		for _, tt := range []struct{ object, want string }{
			{readOnly, "in ws/a.txt in out/secret.txt denied"},
			{little, "in ws/a.txt denied"},
			{workspace, ""},
			{holding(entry("read", "$T/ws"), entry("deny", "$T/ws/sub")), ""},
		} {
			e := w.run(p, w.call(tt.object, "ws", `exec 2>/dev/null; cat a.txt; cat $T/out/secret.txt; echo x > a.txt || echo denied`))
			refused := durward.ReasonOf(e.err) == durward.SandboxUnavailable
			if got := strings.Join(strings.Fields(e.out), " "); got != tt.want || refused != (tt.want == "") {
				t.Errorf("%s: %s: %q, %v", trial.Containment, tt.object, got, e.err)
			}
		}
		must(t, w.engine.Close())
	}
	if tried == 0 {
		t.Error("there is no containment without namespaces")
	}
	w.engine = process.New(process.Options{ScratchDir: w.at("scratch")})
}
