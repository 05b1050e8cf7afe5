//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/source/pages"
)

// unrun asks that a call was refused by policy and has not run.
func (s *scene) unrun(what string, c durward.Call, want ...durward.Reason) {
	s.Helper()
	marker := filepath.Join(s.workspace, "ran")
	c.Argv = []string{s.attemptPath(), "mark", marker}
	r, err := s.do(s.base, c)
	if durward.KindOf(err) != durward.Denied || !slices.Contains(want, durward.ReasonOf(err)) || r.Report != nil {
		s.Errorf("%s: %v (%s), want %v", what, err, durward.ReasonOf(err), want)
	}
	if _, err := os.Lstat(marker); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("%s: the command has run: %v", what, err)
	}
	s.said[string(durward.ReasonOf(err))] = true
}

func TestV41PreloadVariables(t *testing.T) {
	row{id: "V41"}.each(t, func(s *scene) {
		for _, name := range []string{
			"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "ld_preload", "Ld_Preload", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES", "GCONV_PATH",
			"BASH_ENV", "ENV", "Bash_Env", "SHELLOPTS", "PROMPT_COMMAND", "IFS", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS", "PERL5OPT",
			"RUBYOPT", "JAVA_TOOL_OPTIONS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL",
			"RIPGREP_CONFIG_PATH", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "PATH", "BASH_FUNC_ls",
		} {
			s.unrun(name, durward.Call{Env: map[string]string{name: filepath.Join(s.workspace, "evil.so")}}, durward.EnvDenied)
		}
		marker := filepath.Join(s.workspace, "ran")
		for _, name := range []string{"BASH_FUNC_ls%%", "A B", "1A", "", "A=B", "LD_PRELOAD\x00", "Å"} {
			_, err := s.do(s.base, durward.Call{Argv: []string{s.attemptPath(), "mark", marker}, Env: map[string]string{name: "x"}})
			if durward.ReasonOf(err) != durward.BadEnvName && durward.ReasonOf(err) != durward.EnvDenied {
				s.Errorf("%q: %v", name, err)
			}
		}
		if _, err := os.Lstat(marker); !errors.Is(err, os.ErrNotExist) {
			s.Errorf("a command has run: %v", err)
		}
		// Nor may a policy say so.
		for _, name := range []string{"LD_PRELOAD", "BASH_ENV", "NODE_OPTIONS"} {
			if _, err := s.tryCompile(s.base.with("env", "{set: {"+name+": x}}")); durward.ReasonOf(err) != durward.PolicyInvalid {
				s.Errorf("%s in a policy: %v", name, err)
			}
			if _, err := s.tryCompile(s.base.with("env", "{pass: ["+name+"]}")); durward.ReasonOf(err) != durward.PolicyInvalid {
				s.Errorf("%s passed on by a policy: %v", name, err)
			}
		}
	})
}

func TestV42PathHijack(t *testing.T) {
	row{id: "V42"}.each(t, func(s *scene) {
		evil := "#!/bin/sh\ntouch " + s.workspace + "/hijacked\necho hijacked\n"
		for _, name := range []string{"git", "bin/git", "ls", "bin/ls", "dir/git", ".git/git"} {
			s.makeDir(filepath.Join("workspace", filepath.Dir(name)), s.user.owner, 0o777)
			s.makeFile("workspace/"+name, s.user.owner, evil, 0o755)
		}
		for _, dir := range []string{s.workspace, s.workspace + "/bin", s.workspace + "/dir"} {
			for _, argv := range [][]string{{"git", "--version"}, {"ls", "--version"}, {"env", "git", "--version"}, {"bash", "-c", "ls --version"}} {
				r, err := s.do(s.base, durward.Call{Argv: argv, Dir: dir})
				if out := string(r.Stdout.Bytes()); err != nil || r.ExitStatus() != 0 || strings.Contains(out, "hijacked") {
					s.Errorf("%q in %s: exit %d, %v: %q", argv, dir, r.ExitStatus(), err, out)
				}
			}
		}
		if _, err := os.Lstat(s.workspace + "/hijacked"); !errors.Is(err, os.ErrNotExist) {
			s.Errorf("a program of the workspace has run: %v", err)
		}
		if s.base["mode"] != "workspace-write" {
			return // nobody can tell what the command could write
		}
		for _, path := range []string{"$ws/bin:/usr/bin", ".:/usr/bin", ":/usr/bin", "bin:/usr/bin", "/usr/bin:$ws"} {
			if _, err := s.tryCompile(s.base.with("env", fmt.Sprintf("{set: {PATH: %q}}", s.expand(path)[0]))); durward.ReasonOf(err) != durward.PolicyInvalid {
				s.Errorf("PATH %s in a policy: %v", path, err)
			}
		}
	})
}

// gitted makes the workspace one of git, with some of the protected files and without
// others, and has the scene's policy protect them.
func gitted(s *scene) {
	for _, dir := range []string{".git", ".git/hooks", ".git/info", ".git/objects", ".idea", "state"} {
		s.makeDir("workspace/"+dir, s.user.owner, 0o777)
	}
	for _, file := range []string{".git/config", ".git/HEAD", ".git/hooks/pre-push", ".idea/workspace.xml", ".envrc", "state/policy.yaml", "plain"} {
		s.makeFile("workspace/"+file, s.user.owner, "as it was\n", 0o666)
	}
	s.host.Own = []string{s.path("workspace/state/policy.yaml")}
	s.base = s.base.with("filesystem", s.files(`protect: ["@vcs", "@agent"]`))
}

// guarded is where a gitted workspace has something to protect, as far as it is there.
var guarded = []string{".git/hooks", ".git/config", ".idea", ".envrc", "state/policy.yaml"}

// unmadeFiles are protected, and missing.
var unmadeFiles = []string{".gitmodules", ".git/config.worktree", ".git/info/attributes", ".mcp.json", ".vscode"}

func TestV43ProtectedPaths(t *testing.T) {
	row{id: "V43", needs: "fs.write", from: 2, change: gitted}.each(t, func(s *scene) {
		full := func(name string) string { return filepath.Join(s.workspace, name) }
		var there []string
		for _, name := range guarded {
			there = append(there, full(name))
		}
		before := take(s.T, there...)
		for _, what := range []string{
			"create .git/hooks/pre-commit", "append .git/hooks/pre-push", "trunc .git/hooks/pre-push", "truncate .git/hooks/pre-push", "remove .git/hooks/pre-push",
			"rename .git/hooks/pre-push .git/hooks/pre-commit", "rename plain .git/hooks/pre-commit", "rename plain .git/hooks/pre-push", "link plain .git/hooks/pre-commit",
			"symlink ../../plain .git/hooks/pre-commit", "mkdir .git/hooks/d", "rename .git/hooks .git/old", "rename .git/hooks old", "rename dir .git/hooks", "exchange dir .git/hooks",
			"chmod .git/hooks/pre-push 0777", "chmod .git/hooks 0700", "utimes .git/hooks/pre-push", "setxattr .git/hooks/pre-push", "tmpfile .git/hooks", "fifo .git/hooks/p",
			"append .git/config", "trunc .git/config", "truncate .git/config", "remove .git/config", "rename plain .git/config", "exchange plain .git/config",
			"rename .git/config .git/old", "rename .git/config old", "chmod .git/config 0666", "utimes .git/config", "setxattr .git/config",
			"rename .git old", "exchange dir .git", "rename dir .git", "rename .git dir/git",
			"append .envrc", "remove .envrc", "rename .envrc old", "rename plain .envrc", "exchange plain .envrc", "append ./dir/../.envrc", "append $ws/.envrc",
			"append state/policy.yaml", "rename state old", "rename state/policy.yaml old", "exchange dir state", "rename plain state/policy.yaml", "remove state/policy.yaml",
			"create .idea/new", "append .idea/workspace.xml", "rename .idea old",
			"symlink .git l; append l/config", "symlink .git/hooks l2; create l2/pre-commit", "overwrite /proc/self/cwd/.git/config",
			"overwrite /proc/self/root$ws/.git/config",
		} {
			s.denied(s.make(s.base, try{what: what}), append(blocked, "ENOTEMPTY", "EEXIST", "EISDIR", "EINVAL", "EOPNOTSUPP")...)
		}
		// A second name for the same file is no way around, either.
		if a := s.attempt("link", ".git/config", "h"); a.Err == "" {
			s.denied(s.attempt("append", "h"), blocked...)
		}
		if changed := before.differences(withoutLinks(s.T, before, there)); len(changed) > 0 {
			s.Errorf("protected:\n%s", strings.Join(changed, "\n"))
		}
		// What is not protected may be written, beside it, too.
		for _, what := range []string{"append plain", "append .git/HEAD", "create .git/index", "create .git/objects/ab", "create state/other", "read .git/config", "list .git/hooks"} {
			s.must(s.make(s.base, try{what: what}))
		}
	})
}

// withoutLinks takes a picture again; a link that was made to a protected file shows in
// its count and time, and only there.
func withoutLinks(t *testing.T, before picture, dirs []string) picture {
	t.Helper()
	now := take(t, dirs...)
	for path, text := range before {
		if was, is := fields(text, "links", "changed"), fields(now[path], "links", "changed"); was == is && was != "" {
			now[path] = text
		}
	}
	return now
}

// fields drops some of a description's pairs.
func fields(text string, drop ...string) string {
	words := strings.Fields(text)
	var kept []string
	for i := 0; i < len(words); i++ {
		if slices.Contains(drop, words[i]) {
			i++
			continue
		}
		kept = append(kept, words[i])
	}
	return strings.Join(kept, " ")
}

// What is protected and missing stays missing, in whatever way it is made, and nothing is
// left of it nor put in its place.
func TestV43MissingProtectedPaths(t *testing.T) {
	row{id: "V43", needs: "fs.write", from: 2, change: gitted}.each(t, func(s *scene) {
		before := names(s.T, s.workspace)
		if r, err := s.shell("true"); err != nil || r.ExitStatus() != 0 {
			s.Fatalf("a harmless command: exit %d, %v", r.ExitStatus(), err)
		}
		if after := names(s.T, s.workspace); !slices.Equal(before, after) {
			s.Errorf("a harmless command: %v has become %v", before, after)
		}
		for _, name := range unmadeFiles {
			for _, what := range []string{
				"linger %s 2000", "flicker %s 300", "mkdir %s", "symlink plain %s", "fifo %s", "link plain %s", "mknod %s f 0 0",
				"create n; rename n %s", "mkdir m; rename m %s", "symlink x y; rename y %s", "bind %s",
			} {
				what = strings.ReplaceAll(what, "%s", name)
				a := s.make(s.base, try{what: what})
				if a.Err == "" && a.err == nil {
					s.Errorf("%v: neither the attempt nor the call has failed", a)
				}
				if _, err := os.Lstat(filepath.Join(s.workspace, name)); !errors.Is(err, os.ErrNotExist) {
					s.Errorf("%s: %s is there: %v", what, name, err)
					s.check(os.RemoveAll(filepath.Join(s.workspace, name)))
				}
				for _, made := range []string{"n", "m", "y"} { // may stay: the command has made them
					s.check(os.RemoveAll(filepath.Join(s.workspace, made)))
				}
				s.clearAside(name)
			}
		}
		if after := names(s.T, s.workspace); !slices.Equal(before, after) {
			s.Errorf("%v has become %v", before, after)
		}
	})
}

// clearAside removes what the command has made at a protected path and the runtime has
// moved to a name that nobody looks for: it may be something of the user's that the command
// had only renamed. Apart from that nothing may be there that the command has not made.
func (s *scene) clearAside(name string) {
	s.Helper()
	aside, err := filepath.Glob(filepath.Join(s.workspace, name+".durward-*"))
	s.check(err)
	for _, path := range aside {
		s.check(os.RemoveAll(path))
	}
}

// A workspace without a ".git" gets none with hooks in it.
func TestV43NewRepository(t *testing.T) {
	row{id: "V43", needs: "fs.write", from: 2, change: func(s *scene) {
		s.base = s.base.with("filesystem", s.files(`protect: ["@vcs", "@agent"]`))
	}}.each(t, func(s *scene) {
		before := names(s.T, s.workspace)
		r, err := s.do(s.base, s.script("git init -q . || exit 9; sleep 2"))
		if err == nil && r.ExitStatus() == 0 {
			s.Error("git has made a repository with hooks and a configuration")
		}
		for _, what := range []string{"mkdir .git; mkdir .git/hooks", "mkdir g; mkdir g/hooks; rename g .git", "symlink dir .git; mkdir dir/hooks"} {
			s.check(os.RemoveAll(filepath.Join(s.workspace, ".git")))
			a := answer{}
			for step := range strings.SplitSeq(what, ";") {
				if a = s.attempt(s.expand(step)...); a.err != nil || a.Err != "" {
					break
				}
			}
			if a.err == nil && a.Err == "" {
				s.Errorf("%s: nobody minds", what)
			}
			s.clearAside(".git")
			s.clearAside(".git/hooks")
			s.check(os.RemoveAll(filepath.Join(s.workspace, "g")))
			s.check(os.RemoveAll(filepath.Join(s.workspace, "dir", "hooks")))
		}
		for _, name := range []string{".git/hooks", ".git/config"} {
			if _, err := os.Stat(filepath.Join(s.workspace, name)); !errors.Is(err, os.ErrNotExist) {
				s.Errorf("%s is there: %v", name, err)
			}
		}
		s.clearAside(".git")
		s.check(os.RemoveAll(filepath.Join(s.workspace, ".git"))) // an empty one may be there
		if after := names(s.T, s.workspace); !slices.Equal(before, after) {
			s.Errorf("%v has become %v", before, after)
		}
	})
}

// A page that allows only reading verbs, and what is tried to have them write or run
// something. What else would have got through is confined all the same.
func TestV44ArgumentInjection(t *testing.T) {
	const page = `---
tools:
  - [git, status, ";"]
  - [git, log, --oneline, {regex: "^-[0-9]+$"}, ";"]
  - [rg, --no-config, --fixed-strings, -e, {regex: "^[a-z]+$"}, ";"]
  - [find, ., -name, {regex: "^[a-z.*]+$"}, ";"]
  - [tar, -tf, {regex: "^[a-z]+[.]tar$"}, ";"]
  - [sort, {regex: "^[a-z]+[.]txt$"}, ";"]
  - [sed, -n, 1p, {regex: "^[a-z]+[.]txt$"}, ";"]
---
`
	rules, err := pages.ParseFrontmatter("page.md", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"git", "status"}, {"git", "log", "--oneline", "-3"}, {"find", ".", "-name", "*.txt"}, {"sort", "names.txt"}} {
		if _, err := rules.Match(argv); err != nil {
			t.Errorf("%q: %v", argv, err)
		}
	}
	row{id: "V44", needs: "fs.write", from: 1}.each(t, func(s *scene) {
		out := filepath.Join(s.outside, "new")
		s.makeFile("workspace/names.txt", s.user.owner, "b\na\n", 0o666)
		s.check(exec.Command("tar", "-C", s.workspace, "-cf", s.workspace+"/a.tar", "names.txt").Run())
		s.makeFile("workspace/evil.sh", s.user.owner, "#!/bin/sh\necho x > "+out+"\n", 0o755)
		evil := filepath.Join(s.workspace, "evil.sh")
		for _, argv := range [][]string{
			{"git", "--upload-pack=" + evil, "ls-remote", "."},
			{"git", "ls-remote", "--upload-pack=" + evil, s.workspace},
			{"git", "-c", "core.pager=" + evil, "-p", "log"},
			{"git", "-c", "alias.x=!" + evil, "x"},
			{"git", "-c", "core.sshCommand=" + evil, "ls-remote", "ssh://h/x"},
			{"git", "-c", "protocol.ext.allow=always", "ls-remote", "ext::" + evil},
			{"git", "log", "--output=" + out},
			{"git", "diff", "--no-index", "--output=" + out, "names.txt", "evil.sh"},
			{"rg", "--pre", evil, "x"},
			{"find", ".", "-name", "names.txt", "-exec", evil, ";"},
			{"find", ".", "-fprint", out},
			{"find", s.workspace + "/names.txt", "-fprintf", out, "x"},
			{"tar", "-tf", "a.tar", "--checkpoint=1", "--checkpoint-action=exec=" + evil},
			{"tar", "-xf", "a.tar", "-C", s.outside},
			{"tar", "-cf", out, "names.txt"},
			{"tar", "-xf", "a.tar", "--to-command=" + evil},
			{"sort", "names.txt", "-o", out},
			{"sort", "--output=" + out, "names.txt"},
			{"sort", "--compress-program=" + evil, "-S", "1b", "names.txt"},
			{"sed", "-n", "w " + out, "names.txt"},
			{"sed", "-n", "1e " + evil, "names.txt"},
			{"sed", "-i", "s/a/b/", filepath.Join(s.outside, "victim")},
			{"sort", "../outside/secret"},
			{"sort", filepath.Join(s.outside, "secret")},
		} {
			if _, err := rules.Match(argv); durward.ReasonOf(err) != durward.CommandNotAllowed {
				s.Errorf("%q: the page allows it: %v", argv, err)
			}
			r, err := s.do(s.base, durward.Call{Argv: argv})
			if err != nil && durward.ReasonOf(err) != durward.ProgramNotFound { // rg need not be there
				s.Errorf("%q: %v", argv, err)
			}
			if strings.Contains(string(r.Stdout.Bytes()), strings.TrimSpace(secret)) {
				s.Errorf("%q gives the secret", argv)
			}
			if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
				s.Errorf("%q has written outside: %v", argv, err)
				s.check(os.Remove(out))
			}
		}
	})
}

func TestV50AskForMore(t *testing.T) {
	row{id: "V50", change: func(s *scene) {
		s.base = s.base.with("limits", "{wallMs: 30000, graceMs: 100, memoryBytes: 536870912, pids: 64, outputBytes: 4096, stdinBytes: 16}")
	}}.each(t, func(s *scene) {
		limit := func(l durward.Limits) durward.Call { return durward.Call{Ask: durward.Ask{Limits: l}} }
		for what, c := range map[string]durward.Call{
			"more time":            limit(durward.Limits{Wall: time.Hour}),
			"time without end":     limit(durward.Limits{Wall: durward.Unlimited}),
			"more grace":           limit(durward.Limits{Grace: time.Hour}),
			"more processor time":  limit(durward.Limits{CPU: 24 * time.Hour}),
			"more memory":          limit(durward.Limits{Memory: 1 << 40}),
			"memory without end":   limit(durward.Limits{Memory: durward.Unlimited}),
			"more processes":       limit(durward.Limits{Pids: 65}),
			"more files":           limit(durward.Limits{OpenFiles: 1 << 20}),
			"larger files":         limit(durward.Limits{FileSize: 1 << 50}),
			"more temporary space": limit(durward.Limits{Tmp: 1 << 50}),
			"more output":          limit(durward.Limits{Output: 4097}),
			"output without end":   limit(durward.Limits{OutputHard: durward.Unlimited}),
			"a negative limit":     limit(durward.Limits{Pids: -7}),
			"more than one":        limit(durward.Limits{Pids: 8, Wall: time.Hour}),
		} {
			s.unrun(what, c, durward.LimitDenied)
		}
		s.unrun("a level that there is none of", durward.Call{Ask: durward.Ask{MinLevel: 17}}, durward.ModeDenied)
		s.unrun("level 4", durward.Call{Ask: durward.Ask{MinLevel: durward.LevelMicroVM}}, durward.ModeDenied)
		if s.base["mode"] == "workspace-write" {
			s.unrun("all files", durward.Call{Ask: durward.Ask{Mode: durward.DangerFullAccess}}, durward.ModeDenied)
			s.unrun("somebody else's sandbox", durward.Call{Ask: durward.Ask{Mode: durward.External}}, durward.ModeDenied)
			for _, mode := range []durward.NetworkMode{durward.NetLoopback, durward.NetAllowlist, durward.NetFull, "everything"} {
				s.unrun("network "+string(mode), durward.Call{Ask: durward.Ask{Network: mode}}, durward.NetworkDenied)
			}
			for _, dir := range []string{"/", s.outside, s.top, "/root", s.workspace + "/../outside"} {
				s.unrun("to work in "+dir, durward.Call{Dir: dir}, durward.DirDenied)
			}
		}
		s.unrun("a mode that there is none of", durward.Call{Ask: durward.Ask{Mode: "anything-goes"}}, durward.ModeDenied)
		_, err := s.do(s.base, durward.Call{Argv: []string{s.attemptPath(), "mark", s.workspace + "/ran"}, Stdin: make([]byte, 17)})
		if durward.ReasonOf(err) != durward.StdinTooLarge {
			s.Errorf("more input: %v", err)
		}
		// By its own words a command asks for nothing.
		for _, args := range [][]string{{"--level=0"}, {"--sandbox-level", "0"}, {"--allow-net"}} {
			if a := s.attempt(append([]string{"ids"}, args...)...); a.Err != "" || a.result.Report == nil || a.result.Report.Level != s.level {
				s.Errorf("%v", a)
			}
		}
		// Less may be asked for, and is given.
		r, err := s.do(s.base, durward.Call{Argv: []string{"bash", "-c", "ulimit -n"}, Ask: durward.Ask{Limits: durward.Limits{OpenFiles: 33}}})
		if err != nil || strings.TrimSpace(string(r.Stdout.Bytes())) != "33" {
			s.Errorf("less: %q, %v", r.Stdout.Bytes(), err)
		}
	})
}

func TestV54ExitFidelity(t *testing.T) {
	signals := []unix.Signal{unix.SIGTERM, unix.SIGKILL, unix.SIGSEGV, unix.SIGABRT, unix.SIGINT, unix.SIGHUP}
	heard := make(chan os.Signal, 1) // so that what runs without a sandbox ignores none that we were told to ignore
	signal.Notify(heard, unix.SIGINT, unix.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) }) // the rows run beside each other, after this
	row{id: "V54"}.each(t, func(s *scene) {
		every := 1
		if s.user != users()[0] {
			every = 15 // the first user has them all
		}
		for code := 0; code < 256; code += every {
			r, err := s.do(s.base, durward.Call{Argv: []string{"sh", "-c", fmt.Sprint("exit ", code)}})
			if err != nil || r.Exit == nil || *r.Exit != code || r.Signal != 0 || ending(r).Cause != durward.CauseExit {
				s.Errorf("exit %d: %+v, %v", code, r, err)
			}
		}
		for _, sig := range signals {
			script := fmt.Sprintf("kill -%d $$; exit 77", int(sig))
			bare := exec.Command("sh", "-c", script)
			_ = bare.Run() // it ends by a signal
			want := bare.ProcessState.Sys().(syscall.WaitStatus).Signal()
			r, err := s.do(s.base, durward.Call{Argv: []string{"sh", "-c", script}})
			if err != nil || r.Exit != nil || r.Signal != int(want) || ending(r).Cause != durward.CauseSignal {
				s.Errorf("%v: %+v, %v; without a sandbox it is %v", sig, r, err, want)
			}
			// Also without a shell that could do it otherwise.
			a := s.attempt("kill", "0", fmt.Sprint(int(sig)))
			if a.result.Signal == 0 && a.result.ExitStatus() != 2 { // Go's own answer to some
				s.Errorf("%v to the group: %v", sig, a)
			}
		}
	})
}
