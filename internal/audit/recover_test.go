package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// die leaves a log as a process does that is killed.
func (l *Log) die(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	c := l.chain
	l.chain = nil
	l.mu.Unlock()
	close(l.stop)
	<-l.synced
	must(t, c.file.Close())
}

// phases are "phase cause reqId" of all records of a file.
func phases(t testing.TB, path string) []string {
	t.Helper()
	var all []string
	for _, line := range linesOf(t, path) {
		r, err := parseRecord([]byte(line))
		if err != nil {
			all = append(all, "damaged")
			continue
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Phase, r.Cause, r.ReqID)))
	}
	return all
}

func TestCallsInFlightAreClosedAsUnknown(t *testing.T) {
	for _, own := range []bool{true, false} {
		dir := private(t)
		o := Options{}
		if !own {
			o.File = filepath.Join(private(t), "log")
		}
		l := opened(t, dir, o)
		c, d := call("lost")
		c.Door, d.Rule = "mcp", "commands.ls"
		must(t, l.Intent(c, d))
		record(t, l, "done")
		l.die(t)
		if c := verified(t, dir).Chains[0]; c.InFlight != 1 || c.Live {
			t.Errorf("%+v", c)
		}
		must(t, opened(t, dir, o).Close())
		want := []string{"intent  lost", "intent  done", "outcome ok done", "outcome unknown lost"}
		if diff := cmp.Diff(want, phases(t, l.File())); diff != "" {
			t.Error(diff)
		}
		shown, err := Show(t.Context(), dir, "lost")
		must(t, err)
		if r := shown[1].Record; r.Door != "mcp" || r.Rule != "commands.ls" || r.Caller != "local:1000" {
			t.Errorf("%+v", r)
		}
		for _, c := range verified(t, dir).Chains {
			if c.InFlight != 0 {
				t.Errorf("%+v", c)
			}
		}
		before := linesOf(t, l.File())
		must(t, opened(t, dir, o).Close())
		if diff := cmp.Diff(before, linesOf(t, l.File())); diff != "" {
			t.Errorf("a closed log was closed again: %s", diff)
		}
	}
}

func TestCloseLeavesCallsInFlightToTheNextStart(t *testing.T) {
	dir := private(t)
	l := opened(t, dir, Options{})
	must(t, l.Intent(call("1")))
	must(t, l.Close())
	opened(t, dir, Options{})
	if got := phases(t, l.File()); len(got) != 2 || got[1] != "outcome unknown 1" {
		t.Errorf("%q", got)
	}
}

func TestCallsInFlightAreFoundInClosedSegments(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	l := opened(t, dir, Options{File: file, MaxBytes: 1500})
	must(t, l.Intent(call("lost")))
	for i := range 5 {
		record(t, l, fmt.Sprint(i))
	}
	l.die(t)
	must(t, opened(t, dir, Options{File: file}).Close())
	if got := phases(t, file); got[len(got)-1] != "outcome unknown lost" {
		t.Errorf("%q", got)
	}
	verified(t, dir)
}

func TestALiveLogIsLeftAlone(t *testing.T) {
	dir := private(t)
	l := opened(t, dir, Options{})
	must(t, l.Intent(call("1")))
	opened(t, dir, Options{})
	if got := phases(t, l.File()); len(got) != 1 {
		t.Errorf("%q", got)
	}
	must(t, l.Deny(call("2")))
}

func TestATornLineIsSealedNotHidden(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	l := opened(t, dir, Options{File: file})
	record(t, l, "1")
	must(t, l.Intent(call("torn")))
	l.die(t)
	whole, err := os.ReadFile(file)
	must(t, err)
	heads, err := os.ReadFile(filepath.Join(dir, headsFile))
	must(t, err)
	start := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for size := start + 1; size < len(whole); size++ {
		must(t, os.WriteFile(file, whole[:size], 0o600))
		must(t, os.WriteFile(filepath.Join(dir, headsFile), heads, 0o600))
		complete := size == len(whole)-1 // only the newline is missing
		if c := verified(t, dir).Chains[0]; c.Torn != size-start || c.Records != 2 {
			t.Errorf("before: %+v", c)
		}
		l := opened(t, dir, Options{File: file})
		record(t, l, "2")
		must(t, l.Close())
		text, err := os.ReadFile(file)
		must(t, err)
		if !bytes.HasPrefix(text, whole[:size]) {
			t.Errorf("%d bytes of the torn line are gone", size-start)
		}
		want := []string{"intent  1", "outcome ok 1", "damaged", "event audit.torn", "intent  2", "outcome ok 2"}
		if complete {
			want = []string{"intent  1", "outcome ok 1", "intent  torn", "outcome unknown torn", "intent  2", "outcome ok 2"}
		}
		if diff := cmp.Diff(want, phases(t, file)); diff != "" {
			t.Fatalf("after %d bytes: %s", size-start, diff)
		}
		if c := verified(t, dir).Chains[0]; c.Torn != 0 || c.Seq != uint64(len(want)-b2i(!complete)) {
			t.Errorf("after: %+v", c)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestEveryChangedByteOfASealedLogIsNamed(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	l := opened(t, dir, Options{File: file})
	record(t, l, "1")
	l.die(t)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"seq":3,"prev":"00`)
	must(t, err)
	must(t, f.Close())
	l = opened(t, dir, Options{File: file})
	record(t, l, "2")
	must(t, l.Close())
	text, err := os.ReadFile(file)
	must(t, err)
	defer os.WriteFile(file, text, 0o600)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed := bytes.Clone(text)
		changed[at] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, line := firstProblem(t, dir), bytes.Count(text[:at], []byte("\n"))+1; p.Line != line {
			t.Fatalf("line %d was changed, but %v", line, &p)
		}
	})
}

func TestATornFirstLineIsSealed(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	must(t, os.WriteFile(file, []byte(`{"seq":1`), 0o600))
	l := opened(t, dir, Options{File: file})
	record(t, l, "1")
	must(t, l.Close())
	if c := verified(t, dir).Chains[0]; c.Seq != 3 {
		t.Errorf("%+v", c)
	}
}

func TestALogThatDoesNotProveItselfIsNotContinued(t *testing.T) {
	damage := map[string]func([]byte) []byte{
		"changed": func(b []byte) []byte { b[100] ^= 1; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"emptied": func(b []byte) []byte { return nil },
		"foreign": func(b []byte) []byte { return append(b, "hello\n"...) },
	}
	for name, change := range damage {
		for _, closed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, closed %v", name, closed), func(t *testing.T) {
				dir := private(t)
				file := filepath.Join(dir, "own.jsonl")
				l := opened(t, dir, Options{File: file})
				record(t, l, "1")
				record(t, l, "2")
				l.syncNow()
				if closed {
					must(t, l.Close())
				} else {
					l.die(t)
				}
				text, err := os.ReadFile(file)
				must(t, err)
				text = change(text)
				must(t, os.WriteFile(file, text, 0o600))
				l, err = Open(dir, Options{File: file})
				if name == "changed" && closed {
					must(t, err) // a clean end is believed; verify finds it
					must(t, l.Close())
				} else if durward.ReasonOf(err) != durward.AuditBroken || durward.KindOf(err) != durward.Unavailable {
					t.Errorf("it was opened: %v", err)
				}
				after, err := os.ReadFile(file)
				must(t, err)
				if !bytes.Equal(text, after) {
					t.Error("the evidence was changed")
				}
				own := opened(t, dir, Options{}) // another log goes on beside it
				record(t, own, "3")
				if p := firstProblem(t, dir); p.File != file {
					t.Error(&p)
				}
			})
		}
	}
}

func TestARemovedConfiguredFileIsNotReplacedInSilence(t *testing.T) {
	dir := private(t)
	file := filepath.Join(dir, "own.jsonl")
	l := opened(t, dir, Options{File: file})
	record(t, l, "1")
	must(t, l.Close())
	must(t, os.Remove(file))
	if _, err := Open(dir, Options{File: file}); durward.ReasonOf(err) != durward.AuditBroken {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a new file was begun")
	}
}

// TestADeathDuringRotation puts a log into each state that a kill between two steps
// of a rotation leaves.
func TestADeathDuringRotation(t *testing.T) {
	for name, state := range map[string]func(t *testing.T, active, closed string){
		"no active file":       func(t *testing.T, active, closed string) { must(t, os.Rename(active, closed)) },
		"an empty active file": func(t *testing.T, active, closed string) { must(t, os.Rename(active, closed)); touch(t, active, "") },
		"a torn first record": func(t *testing.T, active, closed string) {
			must(t, os.Rename(active, closed))
			touch(t, active, `{"seq":`)
		},
		"before the first step": func(*testing.T, string, string) {},
	} {
		for _, own := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, own %v", name, own), func(t *testing.T) {
				dir := private(t)
				o := Options{}
				if !own {
					o.File = filepath.Join(dir, "own.jsonl")
				}
				l := opened(t, dir, o)
				record(t, l, "1")
				must(t, l.Intent(call("lost")))
				l.die(t)
				state(t, l.File(), closedPath(l.File(), nil, noon))
				verified(t, dir)
				l = opened(t, dir, o)
				record(t, l, "2")
				must(t, l.Close())
				unknown := 0
				for e, err := range Records(t.Context(), dir, Filter{Cause: "unknown"}) {
					if err == nil && e.ReqID == "lost" {
						unknown++
					}
				}
				s := verified(t, dir)
				if slices.ContainsFunc(s.Chains, func(c Chain) bool { return c.InFlight > 0 }) || unknown != 1 {
					t.Errorf("closed %d times: %+v", unknown, s.Chains)
				}
			})
		}
	}
}

func touch(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestRotationNamesSegmentsInOrder(t *testing.T) {
	dir := private(t)
	now := &clock{at: time.Date(2026, 1, 31, 23, 59, 58, 0, time.UTC)}
	l := opened(t, dir, Options{File: filepath.Join(dir, "srv.log.jsonl"), MaxBytes: 1000, Now: now.now})
	for i := range 3 {
		record(t, l, fmt.Sprint(i))
	}
	now.move(-time.Hour) // the clock is set back
	record(t, l, "back")
	now.move(3 * time.Hour) // another day
	must(t, l.Deny(call("late")))
	must(t, l.Close())
	segments, err := segmentsOf(l.File())
	must(t, err)
	var names []string
	for _, s := range segments {
		names = append(names, s.name())
	}
	want := []string{"srv.log.20260131T235958.jsonl"}
	for n := range 6 {
		want = append(want, fmt.Sprintf("srv.log.20260131T235958.%d.jsonl", n+1))
	}
	want = append(want, "srv.log.20260201T015958.jsonl", "srv.log.jsonl")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	verified(t, dir)
	lines := linesOf(t, segments[1].path)
	r, err := parseRecord([]byte(lines[0]))
	must(t, err)
	before := linesOf(t, segments[0].path)
	if last := digestOf([]byte(before[len(before)-1])).String(); r.Path != names[0] || r.SHA256 != last || r.Prev != last || r.Cause != EventSegment {
		t.Errorf("the second segment begins with %s", lines[0])
	}
}

func TestSegmentsSortByNumber(t *testing.T) {
	dir := private(t)
	for _, name := range []string{"a.jsonl", "a.20260131T120000.10.jsonl", "a.20260131T120000.9.jsonl", "a.20260131T120000.jsonl", "a.20260130T120000.99.jsonl", "b.jsonl"} {
		touch(t, filepath.Join(dir, name), "")
	}
	segments, err := segmentsOf(filepath.Join(dir, "a.jsonl"))
	must(t, err)
	var names []string
	for _, s := range segments {
		names = append(names, s.name())
	}
	want := []string{"a.20260130T120000.99.jsonl", "a.20260131T120000.jsonl", "a.20260131T120000.9.jsonl", "a.20260131T120000.10.jsonl", "a.jsonl"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
