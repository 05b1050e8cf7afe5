//go:build linux || darwin

package fsroot

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// Admit sees what was opened, whatever the name said, and what it refuses is not given.
func TestAdmitJudgesWhatWasOpened(t *testing.T) {
	eachOpener(t, func(t *testing.T, by opener) {
		tr := newTree(t)
		r := open(t, tr.root, by)
		var denied unix.Stat_t
		must(t, unix.Stat(tr.at("sub/b.txt"), &denied))
		rules := Rules{Admit: func(p Place) error {
			var st unix.Stat_t
			if err := unix.Fstat(p.FD, &st); err != nil || len(p.Names) > 0 {
				t.Errorf("a place to read: %v, %q", err, p.Names)
			}
			if st.Ino == denied.Ino {
				return &durward.Error{Reason: durward.OutsideRoot, Rule: "the rule", Hint: "the hint"}
			}
			return nil
		}}
		for _, name := range []string{"sub/b.txt", "in", "chain", "hard", "indir/b.txt"} {
			_, err := read(r, name, rules)
			wantReason(t, err, durward.OutsideRoot)
			if e := durward.AsError(err); e.Rule != "the rule" || e.Hint != "the hint" {
				t.Errorf("%s: the refusal names %q and %q", name, e.Rule, e.Hint)
			}
			if h, err := r.FindFile(name, rules); err == nil {
				h.Close()
				t.Errorf("%s is found", name)
			}
		}
		if text, err := read(r, "a.txt", rules); text != "hello" {
			t.Errorf("a.txt: %q, %v", text, err)
		}
	})
}

func TestAdmitJudgesDirectories(t *testing.T) {
	eachOpener(t, func(t *testing.T, by opener) {
		tr := newTree(t)
		r := open(t, tr.root, by)
		rules := Rules{Admit: func(Place) error { return refusal(durward.OutsideRoot) }}
		for _, opened := range []func(string, Rules) (*os.File, error){r.OpenDir, r.OpenPlainDir} {
			_, err := opened("sub", rules)
			wantReason(t, err, durward.OutsideRoot)
		}
	})
}

// What is to be written is judged before anything is made, by the names that are missing,
// and again before the file is there.
func TestAdmitJudgesWrites(t *testing.T) {
	eachOpener(t, func(t *testing.T, by opener) {
		tr := newTree(t)
		r := open(t, tr.root, by)
		before := snapshot(t, tr.top)
		var asked []string
		refuseAt := 1
		o := WriteOptions{CreateParents: true, Overwrite: true, Rules: Rules{Admit: func(p Place) error {
			asked = append(asked, strings.Join(p.Names, "/"))
			if len(asked) == refuseAt {
				return refusal(durward.OutsideRoot)
			}
			return nil
		}}}
		for _, want := range [][]string{{"new/er/f"}, {"new/er/f", "f"}} {
			asked, refuseAt = nil, len(want)
			_, err := r.WriteFile(t.Context(), "indir/new/er/f", strings.NewReader("x"), o)
			wantReason(t, err, durward.OutsideRoot)
			if !slices.Equal(asked, want) {
				t.Errorf("asked about %q, not %q", asked, want)
			}
			unchanged(t, tr.top, before)
		}
		refuseAt = 0
		if _, err := r.WriteFile(t.Context(), "sub/new/f", strings.NewReader("x"), o); err != nil {
			t.Error(err)
		}
	})
}
