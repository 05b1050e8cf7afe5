package changeset

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Where overlayfs notes what it does not on a mount of ours, nothing is guessed.
func TestOverlayForeignNotes(t *testing.T) {
	prefix := os.Getenv(roomVariable) + ".overlay."
	for _, name := range []string{"redirect", "metacopy", "nlink", "new"} {
		w := newWorld(t, plain)
		w.shell(t, "echo n >d/n; echo n >n")
		must(t, unix.Setxattr(w.upper+"/d", prefix+name, []byte("y"), 0))
		if _, err := Read(t.Context(), w.layers(t), 0); err == nil {
			t.Errorf("%s is passed over", name)
		}
	}
	w := newWorld(t, plain)
	w.shell(t, "echo n >d/n")
	must(t, unix.Setxattr(w.upper+"/d", prefix+"opaque", []byte("maybe"), 0))
	if _, err := Read(t.Context(), w.layers(t), 0); err == nil {
		t.Error("an opaque directory of another kind is passed over")
	}
}

// What a command notes itself, in the names of overlayfs, says nothing.
func TestOverlayForgedNotes(t *testing.T) {
	w := newWorld(t, plain)
	var refused error
	w.command(t, func(merged string) {
		put(t, merged+"/n", "")
		put(t, merged+"/d/n", "")
		for _, name := range []string{"user.overlay.whiteout", "user.overlay.opaque", "user.overlay.redirect"} {
			refused = unix.Setxattr(merged+"/n", name, []byte("y"), 0)
			if refused == nil {
				refused = unix.Setxattr(merged+"/d", name, []byte("y"), 0)
			}
		}
	})
	if refused != nil {
		t.Logf("it is refused: %v", refused)
	}
	s := w.read(t)
	same(t, "the list", list(s), []string{"A d/n", "A n"})
	must(t, w.apply(s))
}

func TestOverlayWhiteoutsByAttribute(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "echo n >d/n")
	prefix := os.Getenv(roomVariable) + ".overlay."
	must(t, unix.Setxattr(w.upper+"/d", prefix+"opaque", []byte("x"), 0))
	put(t, w.upper+"/d/a", "")
	must(t, unix.Setxattr(w.upper+"/d/a", prefix+"whiteout", []byte("y"), 0))
	s := w.read(t)
	same(t, "the list", list(s), []string{"D d/a", "A d/n"})
}
