//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
)

// A folder that somebody chose stays as it is. What is made there is private.
func TestALogInAnOrdinaryFolder(t *testing.T) {
	for mode, warned := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: true, 0o777: true, 0o777 | os.ModeSticky: false} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Chmod(dir, mode))
			var told bytes.Buffer
			file := filepath.Join(dir, "audit.jsonl")
			for range 2 {
				l := opened(t, "", Options{File: file, Logger: slog.New(slog.NewTextHandler(&told, nil))})
				record(t, l, "1")
				must(t, l.Close())
			}
			info, err := os.Stat(dir)
			must(t, err)
			if info.Mode() != mode|os.ModeDir {
				t.Errorf("the folder has mode %s now", info.Mode())
			}
			for _, name := range []string{"audit.jsonl", headsFile} {
				if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			if got := strings.Contains(told.String(), "chmod go-w "+dir); got != warned {
				t.Errorf("it says %q", told.String())
			}
			if c := verified(t, "", file).Chains; len(c) != 1 || c[0].Records != 4 {
				t.Errorf("%+v", c)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "a", "b", "audit.jsonl")
	opened(t, "", Options{File: file})
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
}

// A file of somebody else's that is called heads is not written to.
func TestAnotherFileThatIsCalledHeads(t *testing.T) {
	for text, ours := range map[string]bool{"": true, "\n": false, "cabbage\nlettuce": false, strings.Repeat("a", 70): true, strings.Repeat("x", 70): false} {
		dir := t.TempDir()
		heads := filepath.Join(dir, headsFile)
		touch(t, heads, text)
		l, err := Open("", Options{File: filepath.Join(dir, "audit.jsonl")})
		if ours {
			must(t, err)
			must(t, l.Close())
			continue
		}
		if !isRefusal(err) {
			t.Errorf("%q: %v", text, err)
		}
		if now, err := os.ReadFile(heads); err != nil || string(now) != text {
			t.Errorf("%q became %q, %v", text, now, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "audit.jsonl")); err == nil {
			t.Error("a log was made")
		}
	}
}

// However many begin at once, each has a chain of its own, and who comes when all are gone
// goes on with the first.
func TestProcessesWithOneFileHaveAChainEach(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.v2.jsonl")
	spare := filepath.Join(dir, fmt.Sprintf("audit.v2.%d.jsonl", os.Getpid()))
	for range 20 {
		var told bytes.Buffer
		var logs [2]*Log
		var all sync.WaitGroup
		logger := slog.New(slog.NewTextHandler(&told, nil))
		for i := range logs {
			all.Go(func() {
				var err error
				if logs[i], err = Open("", Options{File: file, Logger: logger}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		if a, b := logs[0].File(), logs[1].File(); (a != file || b != spare) && (a != spare || b != file) {
			t.Fatalf("%s, %s", a, b)
		}
		if got := strings.Count(told.String(), "file="+spare); got != 1 {
			t.Errorf("it says %q", told.String())
		}
		for _, l := range logs {
			record(t, l, "1")
			must(t, l.Close())
		}
	}
	last := opened(t, "", Options{File: file})
	if last.File() != file {
		t.Errorf("it writes %s", last.File())
	}
	chains := verified(t, "", file, spare).Chains
	if len(chains) != 2 || chains[0].Records+chains[1].Records != 80 {
		t.Errorf("%+v", chains)
	}
}

func TestNamesBesideAFile(t *testing.T) {
	for active, names := range map[string][]string{"/d/a.jsonl": {"/d/a.7.jsonl"}, "/d/a": {"/d/a.7"}, "/d/.x": {"/d/.7.x"}} {
		for _, name := range names {
			if spareName(active, 7) != name || !isSpare(active, name) {
				t.Errorf("%s of %s is %s", name, active, spareName(active, 7))
			}
		}
		for _, other := range []string{active, "/d/a.07.jsonl", "/d/a.x.jsonl", "/d/b.7.jsonl", "/e/a.7.jsonl", "/d/a..jsonl", "/d/a.-7.jsonl", "/d/a.20260131T120000.jsonl"} {
			if isSpare(active, other) {
				t.Errorf("%s is one of %s", other, active)
			}
		}
	}
}

// What the end of a log was stands in the heads beside it.
func TestTheHeadsBesideAFileProveItsEnd(t *testing.T) {
	lines := func(text []byte) [][]byte {
		return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, file string)
		why    string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"the tail is gone": {func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			must(t, err)
			touch(t, file, string(bytes.Join(lines(text)[:2], nil)))
		}, "the tail is cut off"},
		"it is empty": {func(t *testing.T, file string) { touch(t, file, "") }, "the tail is cut off"},
		"it is gone":  {func(t *testing.T, file string) { must(t, os.Remove(file)) }, "the log is missing"},
		"the last record is changed": {func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			must(t, err)
			all := lines(text)
			all[len(all)-1] = bytes.Replace(all[len(all)-1], []byte(`"ok"`), []byte(`"no"`), 1)
			touch(t, file, string(bytes.Join(all, nil))+"\n")
		}, "hash"},
		"another is damaged": {func(t *testing.T, file string) { appendTo(t, filepath.Join(filepath.Dir(file), headsFile), "x\n") }, "the line is no head"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			first, second := opened(t, "", Options{File: file}), opened(t, "", Options{File: file})
			for _, l := range []*Log{first, second} {
				record(t, l, "1")
				record(t, l, "2")
				must(t, l.Close())
			}
			for i, at := range []string{first.File(), second.File()} {
				before, err := os.ReadFile(at)
				must(t, err)
				test.change(t, at)
				s, err := Verify(t.Context(), private(t), file)
				if len(s.Chains) != 2 {
					t.Errorf("%d chains", len(s.Chains))
				}
				if test.why == "" && err != nil || test.why != "" && (durward.ReasonOf(err) != durward.AuditBroken || !strings.Contains(err.Error(), test.why)) {
					t.Errorf("%d: %v, want %q", i, err, test.why)
				}
				for _, c := range s.Chains {
					if c.Headless {
						t.Errorf("%s has no head", c.File)
					}
				}
				touch(t, at, string(before))
			}
		})
	}
}

// Without heads a file is proved as far as it goes, and that is told.
func TestAFileWithoutHeads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, "", Options{File: file})
	record(t, l, "1")
	must(t, l.Close())
	alone := filepath.Join(t.TempDir(), "copy.jsonl")
	text, err := os.ReadFile(file)
	must(t, err)
	touch(t, alone, string(text))
	touch(t, filepath.Join(filepath.Dir(file), "copy.jsonl"), string(text)) // beside the heads of another
	for _, file := range []string{alone, filepath.Join(filepath.Dir(file), "copy.jsonl")} {
		if c := verified(t, "", file).Chains; len(c) != 1 || c[0].Records != 2 || !c[0].Headless {
			t.Errorf("%+v", c)
		}
	}
}

// A log that is written meanwhile is not taken for one that was cut off.
func TestAFileIsProvedWhileItIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, "", Options{File: file, MaxBytes: 4000, Keep: -1})
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 200 {
			record(t, l, fmt.Sprint(i))
			if i%10 == 0 {
				l.syncNow()
			}
		}
	})
	for range 20 {
		verified(t, "", file)
	}
	all.Wait()
	must(t, l.Close())
	if c := verified(t, "", file).Chains; c[0].Records != 400+uint64(c[0].Segments)-1 {
		t.Errorf("%+v", c)
	}
}

// The refusal to go on with a log says what to type about this very one.
func TestTheFixNamesTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my logs")
	file := filepath.Join(dir, "audit.jsonl")
	l := opened(t, "", Options{File: file})
	record(t, l, "1")
	must(t, l.Close())
	touch(t, file, "")
	_, err := Open("", Options{File: file})
	want := "durward audit verify '" + file + "'; then move the log away and delete its lines from '" + filepath.Join(dir, headsFile) + "'"
	if e := durward.AsError(err); e == nil || e.Hint != want {
		t.Errorf("%+v", e)
	}
}
