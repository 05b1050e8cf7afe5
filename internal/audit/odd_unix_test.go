//go:build unix

package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
)

// TestReadersWalkOnPastWhatIsNoLog puts a link, a FIFO and a socket's like among logs.
func TestReadersWalkOnPastWhatIsNoLog(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string) string{
		"a link": func(t *testing.T, dir string) string {
			must(t, os.Symlink("/dev/zero", filepath.Join(dir, "x.jsonl")))
			return "x.jsonl: it is a symbolic link"
		},
		"a link to nothing": func(t *testing.T, dir string) string {
			must(t, os.Symlink("nowhere", filepath.Join(dir, "x.20260101T000000.jsonl")))
			return "x.20260101T000000.jsonl: it is a symbolic link"
		},
		"a folder": func(t *testing.T, dir string) string {
			must(t, os.Mkdir(filepath.Join(dir, "x.jsonl"), 0o700))
			return "x.jsonl: it is a folder"
		},
		"a folder like a closed segment": func(t *testing.T, dir string) string {
			must(t, os.Mkdir(filepath.Join(dir, "x.20260101T000000.jsonl"), 0o700))
			return "x.20260101T000000.jsonl: it is a folder"
		},
		"a FIFO": func(t *testing.T, dir string) string {
			must(t, syscall.Mkfifo(filepath.Join(dir, "x.jsonl"), 0o600))
			return "x.jsonl: it cannot be read: not a regular file"
		},
		"heads that are a link": func(t *testing.T, dir string) string {
			must(t, os.Rename(filepath.Join(dir, headsFile), filepath.Join(dir, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(dir, headsFile)))
			return "heads: it is a symbolic link"
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mixed(t)
			want := spoil(t, dir)
			var problems []string
			records := 0
			for _, err := range Records(t.Context(), dir, Filter{}) {
				if problem := (*Problem)(nil); errors.As(err, &problem) {
					problems = append(problems, problem.Error())
					continue
				}
				must(t, err)
				records++
			}
			if len(problems) != 1 || !strings.HasSuffix(problems[0], want) || records < 20 {
				t.Errorf("%d records, problems %q, want one: %s", records, problems, want)
			}
			found, err := Show(t.Context(), dir, "a3")
			if len(found) != 2 || durward.ReasonOf(err) != durward.AuditBroken || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("show: %d records, %v", len(found), err)
			}
			if got := idsOf(t, Tail(t.Context(), dir, TailOptions{Last: 1})); !strings.HasPrefix(got, "! ") {
				t.Errorf("tail: %q", got)
			}
			if summary, err := Verify(t.Context(), dir); durward.ReasonOf(err) != durward.AuditBroken || !strings.HasSuffix(summary.Problems[0].Error(), want) {
				t.Errorf("verify: %v", summary.Problems)
			}
			var told []string
			var out strings.Builder
			err = Export(t.Context(), &out, dir, JSONL, Filter{}, func(p *Problem) { told = append(told, p.Error()) })
			if strings.Count(out.String(), "\n") != records || len(told) != 1 || durward.ReasonOf(err) != durward.AuditBroken {
				t.Errorf("export: %d lines, told %q, %v", strings.Count(out.String(), "\n"), told, err)
			}
		})
	}
}

// TestAFolderIsNoLog names a folder where a file was to be named.
func TestAFolderIsNoLog(t *testing.T) {
	dir, folder := mixed(t), t.TempDir()
	summary, err := Verify(t.Context(), dir, folder)
	if durward.ReasonOf(err) != durward.AuditBroken || len(summary.Problems) != 1 || summary.Problems[0].File != folder {
		t.Errorf("verify: %v, %v", summary.Problems, err)
	}
	if got := idsOf(t, Newest(t.Context(), dir, Filter{Files: []string{folder}}, 1)); got != "! b9" {
		t.Errorf("newest: %q", got)
	}
}

// TestWhatStandsInTheWayOfTheMarkStopsNoCall puts folders that cannot be removed where
// the mark is kept and where heads are made shorter.
func TestWhatStandsInTheWayOfTheMarkStopsNoCall(t *testing.T) {
	for _, name := range []string{markFile, markFile + ".new", headsFile + ".new"} {
		dir := private(t)
		must(t, os.MkdirAll(filepath.Join(dir, name, "full"), 0o700))
		hash := digestOf(nil).String()
		l := ledger{dir: dir, limit: 1}
		for n := range 3 {
			must(t, l.add(Head{File: "a.jsonl", Seq: uint64(n + 1), Hash: hash, State: StateClosed}))
			l.limit = 1
		}
		writeHeads(t, &l, 0, 2000)
		log := opened(t, dir, Options{})
		record(t, log, "1")
		must(t, log.Close())
		heads, err := ReadHeads(dir)
		must(t, err)
		if len(heads) != 2002 {
			t.Errorf("%s: %d heads", name, len(heads))
		}
	}
}

// TestAMarkThatOthersCanWriteCountsForNothing forges one that hides an open chain.
func TestAMarkThatOthersCanWriteCountsForNothing(t *testing.T) {
	l := forgedMark(t, noon)
	must(t, os.Chmod(l.markPath(), 0o666))
	heads, err := l.unfinished("", noon)
	must(t, err)
	if len(heads) != 200 {
		t.Errorf("%d chains are open", len(heads))
	}
	must(t, os.Chmod(l.markPath(), 0o666)) // a new one has taken its place
	bad := l.inspectMark()
	if bad == nil || !strings.Contains(bad.Why, "0666") {
		t.Errorf("%v", bad)
	}
}
