package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// firstProblem is what Verify says of a folder; it fails when it says nothing.
func firstProblem(t rapid.TB, dir string) Problem {
	t.Helper()
	s, err := Verify(context.Background(), dir)
	if durward.ReasonOf(err) != durward.AuditBroken || len(s.Problems) == 0 {
		t.Fatalf("nothing was found: %v", err)
	}
	return s.Problems[0]
}

// A written log is a folder with one closed chain of n records in several segments,
// of which none was removed.
type written struct {
	dir   string
	files []string // oldest first
	// first is the number of the first record of each file.
	first []uint64
}

func write(t testing.TB, calls int, o Options) written {
	t.Helper()
	w := written{dir: private(t)}
	o.Now = (&clock{at: noon}).now
	l := opened(t, w.dir, o)
	for i := range calls {
		record(t, l, fmt.Sprint(i))
	}
	must(t, l.Close())
	segments, err := segmentsOf(l.File())
	must(t, err)
	for _, s := range segments {
		w.files = append(w.files, s.path)
		r, err := parseRecord([]byte(linesOf(t, s.path)[0]))
		must(t, err)
		w.first = append(w.first, r.Seq)
	}
	return w
}

// damaged runs a check on a copy of the log in which one file was changed.
func (w written) damaged(t *rapid.T, file int, change func([]byte) []byte, check func(dir string)) {
	text, err := os.ReadFile(w.files[file])
	if err == nil {
		err = os.WriteFile(w.files[file], change(bytes.Clone(text)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(w.files[file], text, 0o600)
	check(w.dir)
}

func (w written) pick(t *rapid.T) (file int, text []byte, lines [][]byte) {
	file = rapid.IntRange(0, len(w.files)-1).Draw(t, "file")
	text, err := os.ReadFile(w.files[file])
	if err != nil {
		t.Fatal(err)
	}
	return file, text, bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

func TestEveryChangedByteIsNamed(t *testing.T) {
	for _, o := range []Options{{}, {MaxBytes: 2000, Keep: -1}, {MaxBytes: 2000, Keep: 3}} {
		t.Run(fmt.Sprintf("%d-%d", o.MaxBytes, o.Keep), func(t *testing.T) {
			w := write(t, 10, o)
			verified(t, w.dir)
			rapid.Check(t, func(t *rapid.T) {
				file, text, _ := w.pick(t)
				at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
				flip := rapid.ByteRange(1, 255).Draw(t, "flip")
				w.damaged(t, file, func(b []byte) []byte { b[at] ^= flip; return b }, func(dir string) {
					line := bytes.Count(text[:at], []byte("\n"))
					seq := w.first[file] + uint64(line)
					p := firstProblem(t, dir)
					pruned := w.first[0] > 1 && file == 0 && line == 0 // it is itself what says its number
					if p.File != w.files[file] || p.Line != line+1 && !pruned || p.Seq != seq && !pruned {
						t.Fatalf("record %d at %s:%d was changed, but %v", seq, w.files[file], line+1, &p)
					}
				})
			})
		})
	}
}

func TestEveryCutTailIsNamed(t *testing.T) {
	w := write(t, 10, Options{MaxBytes: 2000, Keep: -1})
	last := len(w.files) - 1
	rapid.Check(t, func(t *rapid.T) {
		text, err := os.ReadFile(w.files[last])
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(0, len(text)-2).Draw(t, "size")
		w.damaged(t, last, func(b []byte) []byte { return b[:size] }, func(dir string) {
			p := firstProblem(t, dir)
			whole := bytes.Count(text[:size], []byte("\n"))
			if p.File != w.files[last] || p.Line != whole+1 || p.Seq != w.first[last]+uint64(whole) || !strings.Contains(p.Why, "cut off") {
				t.Fatalf("cut after %d bytes (%d lines): %v", size, whole, &p)
			}
		})
	})
}

func TestACutWithinAClosedSegmentIsNamed(t *testing.T) {
	w := write(t, 10, Options{MaxBytes: 2000, Keep: -1})
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.IntRange(0, len(w.files)-2).Draw(t, "file")
		w.damaged(t, file, func(b []byte) []byte {
			return b[:rapid.IntRange(0, len(b)-1).Draw(t, "size")]
		}, func(dir string) { firstProblem(t, dir) })
	})
}

func TestRemovedRepeatedAndSwappedLinesAreNamed(t *testing.T) {
	w := write(t, 10, Options{MaxBytes: 4000, Keep: -1})
	rapid.Check(t, func(t *rapid.T) {
		file, _, lines := w.pick(t)
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		j := rapid.IntRange(0, len(lines)-1).Filter(func(j int) bool { return j != i }).Draw(t, "other")
		for n := range lines {
			lines[n] = append(bytes.TrimSuffix(lines[n], []byte("\n")), '\n')
		}
		wrong, at := slices.Clone(lines), i
		switch rapid.SampledFrom([]string{"remove", "repeat", "swap"}).Draw(t, "how") {
		case "remove":
			wrong = slices.Delete(wrong, i, i+1)
		case "repeat":
			wrong = slices.Insert(wrong, i, lines[i])
			at = i + 1
		case "swap":
			wrong[i], wrong[j] = wrong[j], wrong[i]
			at = min(i, j)
		}
		w.damaged(t, file, func([]byte) []byte { return bytes.Join(wrong, nil) }, func(dir string) {
			p := firstProblem(t, dir)
			seq := w.first[file] + uint64(at)
			if p.Seq != seq && p.Seq != seq+1 {
				t.Fatalf("line %d of %s is wrong, but %v", at+1, w.files[file], &p)
			}
		})
	})
}

func TestARemovedSegmentIsNamed(t *testing.T) {
	for _, keep := range []int{-1, 3} {
		w := write(t, 20, Options{MaxBytes: 2000, Keep: keep})
		for i, file := range w.files {
			t.Run(fmt.Sprintf("keep %d, segment %d", keep, i), func(t *testing.T) {
				must(t, os.Rename(file, file+".away"))
				defer os.Rename(file+".away", file)
				p := firstProblem(t, w.dir)
				if last := i == len(w.files)-1; p.File != file || !last && !strings.Contains(p.Why, "segment is missing") {
					t.Errorf("%s was removed, but %v", file, &p)
				}
			})
		}
		verified(t, w.dir)
	}
}

func TestAPrunedChainIsGoodAndShorter(t *testing.T) {
	w := write(t, 50, Options{MaxBytes: 2000, Keep: 3})
	s := verified(t, w.dir)
	if c := s.Chains[0]; c.Segments != 4 || c.Seq < 100 || c.Records >= c.Seq {
		t.Errorf("%+v", c)
	}
}

func TestAMissingLogIsNamed(t *testing.T) {
	w := write(t, 1, Options{})
	must(t, os.Remove(w.files[0]))
	if p := firstProblem(t, w.dir); p.File != w.files[0] || p.Seq != 2 {
		t.Error(&p)
	}
}

func TestEachBadChainIsNamedOnce(t *testing.T) {
	dir := private(t)
	var files []string
	for range 3 {
		l := opened(t, dir, Options{})
		record(t, l, "1")
		record(t, l, "2")
		must(t, l.Close())
		files = append(files, l.File())
	}
	for _, file := range files[:2] {
		text := linesOf(t, file)
		must(t, os.WriteFile(file, []byte(strings.Join(text[1:], "\n")+"\n"), 0o600))
	}
	s, err := Verify(t.Context(), dir)
	if len(s.Problems) != 2 || len(s.Chains) != 3 || !strings.Contains(err.Error(), "and 1 more") {
		t.Errorf("%v: %+v", err, s.Problems)
	}
}

func TestVerifyChangesNothing(t *testing.T) {
	dir := private(t)
	l := opened(t, dir, Options{})
	for i := range 3 {
		record(t, l, fmt.Sprint(i))
	}
	l.die(t)
	f, err := os.OpenFile(l.File(), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"seq":7,"pr`)
	must(t, errors.Join(err, f.Close()))
	before, err := os.ReadFile(l.File())
	must(t, err)
	if c := verified(t, dir).Chains[0]; c.Torn != len(`{"seq":7,"pr`) || c.Records != 6 {
		t.Errorf("%+v", c)
	}
	after, err := os.ReadFile(l.File())
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the log was changed")
	}
}

func TestGarbageNeverProvesItself(t *testing.T) {
	for name, text := range map[string]string{
		"binary":     "\x00\x01\xff\n",
		"NULs":       strings.Repeat("\x00", 5<<20) + "\n",
		"huge line":  `{"seq":1,"prev":"` + strings.Repeat("0", 3<<20) + "\"}\n",
		"empty line": "\n",
		"deep":       strings.Repeat("[", 900_000) + "\n",
		"number":     "1\n",
		"null":       "null\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			must(t, os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(text), 0o600))
			if p := firstProblem(t, dir); p.Line != 1 || p.Seq != 1 {
				t.Error(&p)
			}
			for _, err := range Records(t.Context(), dir, Filter{}) {
				if problem := (*Problem)(nil); !errors.As(err, &problem) || problem.Line != 1 {
					t.Error(err)
				}
			}
		})
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	w := write(t, 3, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, w.dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	w := write(f, 2, Options{})
	text, err := os.ReadFile(w.files[0])
	must(f, err)
	f.Add(text, []byte{})
	f.Add(text[:len(text)-10], []byte("\n"))
	f.Add([]byte("\x00\xff\n{}\n"), []byte("x y z\n"))
	f.Fuzz(func(t *testing.T, log, heads []byte) {
		dir := private(t)
		path := filepath.Join(dir, "20260131T110000.123Z-1.jsonl")
		must(t, os.WriteFile(path, log, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, headsFile), heads, 0o600))
		s, err := Verify(t.Context(), dir)
		records := uint64(0)
		for _, err := range Records(t.Context(), dir, Filter{Files: []string{path}}) {
			if err == nil {
				records++
			}
		}
		if len(heads) == 0 && err == nil && s.Chains[0].Records > records {
			t.Errorf("%d records are proved, %d are read", s.Chains[0].Records, records)
		}
		if err == nil { // what proves itself can be continued and still does
			l, err := Open(dir, Options{File: path, Now: func() time.Time { return noon }})
			must(t, err)
			record(t, l, "next")
			must(t, l.Close())
			verified(t, dir)
		}
	})
}
