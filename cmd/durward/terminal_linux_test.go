//go:build amd64 || arm64

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// A desk is a terminal with somebody at it and durward in it.
type desk struct {
	t             testing.TB
	master, slave *os.File
	cmd           *exec.Cmd
	said          bytes.Buffer
	before        unix.Termios
}

// sit starts durward in a terminal of 30 rows and 100 columns.
func sit(t testing.TB, args ...string) *desk {
	t.Helper()
	return sitWith(t, func(*exec.Cmd) {}, args...)
}

// sitWith is sit for a start that is changed.
func sitWith(t testing.TB, change func(*exec.Cmd), args ...string) *desk {
	t.Helper()
	master, slave, err := sandbox.OpenTerminal(durward.WindowSize{Rows: 30, Cols: 100}, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, master: master, slave: slave, cmd: program(t, args...), before: modes(t, slave)}
	d.cmd.Stdin, d.cmd.Stdout, d.cmd.Stderr = slave, slave, slave
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	change(d.cmd)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it should have ended
		slave.Close()
		master.Close()
	})
	return d
}

// program is the test binary as durward, in a state folder of its own.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{
		Path: path, Args: append([]string{"durward"}, args...), Dir: "/",
		Env: append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(t.TempDir(), "state")),
	}
}

func modes(t testing.TB, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func (d *desk) types(text string) {
	d.t.Helper()
	if _, err := io.WriteString(d.master, text); err != nil {
		d.t.Fatal(err)
	}
}

// reads waits until text is on the screen, and gives all that came with it.
func (d *desk) reads(text string) string {
	d.t.Helper()
	if err := d.master.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		d.t.Fatal(err)
	}
	for buf := make([]byte, 4096); !strings.Contains(d.said.String(), text); {
		n, err := d.master.Read(buf)
		if d.said.Write(buf[:n]); err != nil {
			d.t.Fatalf("%q is not in %q: %v", text, &d.said, err)
		}
	}
	defer d.said.Reset()
	return d.said.String()
}

// ends wants an exit status, and the terminal as it was before.
func (d *desk) ends(status int) {
	d.t.Helper()
	_ = d.cmd.Wait() // the status is looked at
	if got := d.cmd.ProcessState.ExitCode(); got != status {
		d.t.Errorf("exit status %d, want %d", got, status)
	}
	if now := modes(d.t, d.slave); now != d.before {
		d.t.Errorf("the terminal was left with %+v, not with %+v", now, d.before)
	}
}

func TestACommandInOurTerminalHasItsSize(t *testing.T) {
	d := sit(t, "exec", "-q", "--stream", "--tty", "--", "sh", "-c", `trap 'stty size; exit 7' WINCH; stty size; while :; do read -r line; done`)
	d.reads("30 100")
	if err := sandbox.ResizeTerminal(d.master, durward.WindowSize{Rows: 41, Cols: 121}); err != nil {
		t.Fatal(err)
	}
	d.reads("41 121")
	d.ends(7)
}

func TestKeysReachTheCommandAndNotUs(t *testing.T) {
	d := sit(t, "exec", "-q", "--stream", "--tty", "--", "sh", "-c", `trap 'echo caught; exit 5' INT; echo ready; while :; do read -r line; echo "<$line>"; done`)
	d.reads("ready")
	d.types("word\r")
	d.reads("<word>")
	d.types("\x03\r") // a shell on its way into read would see the signal only behind a line
	d.reads("caught")
	d.ends(5)
}

func TestTheTerminalIsRestoredHoweverItEnds(t *testing.T) {
	d := sit(t, "exec", "-q", "--stream", "--tty", "--", "sh", "-c", `echo ready; exec sleep 300`)
	d.reads("ready")
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.ends(143)
	sit(t, "exec", "-q", "--stream", "--tty", "--timeout", "1s", "--", "sleep", "300").ends(124)
	sit(t, "exec", "-q", "--stream", "--tty", "--", "no-such-program").ends(127)
	sit(t, "exec", "-q", "--", "true").ends(0)
}

// TestTwoInterruptsDoNotWaitForTheGrace interrupts a command that ignores it and has a
// minute to think.
func TestTwoInterruptsDoNotWaitForTheGrace(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("mode: danger-full-access\nlimits: {graceMs: 60_000, wallMs: 120_000}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--stream"}} {
		mark := filepath.Join(t.TempDir(), "begun")
		args := append(append([]string{"exec", "--policy", policy}, flags...), "--", "sh", "-c", `trap "" INT TERM; : > "$0"; sleep 300; :`, mark)
		cmd := program(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		eventually(t, "the command begins", func() bool { _, err := os.Stat(mark); return err == nil })
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		eventually(t, "durward ends", func() bool {
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
			return len(ended) > 0
		})
		<-ended
		got := cmd.ProcessState.ExitCode()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGINT {
			got = 130 // to a shell it is the same: one more interrupt came when all was done
		}
		if got != 130 || time.Since(began) > 30*time.Second {
			t.Errorf("%v: exit status %d after %s", flags, got, time.Since(began))
		}
		eventually(t, "the tree is dead", func() bool { return !running(mark) })
	}
}

// eventually asks again until done is true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// running reports whether a process has word among its arguments.
func running(word string) bool {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		if args, _ := os.ReadFile(p); bytes.Contains(args, []byte(word)) {
			return true
		}
	}
	return false
}

// TestATerminalObeysNoOutputThatWasHeld prints a title for the window; only a command that
// was given the terminal may set it.
func TestATerminalObeysNoOutputThatWasHeld(t *testing.T) {
	d := sit(t, "exec", "-q", "--", "printf", `a\tb\n\033]0;mine\007`)
	d.reads("a\tb\r\n" + `\x1b]0;mine\x07`)
	d.ends(0)
	d = sit(t, "exec", "-q", "--raw", "--", "printf", `a\033[31m\n`)
	d.reads("a" + `\x1b[31m`)
	d.ends(0)
}

// TestATerminalObeysNoStreamThatItWasNotGivenFor streams to a terminal from a command
// that does not have it: it was not asked for, or somebody else gives the input.
func TestATerminalObeysNoStreamThatItWasNotGivenFor(t *testing.T) {
	noInput := func(cmd *exec.Cmd) { cmd.Stdin = nil }
	all := func(*exec.Cmd) {}
	for _, test := range []struct {
		change func(*exec.Cmd)
		flag   string
	}{
		{all, "--stream"},
		{all, "--raw"},
		{noInput, "--stream"},
		{noInput, "--raw"}, // which is for files and pipes
		{noInput, "--tty"},
	} {
		d := sitWith(t, test.change, "exec", "-q", "--stream", test.flag+"=true", "--", "printf", `a\033]0;mine\007\nb\n`)
		if got, want := d.reads("b\r\n"), `a\x1b]0;mine\x07`+"\r\nb\r\n"; got != want {
			t.Errorf("%s: %q, want %q", test.flag, got, want)
		}
		d.ends(0)
	}
	d := sit(t, "exec", "-q", "--stream", "--tty", "--", "printf", `a\033[31m\nb\n`)
	if got, want := d.reads("b\r\n"), "a\x1b[31m\r\nb\r\n"; got != want {
		t.Errorf("the command that has the terminal: %q, want %q", got, want)
	}
	d.ends(0)
}

// TestATerminalShowsAgesAndProgress looks at the record of a call that took its time.
func TestATerminalShowsAgesAndProgress(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	sameState := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "DURWARD_STATE_DIR="+state, "TERM=xterm") }
	d := sitWith(t, sameState, "exec", "--", "sh", "-c", "sleep 2.5; echo done")
	said := d.reads("done\r\n")
	_, after, ok := strings.Cut(said, "\r\x1b[Kdurward: sh is running, 2s")
	if i := strings.LastIndex(after, "\r\x1b[K"); !ok || strings.Contains(after[i+len("\r\x1b[K"):], "running") {
		t.Errorf("the terminal got %q", said)
	}
	d.ends(0)
	d = sitWith(t, sameState, "audit", "tail")
	d.reads("s ago")
	d.ends(0)
}
