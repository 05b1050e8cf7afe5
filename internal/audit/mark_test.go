package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
			first, err := l.unfinished("")
			must(t, err)
			if len(first) != 200 {
				t.Fatalf("%d chains are open", len(first))
			}
			if _, err := os.Stat(l.markPath()); err != nil {
				t.Fatal("no mark was left")
			}
			spoil(t, l)
			writeHeads(t, l, 5000, 20)
			got, err := l.unfinished("")
			must(t, err)
			limit := l.limit
			must(t, ignoreMissing(os.Remove(l.markPath())))
			want, err := l.unfinished("")
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
	before, err := l.unfinished("")
	must(t, err)
	f, err := os.OpenFile(l.path(), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("x"), 0) // the first is an open chain
	must(t, err)
	must(t, f.Close())
	after, err := l.unfinished("")
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
		text := fmt.Sprintf(`{"offset":%d,"last":%q,"ended":%d}`, rapid.Int64().Draw(r, "offset"), rapid.String().Draw(r, "last"), rapid.Int64().Draw(r, "ended"))
		must(t, os.WriteFile(filepath.Join(l.dir, markFile), []byte(text), 0o600))
		heads, err := l.unfinished("")
		must(t, err)
		if len(heads) != 3 {
			r.Fatalf("%d chains are open with the mark %s", len(heads), text)
		}
	})
}
