package audit

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
)

func TestWhatStandsBehindAClosedChainIsNamed(t *testing.T) {
	for name, tail := range map[string]func(w written) string{
		"a record": func(w written) string {
			last := linesOf(t, w.files[0])[1]
			body, err := Record{Phase: Event, Cause: "forged"}.body()
			must(t, err)
			return string(appendLine(nil, 3, digestOf([]byte(last)), noon, body)) + "\n"
		},
		"a torn record": func(written) string { return `{"seq":3,"pr` },
		"NULs":          func(written) string { return "\x00\x00\x00" },
		"a space":       func(written) string { return " " },
		"a newline":     func(written) string { return "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, 1, Options{})
			text, err := os.ReadFile(w.files[0])
			must(t, err)
			must(t, os.WriteFile(w.files[0], append(text, tail(w)...), 0o600))
			if p := firstProblem(t, w.dir); p.File != w.files[0] || p.Line != 3 || p.Seq != 3 {
				t.Error(&p)
			}
			if _, err := Open(w.dir, Options{File: w.files[0]}); durward.ReasonOf(err) != durward.AuditBroken {
				t.Errorf("it was continued: %v", err)
			}
		})
	}
}

func TestAChainThatGoesOnRaisesNoAlarm(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	var group sync.WaitGroup
	stop := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := Verify(t.Context(), dir); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		l, err := Open(dir, Options{File: file}) // a verify may hold the lock for a moment
		must(t, err)
		record(t, l, "1")
		must(t, l.Close())
	}
	close(stop)
	group.Wait()
	if c := verified(t, dir).Chains[0]; c.Seq != 200 {
		t.Errorf("%+v", c)
	}
}

func TestManyShortLogsRaiseNoAlarm(t *testing.T) {
	dir := private(t)
	var writing, checking sync.WaitGroup
	stop := make(chan struct{})
	checking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := Verify(t.Context(), dir); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 64 {
		writing.Go(func() {
			l, err := Open(dir, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			record(t, l, "1")
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	close(stop)
	checking.Wait()
	if s := verified(t, dir); len(s.Chains) != 64 {
		t.Errorf("%d chains", len(s.Chains))
	}
}

func TestDamageToTheHeadsIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, heads string)
		line   int
		why    string
	}{
		"missing":       {func(t *testing.T, heads string) { must(t, os.Remove(heads)) }, 0, "heads is missing"},
		"empty":         {func(t *testing.T, heads string) { touch(t, heads, "") }, 0, noHead},
		"no entry":      {func(t *testing.T, heads string) { touch(t, heads, strings.Repeat("0", 64)+" 0 open x.jsonl\n") }, 0, noHead},
		"garbage":       {func(t *testing.T, heads string) { appendHeads(t, heads, "hello\n") }, 3, "the line is no head"},
		"a huge line":   {func(t *testing.T, heads string) { appendHeads(t, heads, strings.Repeat("x", 3*maxHead)+"\n") }, 3, "the line is no head"},
		"a folder":      {func(t *testing.T, heads string) { must(t, os.Remove(heads)); must(t, os.Mkdir(heads, 0o700)) }, 0, "it cannot be read: not a regular file"},
		"no whole line": {func(t *testing.T, heads string) { touch(t, heads, "hello") }, 0, noHead},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, 1, Options{})
			test.change(t, filepath.Join(w.dir, headsFile))
			s, err := Verify(t.Context(), w.dir)
			if durward.ReasonOf(err) != durward.AuditBroken || len(s.Problems) != 1 {
				t.Fatalf("%v: %v", err, s.Problems)
			}
			if p := s.Problems[0]; p.Line != test.line || p.Why != test.why {
				t.Error(&p)
			}
		})
	}
}

func appendHeads(t *testing.T, heads, text string) {
	t.Helper()
	before, err := os.ReadFile(heads)
	must(t, err)
	must(t, os.WriteFile(heads, append(before, text...), 0o600))
}

// A process may die between making its file and writing its head, and within the
// writing of a head.
func TestADeathDuringTheStartRaisesNoAlarm(t *testing.T) {
	dir := private(t)
	if s := verified(t, dir); len(s.Chains) != 0 {
		t.Errorf("%+v", s.Chains)
	}
	touch(t, filepath.Join(dir, "20260131T110000.000Z-1.jsonl"), "")
	verified(t, dir)
	l := opened(t, dir, Options{})
	record(t, l, "1")
	must(t, l.Close())
	verified(t, dir)
	appendHeads(t, filepath.Join(dir, headsFile), strings.Repeat("0", 64)+" 7 op")
	verified(t, dir)
	l = opened(t, dir, Options{})
	record(t, l, "2")
	must(t, l.Close())
	verified(t, dir)
}
