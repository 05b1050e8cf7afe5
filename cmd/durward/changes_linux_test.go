//go:build amd64 || arm64

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A workspace is a directory with one file, that commands may write.
type workspace struct {
	t          *testing.T
	dir, state string
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	w := workspace{t, t.TempDir(), filepath.Join(t.TempDir(), "state")}
	w.write("file", "before\n")
	for _, d := range []string{w.dir, filepath.Dir(w.dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{w.dir, filepath.Join(w.dir, "file")} {
		if err := os.Chown(path, max(os.Getuid(), 1), max(os.Getgid(), 1)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w workspace) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// holds wants the workspace to hold the one file, and that to be text.
func (w workspace) holds(text string) {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(w.dir, "file"))
	if err != nil || string(got) != text || len(entries) != 1 {
		w.t.Errorf("the workspace holds %v, the file %q, want %q: %v", entries, got, text, err)
	}
}

// settles wants the newest record to say what became of the changes, and the log to prove
// itself.
func (w workspace) settles(what string) {
	w.t.Helper()
	for _, test := range []struct {
		args []string
		want string
	}{{[]string{"audit", "tail", "-n", "1"}, what}, {[]string{"audit", "verify"}, "ended"}} {
		cmd := program(w.t, test.args...)
		w.in(cmd)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), test.want) {
			w.t.Errorf("%v: %v, and %q is not in:\n%s", test.args, err, test.want, out)
		}
	}
}

func (w workspace) in(c *exec.Cmd) {
	c.Dir, c.Env = w.dir, append(c.Env, "DURWARD_STATE_DIR="+w.state, "CI=", "DURWARD_NO_INPUT=")
}

// sit has somebody at a terminal start a command that writes to a copy.
func (w workspace) sit(args ...string) *desk {
	w.t.Helper()
	return sitWith(w.t, w.in, append([]string{"exec", "--cow"}, args...)...)
}

const (
	rewrite  = "echo after > file; echo done"
	question = "apply? [y/N] "
)

// TestChangesAreAppliedWhenAPersonAgrees answers the question in all ways that there are.
func TestChangesAreAppliedWhenAPersonAgrees(t *testing.T) {
	for _, test := range []struct {
		answer, file, told, record string
		status                     int
	}{
		{"y\n", "after\n", "1 change was applied\r\n", "changes.applied", 0},
		{" YES \n", "after\n", "1 change was applied\r\n", "changes.applied", 0},
		{"n\n", "before\n", "1 change was dropped\r\n", "changes.dropped", 0},
		{"\n", "before\n", "1 change was dropped\r\n", "changes.dropped", 0},
		{"yesterday\n", "before\n", "1 change was dropped\r\n", "changes.dropped", 0},
		{"\x04", "before\n", "[y/N] \r\ndurward: 1 change was dropped\r\n", "changes.dropped", 0},
		{"y\x04\x04", "before\n", "1 change was dropped\r\n", "changes.dropped", 0},
		{"\x03", "before\n", "1 change was dropped\r\n", "changes.dropped", 130},
		{"y\x03", "before\n", "1 change was dropped\r\n", "changes.dropped", 130},
	} {
		w := newWorkspace(t)
		d := w.sit("--", "sh", "-c", rewrite)
		said := d.reads(question)
		if !strings.Contains(said, "done\r\nM  file (6 B)\r\n") || !strings.Contains(said, "\r\n-before\r\n+after\r\n") {
			t.Errorf("the terminal got %q", said)
		}
		w.holds("before\n")
		d.said.WriteString(question)
		d.types(test.answer)
		d.reads(test.told)
		d.ends(test.status)
		w.holds(test.file)
		w.settles(test.record)
	}
}

// TestTheQuestionTellsOfAFailure has the command end with a status of its own.
func TestTheQuestionTellsOfAFailure(t *testing.T) {
	w := newWorkspace(t)
	d := w.sit("-q", "--", "sh", "-c", rewrite+"; exit 3")
	d.reads("the command ended with status 3; " + question)
	d.types("y\n")
	d.ends(3)
	w.holds("after\n")
}

// TestNobodyIsAskedWhoMayNotBe leaves out one thing after the other that a question takes.
func TestNobodyIsAskedWhoMayNotBe(t *testing.T) {
	w := newWorkspace(t)
	for _, change := range []func(*exec.Cmd){
		func(c *exec.Cmd) { c.Env = append(c.Env, "CI=true") },
		func(c *exec.Cmd) { c.Env = append(c.Env, "DURWARD_NO_INPUT=1") },
		func(c *exec.Cmd) { c.Args = append([]string{"durward", "--no-input"}, c.Args[1:]...) },
		func(c *exec.Cmd) { c.Stdin = nil },
		func(c *exec.Cmd) { c.Stderr = nil },
	} {
		d := sitWith(t, func(c *exec.Cmd) { w.in(c); change(c) }, "exec", "--cow", "--", "sh", "-c", rewrite)
		if said := d.reads("done\r\n"); strings.Contains(said, question) {
			t.Errorf("it asks: %q", said)
		}
		d.ends(0)
		w.holds("before\n")
		w.settles("changes.dropped")
	}
	d := w.sit("--yes", "--", "sh", "-c", rewrite)
	if said := d.reads("1 change was applied"); strings.Contains(said, question) {
		t.Errorf("it asks: %q", said)
	}
	d.ends(0)
	w.holds("after\n")
}

// TestWhatWasTypedBeforeTheQuestionIsNoAnswer types ahead while the command runs.
func TestWhatWasTypedBeforeTheQuestionIsNoAnswer(t *testing.T) {
	w, other := newWorkspace(t), newWorkspace(t)
	typed := filepath.Join(other.dir, "typed")
	d := w.sit("--read", other.dir, "--", "sh", "-c", `until [ -e "$0" ]; do sleep 0.01; done; `+rewrite, typed)
	d.types("y\n")
	other.write("typed", "")
	d.reads(question)
	d.types("n\n")
	d.reads("1 change was dropped")
	d.ends(0)
	w.holds("before\n")
}

// TestWhatOthersWroteMeanwhileIsKept changes the file while the question stands.
func TestWhatOthersWroteMeanwhileIsKept(t *testing.T) {
	w := newWorkspace(t)
	d := w.sit("--", "sh", "-c", rewrite)
	d.reads(question)
	w.write("file", "theirs\n")
	d.types("y\n")
	d.reads("durward: no change was applied\r\nerror: sh: the file is not what it was when the changes were read (DWD-FS-021)\r\n")
	d.ends(125)
	w.holds("theirs\n")
	w.settles("changes.failed")
}

// TestAnInterruptLeavesNothingHalfApplied interrupts once and twice, wherever the apply of
// many changes is.
func TestAnInterruptLeavesNothingHalfApplied(t *testing.T) {
	const files = 300
	for _, times := range []int{1, 2} {
		w := newWorkspace(t)
		d := w.sit("--", "sh", "-c", `for i in $(seq `+strconv.Itoa(files)+`); do echo $i > new$i; done`)
		d.reads(question)
		d.types("y\n")
		eventually(t, "it has begun", func() bool {
			entries, err := os.ReadDir(w.dir)
			return err == nil && len(entries) > 1
		})
		for range times {
			_ = d.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		}
		_ = d.cmd.Wait() // what it left tells
		if err := os.Remove(filepath.Join(w.dir, "file")); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(w.dir)
		if err != nil || len(entries) != 0 && len(entries) != files {
			t.Errorf("after %d interrupts %d of %d files are there: %v", times, len(entries), files, err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "new") {
				t.Errorf("%s was left", e.Name())
			}
		}
		w.settles(map[bool]string{true: "changes.applied", false: "changes.failed"}[len(entries) > 0])
	}
}
