//go:build unix

package audit

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// childVariable makes the test binary a process that writes a log: what it does, the
// folder, the file.
const childVariable = "DURWARD_TEST_AUDIT_CHILD"

func runAsChild() bool {
	what, rest, ok := strings.Cut(os.Getenv(childVariable), " ")
	if !ok {
		return false
	}
	dir, file, _ := strings.Cut(rest, " ")
	if what == "full" {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{}); err != nil {
			panic(err)
		}
	}
	l, err := Open(dir, Options{File: file, MaxBytes: 100_000, Keep: -1})
	if err != nil {
		fmt.Println("refused", durward.ReasonOf(err), err)
		return true
	}
	switch what {
	case "append":
		appendForEver(l)
	case "limit":
		appendUntilFull(l)
	}
	return true
}

// appendForEver prints each id once its intent, and again once its outcome, is on record.
func appendForEver(l *Log) {
	var group sync.WaitGroup
	for w := range 16 {
		group.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, n)
				c, d := call(id)
				if l.Intent(c, d) == nil {
					fmt.Println("intent", id)
				}
				if l.Outcome(c, d, durward.Result{}, nil) == nil {
					fmt.Println("outcome", id)
				}
			}
		})
	}
	group.Wait()
}

func child(t testing.TB, what, dir, file string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+what+" "+dir+" "+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// killed runs a child, kills it once it has said many lines, and gives what it said.
func killed(t *testing.T, lines int, dir, file string) []string {
	t.Helper()
	cmd, out := child(t, "append", dir, file)
	var said []string
	for out.Scan() {
		if said = append(said, out.Text()); len(said) == lines {
			must(t, cmd.Process.Kill())
		}
	}
	cmd.Wait() //nolint:errcheck // it was killed
	if len(said) < lines {
		t.Fatalf("the child said only %q", said)
	}
	return said
}

func TestKillInTheMiddleLosesNothingAcknowledged(t *testing.T) {
	for _, own := range []bool{true, false} {
		dir := private(t)
		o := Options{MaxBytes: 100_000, Keep: -1}
		if !own {
			o.File = filepath.Join(dir, "own.jsonl")
		}
		for round := range 2 {
			said := killed(t, 200+331*round, dir, o.File)
			verified(t, dir)
			l, err := Open(dir, o)
			must(t, err)
			record(t, l, "after")
			must(t, l.Close())
			for _, c := range verified(t, dir).Chains {
				if c.InFlight != 0 || c.Torn != 0 || c.Live {
					t.Errorf("%+v", c)
				}
			}
			onRecord(t, dir, said)
		}
	}
}

// onRecord checks that all that a child was told to be written is in the log.
func onRecord(t *testing.T, dir string, said []string) {
	t.Helper()
	have := map[string]string{}
	for e, err := range Records(t.Context(), dir, Filter{}) {
		if problem := (*Problem)(nil); err != nil && !errors.As(err, &problem) {
			t.Fatal(err)
		}
		have[string(e.Phase)+" "+string(e.ReqID)] = e.Cause
	}
	for _, what := range said {
		cause, ok := have[what]
		if !ok || strings.HasPrefix(what, "outcome") && cause != "ok" {
			t.Errorf("%q was acknowledged, but the log says %q %v", what, cause, ok)
		}
		if _, ok := have["outcome "+strings.TrimPrefix(what, "intent ")]; !ok && strings.HasPrefix(what, "intent") {
			t.Errorf("%q has no outcome", what)
		}
	}
}

func TestTwoProcessesAreTwoChains(t *testing.T) {
	dir := private(t)
	var group sync.WaitGroup
	var writing atomic.Int32
	both := make(chan struct{})
	for range 2 {
		group.Go(func() {
			cmd, out := child(t, "append", dir, "")
			for n := 0; out.Scan(); n++ {
				if n == 0 && writing.Add(1) == 2 {
					close(both)
				}
				if n == 300 {
					<-both
					if err := cmd.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
			}
			cmd.Wait() //nolint:errcheck // it was killed
		})
	}
	<-both
	for range 5 {
		verified(t, dir)
	}
	group.Wait()
	s := verified(t, dir)
	if len(s.Chains) != 2 {
		t.Errorf("%+v", s.Chains)
	}
	for _, c := range s.Chains {
		pids := map[string]bool{}
		for e, err := range Records(t.Context(), dir, Filter{}) {
			if active, _ := splitName(filepath.Base(e.File)); err == nil && active == filepath.Base(c.File) && e.ReqID != "" {
				pid, _, _ := strings.Cut(string(e.ReqID), "-")
				pids[pid] = pids[pid] || e.Phase == Intent
			}
		}
		if len(pids) != 1 {
			t.Errorf("%s holds calls of processes %v", c.File, pids)
		}
	}
}

func TestAnotherProcessKeepsAConfiguredFile(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	l := opened(t, dir, Options{File: file})
	record(t, l, "1")
	before := linesOf(t, file)
	cmd, out := child(t, "append", dir, file)
	if !out.Scan() || !strings.HasPrefix(out.Text(), "refused auditUnavailable") {
		t.Errorf("the second process said %q", out.Text())
	}
	must(t, cmd.Wait())
	if after := linesOf(t, file); len(after) != len(before) {
		t.Errorf("the file went from %d to %d lines", len(before), len(after))
	}
	record(t, l, "2")
	verified(t, dir)
}

func TestAFullDiskRefusesAndTheLogStaysGood(t *testing.T) {
	for _, limit := range []int{300, 5000, 5001, 5400} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			dir := private(t)
			t.Setenv("DURWARD_TEST_LIMIT", strconv.Itoa(limit))
			cmd, out := child(t, "limit", dir, filepath.Join(dir, "own.jsonl"))
			var said []string
			for out.Scan() {
				said = append(said, out.Text())
			}
			must(t, cmd.Wait())
			var written, again int
			if len(said) != 2 {
				t.Fatalf("%q", said)
			}
			if _, err := fmt.Sscanf(strings.Join(said, " "), "full auditUnavailable unavailable %d then %d", &written, &again); err != nil {
				t.Fatalf("%q: %v", said, err)
			}
			c := verified(t, dir).Chains[0]
			if int(c.Records) != again || again != written+1 || c.Torn != 0 {
				t.Errorf("%d and %d were acknowledged: %+v", written, again, c)
			}
		})
	}
}

// appendUntilFull writes until the file may not grow any more, and once again when it may.
func appendUntilFull(l *Log) {
	limit, _ := strconv.ParseUint(os.Getenv("DURWARD_TEST_LIMIT"), 10, 64)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		panic(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		panic(err)
	}
	var err error
	written := -1
	for ; err == nil; written++ {
		err = l.Intent(call("x"))
	}
	for range 3 { // it is as full as before
		if l.Deny(call("y")) == nil {
			written++
		}
	}
	fmt.Println("full", durward.ReasonOf(err), durward.KindOf(err), written)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		panic(err)
	}
	if l.Intent(call("z")) == nil {
		written++
	}
	fmt.Println("then", written)
	if err := l.Close(); err != nil {
		panic(err)
	}
}
