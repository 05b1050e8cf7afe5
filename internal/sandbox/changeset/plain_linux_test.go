package changeset

import (
	"os"
	"testing"
)

// Somebody without rights over all files makes what the command could make as its owner. The
// upper directory is written as overlayfs would.
func TestWithoutRightsOverAllFiles(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root has them")
	}
	w := newWorldIn(t, t.TempDir(), map[string]string{"shut/a": "one", "open/a": "two", "gone/in/a": "three"})
	must(t, os.Chmod(w.lower+"/shut", 0o555))
	must(t, os.Chmod(w.lower+"/gone/in", 0o555))
	t.Cleanup(func() { os.Chmod(w.lower+"/shut", 0o755) })

	put(t, w.upper+"/shut/new", "in what was shut")
	put(t, w.upper+"/open/new", "in what is shut")
	must(t, os.Chmod(w.upper+"/open", 0o555))
	put(t, w.upper+"/made/in/new", "in what is new")
	must(t, os.Chmod(w.upper+"/made/in", 0o555))
	put(t, w.upper+"/gone", "instead")
	t.Cleanup(func() {
		for _, dir := range []string{w.upper + "/open", w.upper + "/made/in", w.lower + "/open", w.lower + "/made/in"} {
			os.Chmod(dir, 0o755)
		}
	})
	layers := w.layers(t)
	layers.UserAttributes = true
	s, err := Read(t.Context(), layers, 0)
	must(t, err)
	same(t, "the list", list(s), []string{
		"T gone", "D gone/in", "D gone/in/a", "A made", "A made/in", "A made/in/new", "M open", "A open/new", "M shut", "A shut/new",
	})
	must(t, w.apply(s))
	got := tree(t, w.lower)
	for name, want := range map[string]string{
		"gone": "-rw-r--r--", "made/in": "dr-xr-xr-x", "made/in/new": "-rw-r--r--", "open": "dr-xr-xr-x", "open/new": "-rw-r--r--", "shut": "drwxr-xr-x", "shut/new": "-rw-r--r--",
	} {
		if len(got[name]) < 10 || got[name][:10] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	if len(got) != 10 {
		t.Errorf("the workspace is %v", got)
	}
}

// What belongs to others and may only be read is refused before anything is done.
func TestWithoutTheRightToWrite(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root has it")
	}
	w := newWorldIn(t, t.TempDir(), map[string]string{"shut/a": "one", "b": "two"})
	put(t, w.upper+"/b", "changed")
	put(t, w.upper+"/shut/a", "changed")
	must(t, os.Chmod(w.lower+"/shut", 0o555))
	must(t, os.Chmod(w.upper+"/shut", 0o555))
	t.Cleanup(func() { os.Chmod(w.lower+"/shut", 0o755); os.Chmod(w.upper+"/shut", 0o755) })
	layers := w.layers(t)
	layers.UserAttributes = true
	s, err := Read(t.Context(), layers, 0)
	must(t, err)
	before := tree(t, w.lower)
	reason(t, w.apply(s), "permission")
	same(t, "the workspace", tree(t, w.lower), before)
}

// What cannot be given to another user stays ours, and opens to nobody who could not read it
// all the same.
func TestWithoutTheRightToGive(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root has it")
	}
	for bits, want := range map[uint32]os.FileMode{0o640: 0o600, 0o604: 0o600, 0o644: 0o644, 0o755: 0o755, 0o666: 0o666, 0o271: 0o200} {
		f, err := os.Create(t.TempDir() + "/n")
		must(t, err)
		must(t, Layers{}.own(f, &change{is: node{form: File, bits: bits}}))
		info, err := f.Stat()
		must(t, err)
		if info.Mode() != want {
			t.Errorf("of %o it has %o, want %o", bits, info.Mode(), want)
		}
		must(t, f.Close())
	}
}
