//go:build unix

package replace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/config/replace"
)

func stat(t *testing.T, file string) (mode os.FileMode, uid, gid uint32) {
	t.Helper()
	info, err := os.Lstat(file)
	must(t, err)
	st := info.Sys().(*syscall.Stat_t)
	return info.Mode(), st.Uid, st.Gid
}

func TestRightsAreKept(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o640, 0o644, 0o664, 0o755} {
		file := write(t, "one")
		must(t, os.Chmod(file, mode))
		owner := os.Geteuid()
		if owner == 0 {
			owner = 65533
			must(t, os.Chown(file, owner, 65532))
		}
		_, uid, gid := stat(t, file)
		must(t, os.WriteFile(file+".bak", nil, 0o666))
		must(t, replace.File(file, []byte("one"), []byte("two")))
		for _, one := range []string{file, file + ".bak"} {
			if m, u, g := stat(t, one); m != mode || u != uid || g != gid {
				t.Errorf("%s: %v %d:%d, want %v %d:%d", one, m, u, g, mode, uid, gid)
			}
		}
	}
}

// A link stays a link, wherever it leads; one in the place of the backup is not written
// through.
func TestLinksStay(t *testing.T) {
	file, dir := write(t, "one"), t.TempDir()
	link, other := filepath.Join(dir, "link"), filepath.Join(dir, "other")
	must(t, os.Symlink(file, link), os.WriteFile(other, []byte("mine"), 0o600), os.Symlink(other, file+".bak"))
	must(t, replace.File(link, []byte("one"), []byte("two")))
	if mode, _, _ := stat(t, link); mode&os.ModeSymlink == 0 {
		t.Error("the link is replaced")
	}
	for name, want := range map[string]string{file: "two", file + ".bak": "one", other: "mine"} {
		if got := read(t, name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if got := names(t, dir); got != "link other" {
		t.Error(got)
	}
}

func TestOtherNamesWouldKeepTheFormerText(t *testing.T) {
	file := write(t, "one")
	must(t, os.Link(file, file+".2"))
	if err := replace.File(file, []byte("one"), []byte("two")); err == nil || read(t, file) != "one" {
		t.Errorf("%v, and it holds %q", err, read(t, file))
	}
}

// A FIFO is refused without waiting for who writes to it.
func TestFIFO(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(file, 0o600))
	if err := replace.File(file, nil, []byte("x")); err == nil {
		t.Error("it was replaced")
	}
}

// Where nothing can be written the file stays as it is.
func TestFolderThatCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	file := write(t, "one")
	dir := filepath.Dir(file)
	must(t, os.Chmod(dir, 0o500))
	defer os.Chmod(dir, 0o700)
	if err := replace.File(file, []byte("one"), []byte("two")); err == nil || read(t, file) != "one" {
		t.Errorf("%v, and it holds %q", err, read(t, file))
	}
}

// What this user may not write to is not replaced, though its folder would allow it.
func TestFileThatMayNotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	file := write(t, "one")
	must(t, os.Chmod(file, 0o400))
	if err := replace.File(file, []byte("one"), []byte("two")); err == nil || read(t, file) != "one" {
		t.Errorf("%v, and it holds %q", err, read(t, file))
	}
}
