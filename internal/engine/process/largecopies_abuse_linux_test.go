//go:build linux && (amd64 || arm64) && abuse

package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// largeBytes and largeFiles are what a command writes to its copy here: more takes the kernel
// a moment to give up.
const (
	largeBytes = 192 << 20
	largeFiles = 4000
)

// R13: a call whose time is up is answered when its tree is dead, however much it has written
// to a copy, and with what it printed. Other calls are served meanwhile, and what was written
// goes.
func TestALargeCopyHoldsUpNoAnswer(t *testing.T) {
	dir, g := copying(t)
	g.Limits.Grace, g.Keep = 100*time.Millisecond, durward.KeepStream
	e := newEngine(t, Options{})
	fill := func(why error, want durward.Reason, cause durward.Cause) {
		t.Helper()
		m := newMarker(t, 0)
		c := shell(`trap '' TERM; head -c %d /dev/zero > large; mkdir many && cd many && seq %d | xargs touch; echo new > ../old
			%s echo full; wait; wait; sleep %s`, largeBytes, largeFiles, escapees(m), m)
		c.Dir = dir
		s, stop := opened(t, e, c, g)
		heard(t, s, "full\n")
		stopped := time.Now()
		stop(why)
		r, err := s.Wait(t.Context())
		took := time.Since(stopped)
		if left := m.alive(t); left > 0 {
			t.Errorf("it was answered and %d of its processes live", left)
		}
		if durward.ReasonOf(err) != want || r.Changes != nil || r.Report.End.Cause != cause || r.Stdout.Total != int64(len("full\n")) {
			t.Errorf("%v, %+v", err, r)
		}
		small := shell("ls; cat old")
		small.Dir = dir
		other := g
		other.Keep = durward.KeepHeadTail
		if r, err := e.run(t.Context(), small, other); err != nil || string(r.Stdout.Bytes()) != "old\nold\n" || r.Discard() != nil {
			t.Errorf("the next call: %v, %q", err, r.Stdout.Bytes())
		}
		began := time.Now()
		settle(e)
		untouched(t, dir)
		t.Logf("%s: answered after %s, given up after %s more", want, took, time.Since(began))
		if took > g.Limits.Grace+250*time.Millisecond+3*time.Second { // R13, on a machine with much to do
			t.Errorf("%s: answered after %s", want, took)
		}
	}
	each := func() {
		t.Helper()
		fill(context.DeadlineExceeded, durward.DeadlineExceeded, durward.CauseTimeout)
		fill(context.Canceled, durward.CallCancelled, durward.CauseCancelled)
	}
	each()
	each() // its room is kept now
	before, pipes, mounts := plainHoldings(t, e)
	each()
	if after, more, now := plainHoldings(t, e); after != before || more != pipes || now != mounts {
		t.Errorf("before: %s, %d pipes, %d mounts; after: %s, %d pipes, %d mounts", before, pipes, mounts, after, more, now)
	}
}

// The time of a call is also that for reading what it changed: to read a file like this one,
// which takes no space, takes hours. What was not read to its end is no list of changes.
func TestALargeCopyIsReadInTheTimeOfTheCall(t *testing.T) {
	dir, g := copying(t)
	g.Limits.Tmp, g.Limits.FileSize, g.Keep = durward.Unlimited, durward.Unlimited, durward.KeepStream
	e := newEngine(t, Options{})
	read := func(why error, want durward.Reason) {
		t.Helper()
		m := newMarker(t, 0)
		c := shell("echo new > old; truncate -s 16T sparse-%s; echo made", m)
		c.Dir = dir
		s, stop := opened(t, e, c, g)
		heard(t, s, "made\n")
		waitFor(t, "what it changed is read", 20*time.Second, func() bool { return m.open(t) })
		stop(why)
		r, err := s.Wait(t.Context())
		if durward.ReasonOf(err) != want || r.Changes != nil || r.Report.End.Cause != durward.CauseExit || r.Exit == nil || *r.Exit != 0 {
			t.Errorf("%v, %+v", err, r)
		}
		settle(e)
		if m.open(t) {
			t.Error("it is still open")
		}
		untouched(t, dir)
	}
	for range 2 {
		read(context.DeadlineExceeded, durward.DeadlineExceeded)
	}
	before, pipes, mounts := plainHoldings(t, e)
	read(context.DeadlineExceeded, durward.DeadlineExceeded)
	read(context.Canceled, durward.CallCancelled)
	if after, more, now := plainHoldings(t, e); after != before || more != pipes || now != mounts {
		t.Errorf("before: %s, %d pipes, %d mounts; after: %s, %d pipes, %d mounts", before, pipes, mounts, after, more, now)
	}
}

// open reports whether this process has a file open whose name carries the marker.
func (m marker) open(t *testing.T) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, l := range links {
		if to, _ := os.Readlink(l); strings.Contains(to, string(m)) { // empty where it was closed meanwhile
			return true
		}
	}
	return false
}

// opened starts a session, that is stopped for a reason and closed.
func opened(t *testing.T, e *Engine, c durward.Call, g durward.Grant) (s durward.Session, stop func(why error)) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	p, err := e.Prepare(ctx, durward.Tool{}, c, g)
	must(t, err)
	s, err = p.(core.Opener).Open(ctx, nil)
	if err != nil {
		t.Fatal(err, p.Close())
	}
	return s, func(why error) {
		cancel(why)
		must(t, s.Close())
		must(t, p.Close())
	}
}

// heard waits until a session has said something.
func heard(t *testing.T, s durward.Session, want string) {
	t.Helper()
	said := ""
	for after := uint64(0); !strings.Contains(said, want); {
		page, err := s.Read(t.Context(), after, 1<<10, 30*time.Second)
		if err != nil || page.Ended || len(page.Chunks) == 0 {
			t.Fatalf("it says %q and no more: %v, %+v", said, err, page)
		}
		for _, chunk := range page.Chunks {
			said += string(chunk.Data)
		}
		after = page.Next
	}
}
