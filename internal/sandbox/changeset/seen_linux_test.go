package changeset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What Read tells is what two pictures of the tree tell, and what Apply makes is what the
// command saw.
func TestOverlayAppliesWhatWasSeen(t *testing.T) {
	newWorld(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		w := newWorldIn(t, room, plain)
		defer os.RemoveAll(w.top)
		must(t, os.Chmod(w.lower+"/f", 0o755|os.ModeSticky)) // it may keep that, and lose it
		before := tree(t, w.lower)
		var seen map[string]string
		w.command(t, func(merged string) {
			for range rapid.IntRange(1, 30).Draw(r, "steps") {
				step(r, merged)
			}
			seen = tree(t, merged)
		})
		s := w.read(t)
		if got, want := slices.Sorted(slices.Values(list(s))), pictured(before, seen); !slices.Equal(got, want) {
			r.Fatalf("the list is %q, want %q", got, want)
		}
		same(t, "the workspace that was only read", tree(t, w.lower), before)
		must(t, w.apply(s))
		same(t, "the workspace", tree(t, w.lower), seen)
		must(t, w.apply(s)) // again, and nothing is left
		same(t, "the workspace", tree(t, w.lower), seen)
	})
}

// step does something that may or may not be possible.
func step(r *rapid.T, dir string) {
	name := rapid.SampledFrom([]string{"a", "b", "d", "e", "f", "g", "h"})
	draw := func(label string) string {
		parts := rapid.SliceOfN(name, 1, 3).Draw(r, label)
		return filepath.Join(dir, filepath.Join(parts...))
	}
	at := draw("path")
	switch rapid.IntRange(0, 8).Draw(r, "step") {
	case 0, 1:
		text := rapid.StringMatching(`[xyz]{0,3}`).Draw(r, "text")
		os.WriteFile(at, []byte(text), 0o644)
	case 2:
		os.Mkdir(at, 0o755)
	case 3:
		os.RemoveAll(at)
	case 4:
		os.Rename(at, draw("to"))
	case 5:
		mode := rapid.SampledFrom([]os.FileMode{0o600, 0o640, 0o644, 0o700, 0o755, 0o777 | os.ModeSticky})
		bits := mode.Draw(r, "mode")
		if info, err := os.Lstat(at); err == nil && (bits&os.ModeSticky == 0 || info.IsDir() && info.Mode()&os.ModeSticky != 0) {
			os.Chmod(at, bits)
		}
	case 6:
		os.Truncate(at, 2)
	case 7:
		os.RemoveAll(at)
		os.Mkdir(at, 0o755)
	case 8:
		if os.RemoveAll(at) == nil {
			os.WriteFile(at, []byte("in its place"), 0o600)
		}
	}
}

// pictured lists the changes between two pictures.
func pictured(before, after map[string]string) []string {
	var lines []string
	for path, was := range before {
		is, there := after[path]
		switch {
		case !there:
			lines = append(lines, "D "+path)
		case is == was:
		case (is[0] == 'd') != (was[0] == 'd'):
			lines = append(lines, "T "+path)
		default:
			lines = append(lines, "M "+path)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			lines = append(lines, "A "+path)
		}
	}
	slices.Sort(lines)
	return lines
}
