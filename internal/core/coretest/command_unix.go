//go:build unix

package coretest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// endless begins and then goes on, with a child and a grandchild. Whichever is left
// holds the FIFO open.
const endless = `exec 3>"$0"; echo begun >&3; (sleep 300 & sleep 300) & exec sleep 300`

// Commands gives calls for an engine that runs commands.
func Commands(t testing.TB, tool durward.ToolID) Calls {
	t.Helper()
	dir := openFolder(t)
	call := func(argv ...string) durward.Call { return durward.Call{Tool: tool, Argv: argv, Dir: dir} }
	shell := func(script string, args ...string) durward.Call {
		return call(append([]string{"/bin/sh", "-c", script}, args...)...)
	}
	sizes := shell(`while read -r line; do stty size; done`)
	sizes.Terminal = &durward.WindowSize{Rows: 24, Cols: 80}
	return Calls{
		Dir:      dir,
		Succeeds: shell(`echo hello`),
		Fails:    shell(`exit 3`),
		Noisy:    shell(`head -c 2097152 /dev/zero | tr '\000' 'x' | tee /dev/stderr`),
		Refused:  call(filepath.Join(dir, "no such program")),
		Marks:    func(path string) durward.Call { return shell(`: >"$0"`, path) },
		Endless: func(t testing.TB) Work {
			path := newFIFO(t, dir)
			return Work{Call: shell(endless, path), Watch: watchFIFO(t, path)}
		},
		Echo:  call("/bin/cat"),
		Sizes: sizes,
	}
}

// StandardCases are the five calls that every door takes: one allowed, one denied, one
// timed out, one cancelled, one crashed. They run commands of the tool. The policy must
// permit them, but for the one that denied is made from.
func StandardCases(t testing.TB, tool durward.ToolID, denied func(c durward.Call) durward.Call) []Case {
	t.Helper()
	calls := Commands(t, tool)
	path := newFIFO(t, calls.Dir)
	watch := func(t testing.TB) Watch { return watchFIFO(t, path) }
	crash, work := calls.Succeeds, calls.Succeeds
	crash.Argv = []string{"/bin/sh", "-c", `kill -SEGV $$`}
	work.Argv = []string{"/bin/sh", "-c", endless, path}
	ran := []string{PhaseIntent, PhaseOutcome}
	return []Case{
		{Name: "an allowed call", Call: calls.Succeeds, Leaves: ran, Ends: Record{"cause": durward.OutcomeOK, "exitCode": 0, "bytes": 6}},
		{Name: "a denied call", Call: denied(calls.Succeeds), Leaves: []string{PhaseDeny}, Ends: Record{"decision": "deny"}},
		{
			Name: "a timed-out call", Call: work, Within: time.Second, Watch: watch, Leaves: ran,
			Ends: Record{"cause": durward.OutcomeTimeout, "code": durward.DeadlineExceeded, "timedOut": true},
		},
		{
			Name: "a cancelled call", Call: work, GoesAway: true, Watch: watch, Leaves: ran,
			Ends: Record{"cause": durward.OutcomeCancelled, "code": durward.CallCancelled},
		},
		{Name: "a crashed call", Call: crash, Leaves: ran, Ends: Record{"cause": durward.OutcomeToolError, "signal": int(unix.SIGSEGV)}},
	}
}

// openFolder makes a folder that commands can use whoever they run as.
func openFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "coretest")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err := errors.Join(err, os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newFIFO(t testing.TB, dir string) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "fifo")
	if err != nil {
		t.Fatal(err)
	}
	path := f.Name()
	if err := errors.Join(f.Close(), os.Remove(path), unix.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// watchFIFO observes a command that opens a FIFO, writes to it and keeps it open: the
// FIFO is at its end exactly when every process that had it is gone.
func watchFIFO(t testing.TB, path string) Watch {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return Watch{
		Started: func(ctx context.Context) error { return readable(ctx, fd) },
		Gone:    func() bool { return atEnd(fd) },
	}
}

// readable waits until there is something to read.
func readable(ctx context.Context, fd int) error {
	for ctx.Err() == nil {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, 10); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if poll[0].Revents&unix.POLLIN != 0 {
			return nil
		}
	}
	return ctx.Err()
}

// atEnd reads what there is and reports whether nobody can write any more.
func atEnd(fd int) bool {
	for buffer := make([]byte, 512); ; {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EINTR) || n > 0 {
			continue
		}
		return n == 0 && err == nil
	}
}
