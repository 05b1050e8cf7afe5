//go:build linux && (amd64 || arm64)

package process

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// The command gets descriptors 0 to 2 and nothing else, whatever we hold open.
func TestNoDescriptorIsInherited(t *testing.T) {
	secret, err := unix.Open("/etc/hostname", unix.O_RDONLY, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(secret)
	for _, low := range []int{7, 9, 14, 40} {
		if err := unix.Dup3(secret, 1000+low, 0); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(1000 + low)
	}
	eachContainment(t, func(t *testing.T, e *Engine) {
		r, err := e.run(t.Context(), call("ls", "/proc/self/fd"), confined())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Stdout.Bytes()); got != "0\n1\n2\n3\n" { // 3 is the directory being listed
			t.Fatalf("descriptors %q", got)
		}
	})
}

// The environment is the grant's and nothing else.
func TestEnvironmentIsExact(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	e, g := newEngine(t, Options{}), confined()
	g.Env["EXTRA"] = "a b\nc"
	r, err := e.run(t.Context(), call("env", "-0"), g)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for kv := range strings.SplitSeq(strings.TrimSuffix(string(r.Stdout.Bytes()), "\x00"), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		names[name] = value
	}
	home := names["HOME"]
	if len(names) != 4 || names["EXTRA"] != "a b\nc" || names["TMPDIR"] != home || !strings.HasPrefix(home, e.scratch.dir()) {
		t.Fatalf("environment %q", names)
	}
	if left, err := os.ReadDir(home); len(left) > 0 || err != nil && !os.IsNotExist(err) {
		t.Fatalf("the private directory has something for the next call: %v, %v", left, err)
	}
}

// An environment without a PATH finds the programs of the system, and gets none by that. An
// empty PATH finds nothing.
func TestProgramsWithoutAPath(t *testing.T) {
	e, g := newEngine(t, Options{}), confined()
	g.Env, g.PrivateDir = map[string]string{"A": "1"}, nil
	r, err := e.run(t.Context(), call("env"), g)
	if err != nil || string(r.Stdout.Bytes()) != "A=1\n" {
		t.Errorf("the environment is %q: %v", r.Stdout.Bytes(), err)
	}
	g.Env["PATH"] = ""
	if _, err := e.run(t.Context(), call("env"), g); durward.ReasonOf(err) != durward.ProgramNotFound {
		t.Errorf("with an empty PATH: %v", err)
	}
}

// A program that is named apart may be called anything, and nothing, too.
func TestWhatAProgramIsCalled(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		for _, name := range []string{"", "-other"} {
			c := call(name, "-c", `printf "[$0]"`)
			c.Program = "sh"
			r, err := e.run(t.Context(), c, confined())
			if got := string(r.Stdout.Bytes()); err != nil || got != "["+name+"]" {
				t.Errorf("it is called %q and not %q: %v", got, name, err)
			}
		}
	})
	if _, err := newEngine(t, Options{}).run(t.Context(), call("", "x"), confined()); durward.ReasonOf(err) != durward.ArgvEmpty {
		t.Errorf("no name at all: %v", err)
	}
}

// Signals, session, umask and niceness are those of a fresh start, whatever ours are.
func TestProcessStateIsFresh(t *testing.T) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Reset(syscall.SIGHUP, syscall.SIGUSR1)
	eachContainment(t, func(t *testing.T, e *Engine) {
		r, err := e.run(t.Context(), call("cat", "/proc/self/status", "/proc/self/stat"), confined())
		if err != nil {
			t.Fatal(err)
		}
		out := string(r.Stdout.Bytes())
		for _, want := range []string{"Umask:\t0077\n", "SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in %s", want, out)
			}
		}
		f := strings.Fields(out[strings.LastIndexByte(out, ')')+1:]) // state, parent, group, session, terminal, …, nice
		if f[2] != f[3] || f[4] != "0" || f[16] != "0" {
			t.Errorf("group, session, terminal, nice: %s %s %s %s", f[2], f[3], f[4], f[16])
		}
	})
}

// A key in our session keyring is not in the command's.
func TestNoKeyringIsInherited(t *testing.T) {
	runtime.LockOSThread() // a session keyring belongs to a thread; this one ends with the test
	if _, err := unix.KeyctlJoinSessionKeyring("durward-test"); err != nil {
		t.Logf("no keyrings here: %v", err)
		return
	}
	key, err := unix.AddKey("user", "durward-test-secret", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.KeyctlSetperm(key, 0x3f000000); err != nil { // for who has it in a keyring, not for who owns it
		t.Fatal(err)
	}
	own, err := os.ReadFile("/proc/thread-self/root/proc/keys")
	if err != nil || !bytes.Contains(own, []byte("durward-test-secret")) {
		t.Fatalf("the key is not in our own keyring: %v", err)
	}
	g := confined()
	g.Mode = durward.DangerFullAccess // a command that is somebody else is not shown our keys in any case
	r, err := newEngine(t, Options{}).run(t.Context(), call("cat", "/proc/keys"), g)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(r.Stdout.Bytes(), []byte("durward-test-secret")) {
		t.Fatalf("the command has our key:\n%s", r.Stdout.Bytes())
	}
}

// A root runtime's command is somebody else; anybody else's is themselves.
func TestIdentity(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		r, err := e.run(t.Context(), shell("id -u; id -g; id -G"), confined())
		if err != nil {
			t.Fatal(err)
		}
		want := "65533 65533 65533"
		if uid := os.Geteuid(); uid != 0 {
			want = strings.TrimSpace(strings.Repeat(itoa(uid)+" ", 3))
		}
		if got := strings.Join(strings.Fields(string(r.Stdout.Bytes())), " "); got != want || r.Report.Identity.Host == 0 {
			t.Fatalf("ids %s, want %s; report %+v", got, want, r.Report.Identity)
		}
	})
}

// What cannot be started says why, leaves nothing, and does nothing.
func TestWhatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	openToAll(t, dir)
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	marker := filepath.Join(dir, "ran")
	tests := []struct {
		name   string
		call   durward.Call
		reason durward.Reason
	}{
		{"no argv", call(), durward.ArgvEmpty},
		{"empty program", call(""), durward.ArgvEmpty},
		{"NUL in the program", call("true\x00"), durward.ArgNUL},
		{"NUL in an argument", call("true", "a", "b\x00c"), durward.ArgNUL},
		{"missing program", call("no-such-program"), durward.ProgramNotFound},
		{"missing path", call("/no/such/program"), durward.ProgramNotFound},
		{"a directory", call("/usr"), durward.ProgramNotExecutable},
		{"no permission", call(file("plain", "#!/bin/sh\ntouch "+marker, 0o644)), durward.ProgramNotExecutable},
		{"not a program", call(file("text", "touch "+marker, 0o755)), durward.ProgramNotExecutable},
		{"missing interpreter", call(file("script", "#!/no/such/interpreter\n", 0o755)), durward.ProgramNotExecutable},
		{"a relative entry of PATH", call("text"), durward.ProgramNotFound},
		{"missing directory", withDir(call("touch", marker), filepath.Join(dir, "none")), durward.DirUnavailable},
		{"directory is a file", withDir(call("touch", marker), file("file", "", 0o644)), durward.DirUnavailable},
		{"arguments the kernel does not take", call("touch", marker, strings.Repeat("x", 1<<20)), durward.ArgTooLong},
	}
	eachContainment(t, func(t *testing.T, e *Engine) {
		if _, err := e.run(t.Context(), call("true"), confined()); err != nil { // what is kept for later calls is there
			t.Fatal(err)
		}
		for _, test := range tests {
			g := confined()
			g.Env["PATH"] = ":.:" + g.Env["PATH"]
			before := descriptors(t, e)
			r, err := e.run(t.Context(), test.call, g)
			if durward.ReasonOf(err) != test.reason || r.Report != nil {
				t.Errorf("%s: %v (reason %q), want %s", test.name, err, durward.ReasonOf(err), test.reason)
			}
			if _, err := os.Stat(marker); !os.IsNotExist(err) {
				t.Errorf("%s: something ran", test.name)
			}
			if after := descriptors(t, e); after > before { // what an earlier one had may go meanwhile
				t.Errorf("%s: %d descriptors before, %d after", test.name, before, after)
			}
		}
	})
}

func descriptors(t *testing.T, e *Engine) int {
	t.Helper()
	n := 0
	for _, count := range openFiles(t, e) {
		n += count
	}
	return n
}

func withDir(c durward.Call, dir string) durward.Call {
	c.Dir = dir
	return c
}

// A directory that the command's user cannot read is a refusal that names the remedy.
func TestUnreadableDirectoryIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only a runtime that is root changes to another user")
		return
	}
	dir := t.TempDir()
	openToAll(t, dir)
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	eachContainment(t, func(t *testing.T, e *Engine) {
		_, err := e.run(t.Context(), withDir(call("touch", dir+"/ran"), closed), confined())
		var refused *durward.Error
		if durward.ReasonOf(err) != durward.DirUnreadable || !asError(err, &refused) || !strings.Contains(refused.Hint, "chmod") {
			t.Fatalf("%v", err)
		}
		if _, err := os.Stat(dir + "/ran"); !os.IsNotExist(err) {
			t.Fatal("the command ran")
		}
	})
}

// The directory is entered by descriptor: one that its user could not reach by path
// is worked in all the same, and one that was moved meanwhile is the one that was
// judged.
func TestDirectoryIsEnteredByDescriptor(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "hidden", "work")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	openToAll(t, dir)
	e := newEngine(t, Options{})
	p, err := e.Prepare(t.Context(), durward.Tool{}, withDir(call("sh", "-c", "echo *"), dir), confined())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := os.WriteFile(filepath.Join(dir, "judged"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(top, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r, err := p.Run(t.Context())
	if err != nil || string(r.Stdout.Bytes()) != "judged\n" {
		t.Fatalf("%q, %v", r.Stdout.Bytes(), err)
	}
}

// A script that was replaced between the judgement and the start is refused; a
// program is executed as it was opened.
func TestTheJudgedProgramRuns(t *testing.T) {
	dir := t.TempDir()
	openToAll(t, dir)
	marker := filepath.Join(dir, "ran")
	path := filepath.Join(dir, "tool")
	replace := func(content []byte) {
		if err := os.WriteFile(path+".new", content, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	e := newEngine(t, Options{})
	evil := []byte("#!/bin/sh\ntouch " + marker + "\n")
	replace([]byte("#!/bin/sh\necho good\n"))
	p, err := e.Prepare(t.Context(), durward.Tool{}, call(path), confined())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	replace(evil)
	if _, err := p.Run(t.Context()); durward.ReasonOf(err) != durward.ProgramNotExecutable {
		t.Fatalf("a replaced script: %v", err)
	}
	echo, err := os.ReadFile("/bin/echo")
	if err != nil {
		t.Fatal(err)
	}
	replace(echo)
	q, err := e.Prepare(t.Context(), durward.Tool{}, call(path, "good"), confined())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	replace(evil)
	if r, err := q.Run(t.Context()); err != nil || string(r.Stdout.Bytes()) != "good\n" {
		t.Fatalf("a replaced program: %q, %v", r.Stdout.Bytes(), err)
	}
	if _, err := os.Stat(marker); !os.IsNotExist(err) {
		t.Fatal("the replacement ran")
	}
}

// Input of any size is fed while the command runs, and holds up nobody who does not
// read it.
func TestStdin(t *testing.T) {
	e := newEngine(t, Options{})
	c := call("cat")
	c.Stdin = bytes.Repeat([]byte("0123456789abcdef"), 60000)
	g := confined()
	r, err := e.run(t.Context(), c, g)
	if err != nil || !bytes.Equal(r.Stdout.Bytes(), c.Stdin) {
		t.Fatalf("%d bytes came back, %v", r.Stdout.Total, err)
	}
	c.Argv = []string{"true"}
	if r, err := e.run(t.Context(), c, g); err != nil || r.ExitStatus() != 0 {
		t.Fatalf("a command that does not read: %d, %v", r.ExitStatus(), err)
	}
	c.Stdin, c.Argv = nil, []string{"cat"}
	if r, err := e.run(t.Context(), c, g); err != nil || r.Stdout.Total != 0 {
		t.Fatalf("without input: %d bytes, %v", r.Stdout.Total, err)
	}
}

// The private directory goes, whatever the command has made of it.
func TestPrivateDirectoryGoes(t *testing.T) {
	e := newEngine(t, Options{})
	r, err := e.run(t.Context(), shell(`mkdir -p $HOME/a/b/c && touch $HOME/a/b/c/f && ln -s / $HOME/root && chmod 0 $HOME/a/b && chmod 0 $HOME/a; echo $HOME`), confined())
	if err != nil || r.ExitStatus() != 0 {
		t.Fatalf("%d, %v: %s", r.ExitStatus(), err, r.Stderr.Bytes())
	}
	if _, err := os.Lstat(strings.TrimSpace(string(r.Stdout.Bytes()))); !os.IsNotExist(err) {
		t.Fatalf("it is still there: %v", err)
	}
}
