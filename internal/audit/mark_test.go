package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// writeHeads puts so many ended chains, and each tenth open one, behind the others.
func writeHeads(t testing.TB, l *ledger, from, n int) {
	t.Helper()
	f, err := openFile(l.path(), os.O_CREATE)
	must(t, err)
	defer f.Close()
	for i := range n {
		h := Head{File: fmt.Sprintf("20260131T120000.000Z-%d.jsonl", from+i), Seq: 2, Hash: digestOf([]byte{byte(i)}).String(), State: StateClosed}
		if i%10 == 0 {
			h.State = StateOpen
		}
		_, err = fmt.Fprintln(f, h)
		must(t, err)
	}
}

// TestAMarkSavesReadingAndChangesNothing compares what a start finds with what a whole
// reading finds, whatever became of the mark.
func TestAMarkSavesReadingAndChangesNothing(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, l *ledger){
		"nothing":           func(*testing.T, *ledger) {},
		"no mark":           func(t *testing.T, l *ledger) { must(t, os.Remove(l.markPath())) },
		"a mark of rubbish": func(t *testing.T, l *ledger) { must(t, os.WriteFile(l.markPath(), []byte("{"), 0o600)) },
		"another heads file": func(t *testing.T, l *ledger) {
			must(t, os.Remove(l.path()))
			writeHeads(t, l, 9000, 1500)
		},
		"a shorter one": func(t *testing.T, l *ledger) { must(t, os.Truncate(l.path(), 1000)) },
		"a compact one": func(t *testing.T, l *ledger) {
			f, err := l.open()
			must(t, err)
			must(t, l.compact())
			must(t, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{dir: private(t)}
			writeHeads(t, l, 0, 2000)
			first, err := l.unfinished("", noon)
			must(t, err)
			if len(first) != 200 {
				t.Fatalf("%d chains are open", len(first))
			}
			if _, err := os.Stat(l.markPath()); err != nil {
				t.Fatal("no mark was left")
			}
			spoil(t, l)
			writeHeads(t, l, 5000, 20)
			got, err := l.unfinished("", noon)
			must(t, err)
			limit := l.limit
			must(t, ignoreMissing(os.Remove(l.markPath())))
			want, err := l.unfinished("", noon)
			must(t, err)
			if diff := cmp.Diff(want, got); diff != "" || limit != l.limit {
				t.Errorf("limit %d, want %d\n%s", limit, l.limit, diff)
			}
		})
	}
}

// TestAStartReadsOnlyWhatIsNew breaks a line that an earlier start has read: nobody
// looks at it again.
func TestAStartReadsOnlyWhatIsNew(t *testing.T) {
	l := &ledger{dir: private(t)}
	writeHeads(t, l, 0, 2000)
	before, err := l.unfinished("", noon)
	must(t, err)
	f, err := os.OpenFile(l.path(), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("x"), 0) // the first is an open chain
	must(t, err)
	must(t, f.Close())
	after, err := l.unfinished("", noon)
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// TestAnyMarkIsHarmless gives a start a mark of anything.
func TestAnyMarkIsHarmless(t *testing.T) {
	l := &ledger{dir: private(t)}
	writeHeads(t, l, 0, 30)
	rapid.Check(t, func(r *rapid.T) {
		text := fmt.Sprintf(`{"since":"2026-01-31T12:00:00Z","offset":%d,"last":%q,"ended":%d}`, rapid.Int64().Draw(r, "offset"), rapid.String().Draw(r, "last"), rapid.Int64().Draw(r, "ended"))
		must(t, os.WriteFile(filepath.Join(l.dir, markFile), []byte(text), 0o600))
		heads, err := l.unfinished("", noon)
		must(t, err)
		if len(heads) != 3 {
			r.Fatalf("%d chains are open with the mark %s", len(heads), text)
		}
	})
}

// forgedMark is a heads file with 200 open chains and a mark, made at a time, that fits
// and names none of them.
func forgedMark(t *testing.T, since time.Time) *ledger {
	t.Helper()
	l := &ledger{dir: private(t)}
	writeHeads(t, l, 0, 2000)
	_, err := l.unfinished("", since)
	must(t, err)
	text, err := os.ReadFile(l.markPath())
	must(t, err)
	var m mark
	must(t, json.Unmarshal(text, &m))
	m.Open = nil
	text, err = json.Marshal(m)
	must(t, err)
	must(t, os.WriteFile(l.markPath(), text, 0o600))
	return l
}

// TestAForgedMarkIsBelievedForADayAtMost starts again and again, with so much news that
// each start leaves a mark of its own.
func TestAForgedMarkIsBelievedForADayAtMost(t *testing.T) {
	l := forgedMark(t, noon)
	for hour := range 26 {
		heads, err := l.unfinished("", noon.Add(time.Duration(hour)*time.Hour))
		must(t, err)
		if hidden := heads["20260131T120000.000Z-0.jsonl"].Seq == 0; hidden != (hour <= 24) {
			t.Fatalf("after %d hours the chain is hidden: %v", hour, hidden)
		}
		writeHeads(t, l, 10_000*(hour+1), 1000)
	}
	l = forgedMark(t, noon.Add(time.Hour)) // of a time to come
	heads, err := l.unfinished("", noon)
	must(t, err)
	if len(heads) != 200 {
		t.Errorf("%d chains are open", len(heads))
	}
}

// TestVerifyNamesAMarkThatHidesChains looks at a good one, one that does not fit, and a
// forged one.
func TestVerifyNamesAMarkThatHidesChains(t *testing.T) {
	l := &ledger{dir: private(t)}
	writeHeads(t, l, 0, 2000)
	_, err := l.unfinished("", noon)
	must(t, err)
	writeHeads(t, l, 5000, 20)
	if bad := l.inspectMark(); bad != nil {
		t.Errorf("a good mark: %v", bad)
	}
	must(t, os.Truncate(l.path(), 1000))
	if bad := l.inspectMark(); bad != nil {
		t.Errorf("one that does not fit: %v", bad)
	}
	l = forgedMark(t, noon)
	var s Summary
	(&logs{ledger: l}).verifyFolder(&s)
	if durward.ReasonOf(s.err()) != durward.AuditBroken || !slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.File == l.markPath() }) {
		t.Errorf("a forged one: %v", s.Problems)
	}
}

// TestADeadChainBehindAForgedMarkIsClosed leaves a call in flight that a mark hides.
func TestADeadChainBehindAForgedMarkIsClosed(t *testing.T) {
	dir := private(t)
	now := &clock{at: noon}
	dead := opened(t, dir, Options{Now: now.now})
	c, d := call("1")
	must(t, dead.Intent(c, d))
	dead.die(t)
	l := &ledger{dir: dir}
	writeClosed(t, l, 1000)
	heads, err := l.unfinished("", noon)
	must(t, err)
	if len(heads) != 1 {
		t.Fatalf("%d chains are open", len(heads))
	}
	text, err := os.ReadFile(l.markPath())
	must(t, err)
	var m mark
	must(t, json.Unmarshal(text, &m))
	m.Open = nil
	text, err = json.Marshal(m)
	must(t, err)
	must(t, os.WriteFile(l.markPath(), text, 0o600))
	now.move(25 * time.Hour)
	must(t, opened(t, dir, Options{Now: now.now}).Close())
	if got := ids(t, dir, Filter{Cause: string(durward.OutcomeUnknown)}); got != "1" {
		t.Errorf("closed as unknown: %q", got)
	}
}

// writeClosed puts the heads of so many chains behind the others, which all were ended.
func writeClosed(t *testing.T, l *ledger, n int) {
	t.Helper()
	f, err := openFile(l.path(), os.O_CREATE)
	must(t, err)
	defer f.Close()
	for i := range n {
		_, err = fmt.Fprintln(f, Head{File: fmt.Sprintf("elsewhere-%d.jsonl", i), Seq: 1, Hash: digestOf(nil).String(), State: StateClosed})
		must(t, err)
	}
}
