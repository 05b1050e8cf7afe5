package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A stream whose output nobody takes still ends when its time is up.
func TestAStreamThatNobodyReadsEndsInTime(t *testing.T) {
	cmd := program(t, "exec", "--stream", "--timeout", "300ms", "--", "yes")
	unread, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = cmd.Process.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatal("it waits for a reader")
	}
}

// TestTheSecondSignalEndsWhatNobodyReads stops reading in the middle of a result.
func TestTheSecondSignalEndsWhatNobodyReads(t *testing.T) {
	state := "DURWARD_STATE_DIR=" + t.TempDir() + "/state"
	for range 25 { // so many logs, and more than a page of records
		cmd := program(t, "exec", "-q", "--", "true")
		cmd.Env = append(cmd.Env, state)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, test := range []struct {
		number syscall.Signal
		args   []string
	}{
		{syscall.SIGINT, []string{"audit", "export"}},
		{syscall.SIGTERM, []string{"audit", "verify"}},
		{syscall.SIGINT, []string{"audit", "tail", "-n", "100"}},
		{syscall.SIGINT, []string{"audit", "search", "--json"}},
		{syscall.SIGTERM, []string{"exec", "-q", "--", "head", "-c", "100000", "/dev/zero"}},
		{syscall.SIGINT, []string{"exec", "-q", "--json", "--", "head", "-c", "100000", "/dev/zero"}},
	} {
		cmd := program(t, test.args...)
		cmd.Env = append(cmd.Env, state)
		unread, out := smallPipe(t)
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Close()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		eventually(t, "the pipe has no room for a line", func() bool {
			n, err := unix.IoctlGetInt(int(unread.Fd()), unix.TIOCINQ)
			return err == nil && n >= 3500 || len(ended) > 0
		})
		began := time.Now()
		for range 2 {
			_ = cmd.Process.Signal(test.number) // the status tells
			time.Sleep(10 * time.Millisecond)   // two that come at once are one
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if got, want := cmd.ProcessState.ExitCode(), 128+int(test.number); got != want || time.Since(began) > 15*time.Second {
			t.Errorf("%v: exit status %d after %s, want %d", test.args, got, time.Since(began), want)
		}
	}
}

// smallPipe is a pipe with room for a page.
func smallPipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	if _, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	return read, write
}
