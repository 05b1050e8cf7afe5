package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTailOfManyLogsIsTheEndOfAll compares what is given with the end of everything,
// whatever the logs and however they are interleaved.
func TestTailOfManyLogsIsTheEndOfAll(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		now := &clock{at: noon.Truncate(time.Second)}
		var logs []*Log
		for i := range rapid.IntRange(1, 6).Draw(r, "logs") {
			logs = append(logs, opened(t, dir, Options{Now: now.now, MaxBytes: 1500, Keep: -1, File: filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))}))
		}
		for n := range rapid.IntRange(0, 25).Draw(r, "records") {
			must(t, logs[rapid.IntRange(0, len(logs)-1).Draw(r, "log")].Deny(denial(fmt.Sprint(n), "d", "t")))
			now.move(time.Duration(rapid.IntRange(0, 2).Draw(r, "pause")) * time.Second)
		}
		for _, l := range logs {
			must(t, l.Close())
		}
		filter := Filter{}
		if rapid.Bool().Draw(r, "since") {
			filter.Since = noon.Add(time.Duration(rapid.IntRange(0, 30).Draw(r, "from")) * time.Second)
		}
		var all []Entry
		for e, err := range Records(t.Context(), dir, filter) {
			must(t, err)
			all = append(all, e.keep())
		}
		last := rapid.IntRange(1, 12).Draw(r, "last")
		want := all[max(0, len(all)-last):]
		var got []Entry
		for e, err := range Tail(t.Context(), dir, TailOptions{Filter: filter, Last: last}) {
			must(t, err)
			got = append(got, e.keep())
		}
		if len(got) != len(want) {
			r.Fatalf("%d records, want %d", len(got), len(want))
		}
		for i := range want {
			if string(got[i].Raw) != string(want[i].Raw) {
				r.Fatalf("record %d is %s, want %s", i, got[i].Raw, want[i].Raw)
			}
		}
	})
}

// TestALogThatWasSkippedGoesOn writes to an old log after the tail has begun.
func TestALogThatWasSkippedGoesOn(t *testing.T) {
	dir := private(t)
	now := &clock{at: noon.Truncate(time.Second)}
	old := opened(t, dir, Options{Now: now.now})
	record(t, old, "old")
	now.move(time.Minute)
	recent := opened(t, dir, Options{Now: now.now})
	record(t, recent, "recent")
	f := follower{dir: dir}
	defer f.close()
	seen := ""
	note := func(e Entry, err error) bool {
		must(t, err)
		seen += fmt.Sprintf("%s:%d ", e.ReqID, e.Line)
		return true
	}
	f.last(t.Context(), TailOptions{Last: 1, Follow: true}, note)
	now.move(time.Minute)
	record(t, old, "new")
	f.drain(t.Context(), Filter{}, note)
	must(t, recent.Close())
	must(t, old.Close())
	if want := "recent:2 new:3 new:4 "; seen != want {
		t.Errorf("%q, want %q", seen, want)
	}
}
