package audit

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
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
			l := logs[rapid.IntRange(0, len(logs)-1).Draw(r, "log")]
			must(t, l.Deny(denial(fmt.Sprint(n), "d", "t")))
			touchedAt(t, l, now.at)
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

// touchedAt gives the file of a log the time that the log's clock shows.
func touchedAt(t testing.TB, l *Log, at time.Time) {
	t.Helper()
	must(t, os.Chtimes(l.File(), at, at))
}

// backwards is a folder with two logs. The clock of one was set back by an hour between
// its records early and late, the other one made its record between them.
func backwards(t *testing.T) string {
	dir := private(t)
	now := &clock{at: noon.Truncate(time.Second)}
	l := opened(t, dir, Options{Now: now.now, File: filepath.Join(dir, "back.jsonl")})
	must(t, l.Deny(denial("late", "d", "t")))
	now.move(-time.Hour)
	must(t, l.Deny(denial("early", "d", "t")))
	must(t, l.Close())
	now.move(10 * time.Minute)
	other := opened(t, dir, Options{Now: now.now, File: filepath.Join(dir, "other.jsonl")})
	must(t, other.Deny(denial("other", "d", "t")))
	must(t, other.Close())
	return dir
}

// idsOf gives the calls of a sequence, and the problems in it as "!".
func idsOf(t *testing.T, records iter.Seq2[Entry, error]) string {
	t.Helper()
	var all []string
	for e, err := range records {
		if problem := (*Problem)(nil); errors.As(err, &problem) {
			all = append(all, "!")
			continue
		}
		must(t, err)
		all = append(all, string(e.ReqID))
	}
	return strings.Join(all, " ")
}

// TestAClockThatWasSetBackHidesNoRecord asks for a time that only the first record of a
// log belongs to.
func TestAClockThatWasSetBackHidesNoRecord(t *testing.T) {
	dir := backwards(t)
	since := Filter{Since: noon.Add(-time.Minute)}
	if got := idsOf(t, Newest(t.Context(), dir, since, 10)); got != "late" {
		t.Errorf("newest: %q", got)
	}
	if got := idsOf(t, Tail(t.Context(), dir, TailOptions{Filter: since})); got != "late" {
		t.Errorf("tail: %q", got)
	}
	if got := ids(t, dir, since); got != "late" {
		t.Errorf("records: %q", got)
	}
	var out strings.Builder
	must(t, Export(t.Context(), &out, dir, JSONL, since, func(p *Problem) { t.Error(p) }))
	if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), `"late"`) {
		t.Errorf("export: %s", &out)
	}
	// In one log the order is that of the log: the record behind a later one is the last.
	if got := idsOf(t, Tail(t.Context(), dir, TailOptions{Last: 2})); got != "late early" {
		t.Errorf("tail of two: %q", got)
	}
}

// TestOldDamageIsSeenByWhoeverDoesNotJustWantTheEnd breaks a line of a log that nobody
// has touched for a day, among others that are newer.
func TestOldDamageIsSeenByWhoeverDoesNotJustWantTheEnd(t *testing.T) {
	dir := backwards(t)
	path := filepath.Join(dir, "back.jsonl")
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append([]byte("rubbish\n"), text...), 0o600))
	old := noon.Add(-24 * time.Hour)
	must(t, os.Chtimes(path, old, old))
	if got := idsOf(t, Newest(t.Context(), dir, Filter{}, 1)); got != "! early" {
		t.Errorf("newest: %q", got)
	}
	if got := idsOf(t, Tail(t.Context(), dir, TailOptions{Filter: Filter{Since: noon.Add(-time.Minute)}, Last: 1})); got != "! late" {
		t.Errorf("tail from a time on: %q", got)
	}
	if got := idsOf(t, Tail(t.Context(), dir, TailOptions{Last: 1})); got != "other" {
		t.Errorf("tail: %q", got) // as it promises
	}
	must(t, os.Chtimes(path, noon, noon))
	if got := idsOf(t, Tail(t.Context(), dir, TailOptions{Last: 1})); got != "! early" {
		t.Errorf("tail of a file that was touched since: %q", got)
	}
}

// TestALogThatWasSkippedGoesOn writes to an old log after the tail has begun.
func TestALogThatWasSkippedGoesOn(t *testing.T) {
	dir := private(t)
	now := &clock{at: noon.Truncate(time.Second)}
	old := opened(t, dir, Options{Now: now.now})
	record(t, old, "old")
	touchedAt(t, old, now.at)
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
	must(t, f.look())
	f.skipOld(TailOptions{Last: 1, Follow: true})
	f.last(t.Context(), Filter{}, 1, note)
	now.move(time.Minute)
	record(t, old, "new")
	f.drain(t.Context(), Filter{}, note)
	must(t, recent.Close())
	must(t, old.Close())
	if want := "recent:2 new:3 new:4 "; seen != want {
		t.Errorf("%q, want %q", seen, want)
	}
}
