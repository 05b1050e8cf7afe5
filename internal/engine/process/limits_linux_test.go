//go:build linux && (amd64 || arm64)

package process

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
)

// Each limit ends the command it is meant for, by its own name, and the tree is dead.
func TestLimits(t *testing.T) {
	tests := []struct {
		name   string
		script string
		limit  func(*durward.Grant)
		reason durward.Reason
		cause  durward.Cause
	}{
		{
			"processor time of one", "while :; do :; done; sleep %s",
			func(g *durward.Grant) { g.Limits.CPU = 200 * time.Millisecond }, durward.LimitCPU, durward.CauseLimitCPU,
		},
		{
			"processor time of many", "for i in 1 2 3 4; do (while :; do :; done) & done; wait; sleep %s",
			func(g *durward.Grant) { g.Limits.CPU = 400 * time.Millisecond }, durward.LimitCPU, durward.CauseLimitCPU,
		},
		{
			"memory of one", "head -c 300000000 /dev/zero | tail; sleep %s",
			func(g *durward.Grant) { g.Limits.Memory = 64 << 20 }, durward.LimitMemory, durward.CauseLimitMemory,
		},
		{
			"memory of many", "for i in 1 2 3 4; do (head -c 40000000 /dev/zero; sleep 5) | tail & done; wait; sleep %s",
			func(g *durward.Grant) { g.Limits.Memory = 64 << 20 }, durward.LimitMemory, durward.CauseLimitMemory,
		},
		{
			"output produced", "yes; sleep %s",
			func(g *durward.Grant) { g.Limits.OutputHard = 1 << 20 }, durward.LimitOutput, durward.CauseLimitOutput,
		},
		{
			"output refused", "yes; sleep %s",
			func(g *durward.Grant) { g.Keep, g.Limits.Output = durward.KeepRefuse, 1000 }, durward.OutputTooLarge, durward.CauseLimitOutput,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, m, g := newEngine(t, Options{}), newMarker(t, 0), confined()
			test.limit(&g)
			r, err := e.run(t.Context(), shell(test.script, m), g)
			if durward.ReasonOf(err) != test.reason {
				t.Fatalf("error %v, want reason %s", err, test.reason)
			}
			if r.Report == nil || r.Report.End.Cause != test.cause || r.Report.End.KilledBy == nil {
				t.Fatalf("report %+v, want cause %s", r.Report, test.cause)
			}
			if left := m.alive(t); left != 0 {
				t.Fatalf("%d processes live", left)
			}
		})
	}
}

// Who watches a call hears of all it printed, kept or not, before it has ended.
func TestWhatIsPrintedIsTold(t *testing.T) {
	e, g := newEngine(t, Options{}), confined()
	g.Limits.Output = 100
	c := shell("head -c 600 /dev/zero; head -c 400 /dev/zero >&2")
	var mu sync.Mutex
	var told int64 // guarded by mu
	c.Captured = func(bytes int64) {
		mu.Lock()
		defer mu.Unlock()
		told = max(told, bytes)
	}
	if _, err := e.run(t.Context(), c, g); err != nil || told != 1000 {
		t.Fatalf("%d bytes are told, %v", told, err)
	}
}

// Exactly the limit is no breach; one byte more is.
func TestOutputAtTheLimitIsNotRefused(t *testing.T) {
	e, g := newEngine(t, Options{}), confined()
	g.Keep, g.Limits.Output = durward.KeepRefuse, 1000
	r, err := e.run(t.Context(), shell("head -c 600 /dev/zero; head -c 400 /dev/zero >&2"), g)
	if err != nil || len(r.Stdout.Bytes()) != 600 || len(r.Stderr.Bytes()) != 400 {
		t.Fatalf("%d + %d bytes, %v", len(r.Stdout.Bytes()), len(r.Stderr.Bytes()), err)
	}
	if _, err = e.run(t.Context(), shell("head -c 600 /dev/zero; head -c 401 /dev/zero >&2"), g); durward.KindOf(err) != durward.TooLarge {
		t.Fatalf("one byte over the limit: %v", err)
	}
}

// sequence is what seq prints.
func sequence(n int) []byte {
	all := &bytes.Buffer{}
	for i := range n {
		fmt.Fprintf(all, "%d\n", i+1)
	}
	return all.Bytes()
}

// Streams that share a cap keep what came first of the two, up to the cap to the byte, also
// where both come at once.
func TestFirstBytesOfBothStreams(t *testing.T) {
	e := newEngine(t, Options{})
	g := confined()
	g.Keep = durward.KeepFirst
	all := sequence(20000)
	for _, limit := range []int64{1, 4095, 100_000} {
		g.Limits.Output = limit
		r, err := e.run(t.Context(), shell("seq 20000 & seq 20000 >&2; wait"), g)
		must(t, err)
		if kept := int64(len(r.Stdout.Head) + len(r.Stderr.Head)); kept != limit || r.Stdout.Total+r.Stderr.Total-r.Stdout.Dropped()-r.Stderr.Dropped() != limit {
			t.Errorf("%d bytes of both are kept; the limit is %d", kept, limit)
		}
		if !bytes.HasPrefix(all, r.Stdout.Head) || !bytes.HasPrefix(all, r.Stderr.Head) {
			t.Errorf("%d: what is kept is not what came first", limit)
		}
	}
}

// Streams that share a cap keep what came last of each, half and half, and all of the cap
// where one of them has less.
func TestLastBytesOfBothStreams(t *testing.T) {
	e := newEngine(t, Options{})
	g := confined()
	g.Keep = durward.KeepLast
	all := sequence(20000)
	for _, tt := range []struct {
		limit          int64
		script         string
		stdout, stderr int
	}{
		{4096, "seq 20000 & seq 20000 >&2; wait", 2048, 2048},
		{4096, "seq 20000", 4096, 0},
		{4096, "seq 20000; seq 19999 20000 >&2", 4084, 12},
		{4096, "seq 19999 20000; seq 20000 >&2", 12, 4084},
		{300_000, "seq 20000; seq 20000 >&2", len(all), len(all)},
		{1, "seq 20000; seq 20000 >&2", 0, 0},
	} {
		g.Limits.Output = tt.limit
		r, err := e.run(t.Context(), shell("%s", tt.script), g)
		must(t, err)
		if len(r.Stdout.Tail) != tt.stdout || len(r.Stderr.Tail) != tt.stderr {
			t.Errorf("%s, %d: %d and %d bytes are kept, want %d and %d", tt.script, tt.limit, len(r.Stdout.Tail), len(r.Stderr.Tail), tt.stdout, tt.stderr)
		}
		if !bytes.HasSuffix(all, r.Stdout.Tail) || !bytes.HasSuffix(all, r.Stderr.Tail) {
			t.Errorf("%s, %d: what is kept is not what came last", tt.script, tt.limit)
		}
	}
}

// What is kept is exact, and what is dropped is counted exactly.
func TestKeptOutputIsExact(t *testing.T) {
	e := newEngine(t, Options{})
	all := sequence(20000)
	for _, keep := range []durward.Keep{durward.KeepHead, durward.KeepFirst, durward.KeepLast, durward.KeepHeadTail} {
		for _, limit := range []int64{1, 2, 999, 1000, int64(len(all)) - 1, int64(len(all)), 1 << 20} {
			g := confined()
			g.Keep, g.Limits.Output = keep, limit
			r, err := e.run(t.Context(), shell("seq 20000"), g)
			if err != nil {
				t.Fatal(err)
			}
			got := r.Stdout
			if got.Total != int64(len(all)) || got.Dropped() != max(0, got.Total-limit) {
				t.Fatalf("%s %d: total %d, dropped %d", keep, limit, got.Total, got.Dropped())
			}
			if !bytes.HasPrefix(all, got.Head) || !bytes.HasSuffix(all, got.Tail) {
				t.Fatalf("%s %d: head or tail is not the stream's", keep, limit)
			}
			if keep != durward.KeepLast && keep != durward.KeepHeadTail && len(got.Tail) != 0 {
				t.Fatalf("head keeps a tail of %d", len(got.Tail))
			}
		}
	}
}

// More processes than allowed cannot be made; the command goes on.
func TestProcessLimit(t *testing.T) {
	e, g := newEngine(t, Options{}), confined()
	g.Limits.Pids = 12
	r, err := e.run(t.Context(), shell("for i in $(seq 40); do sleep 5 2>/dev/null & done 2>/dev/null; echo went on; jobs | wc -l"), g)
	if err != nil {
		t.Fatal(err)
	}
	if held := r.Report.Guarantees[durward.Pids]; held.Held != durward.HeldKernel {
		t.Fatalf("pids is held by %s here", held.Held)
	}
	if out := string(r.Stdout.Bytes()); strings.Contains(out, "40") {
		t.Fatalf("40 processes were made: %q", out)
	}
}

// A fork bomb is ended by the clock like anything else.
func TestForkBomb(t *testing.T) {
	e, g, m := newEngine(t, Options{}), confined(), newMarker(t, 0)
	g.Limits.Pids = 64
	began := time.Now()
	ctx, cancel := contextFor(t, 300*time.Millisecond)
	defer cancel()
	g.Limits.Grace = 50 * time.Millisecond
	_, err := e.run(ctx, shell(": %s; b() { b | b & }; b; sleep 60", m), g)
	if durward.KindOf(err) != durward.Timeout || m.alive(t) != 0 {
		t.Fatalf("%v after %s with %d left", err, time.Since(began), m.alive(t))
	}
}

// The resource limits of the grant are those the command sees.
func TestResourceLimits(t *testing.T) {
	e, g := newEngine(t, Options{}), confined()
	g.Limits.OpenFiles, g.Limits.FileSize, g.Limits.AddressSpace = 77, 4096, 512<<20
	r, err := e.run(t.Context(), shell("ulimit -n; ulimit -f; ulimit -v; ulimit -c; head -c 5000 /dev/zero > $HOME/f; wc -c < $HOME/f"), g)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(r.Stdout.Bytes())); strings.Join(got, " ") != "77 8 524288 0 4096" {
		t.Fatalf("open files, blocks, kilobytes, core, bytes written: %v", got)
	}
}
