package changeset

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is made belongs to whom it does in the copy, whoever owns the directory it lands in, and
// to root where root's files were shown as the command's.
func TestOverlayOwners(t *testing.T) {
	if os.Getenv(roomVariable) == user {
		t.Skip("there is only one owner")
	}
	for _, owned := range []bool{false, true} {
		w := newWorld(t, plain)
		must(t, os.Chown(w.lower+"/d", 1001, 1002))
		must(t, os.Chown(w.lower+"/d/a", 1003, 1004))
		w.shell(t, `echo n >>d/a; chmod 755 d; echo n >b; echo n >n; mkdir d/m; echo n >d/m/n; echo n >d/k
			chown 77:78 n d/m d/m/n; rm d/b; echo n >d/b; chown 77:1002 d/b`)
		l := w.layers(t)
		l.UID, l.GID, l.Owned = 77, 78, owned
		s, err := Read(t.Context(), l, 0)
		must(t, err)
		must(t, w.apply(s))
		made, group := "77 78", "77 1002"
		if owned {
			made, group = "0 0", "0 1002"
		}
		for name, want := range map[string]string{
			"d": "1001 1002", "d/a": "1003 1004", "d/b": group, "d/m": made, "d/m/n": made, "n": made, "d/k": "0 0", "b": "0 0",
		} {
			var st unix.Stat_t
			must(t, unix.Lstat(w.lower+"/"+name, &st))
			if got := fmt.Sprint(st.Uid, " ", st.Gid); got != want {
				t.Errorf("owned %v: %s belongs to %s, want %s", owned, name, got, want)
			}
		}
	}
}

// A directory whose files go to its group has new directories like it.
func TestOverlayInheritedGroup(t *testing.T) {
	w := newWorld(t, plain)
	must(t, os.Chmod(w.lower+"/d", 0o755|os.ModeSetgid))
	var seen map[string]string
	w.command(t, func(merged string) {
		must(t, os.MkdirAll(merged+"/d/m/n", 0o755))
		put(t, merged+"/d/m/n/x", "n")
		seen = tree(t, merged)
	})
	if !strings.HasPrefix(seen["d/m/n"], "dg") {
		t.Fatal("it is not inherited")
	}
	must(t, w.apply(w.read(t)))
	same(t, "the workspace", tree(t, w.lower), seen)
}

// A sticky directory that was there stays one, whatever else becomes of it.
func TestOverlayStickyDirectory(t *testing.T) {
	w := newWorld(t, plain)
	for _, name := range []string{"d", "e", "f"} {
		must(t, os.Chmod(w.lower+"/"+name, 0o755|os.ModeSticky))
	}
	w.shell(t, "echo n >d/n; chmod 1777 e; chmod 700 f")
	s := w.read(t)
	same(t, "the list", list(s), []string{"A d/n", "M e", "M f"})
	must(t, w.apply(s))
	is := tree(t, w.lower)
	same(t, "the rights", []string{is["d"], is["e"], is["f"]}, []string{"dtrwxr-xr-x", "dtrwxrwxrwx", "drwx------"})
}
