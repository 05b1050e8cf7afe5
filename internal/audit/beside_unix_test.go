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
