//go:build linux && (amd64 || arm64)

package process

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// TestAppliedFilesHaveTheOwnersThatTheyWouldHave has the same done without a copy.
func TestAppliedFilesHaveTheOwnersThatTheyWouldHave(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("all files have one owner")
	}
	for _, test := range []struct {
		name  string
		owner int
		mode  uint32
		made  string // the owner of what is made at the top
	}{
		{"of its user", 1234, 0o755, "1234:1234"},
		{"of root", 0, 0o755, "0:0"},
		{"of root, for all", 0, 0o1777, "65533:65533"},
		{"of root, for all without a sticky bit", 0, 0o777, "65533:65533"},
	} {
		t.Run(test.name, func(t *testing.T) {
			direct := ownersAfter(t, test.owner, test.mode, false)
			copied := ownersAfter(t, test.owner, test.mode, true)
			if d := cmp.Diff(direct, copied); d != "" {
				t.Errorf("without a copy (-), with one (+):\n%s", d)
			}
			for _, name := range []string{"made", "dir", "dir/made"} {
				if !strings.HasPrefix(copied[name], test.made+" ") {
					t.Errorf("%s is %q, want the owner %s", name, copied[name], test.made)
				}
			}
		})
	}
}

// ownersAfter gives all that is in a workspace once a command was at it.
func ownersAfter(t *testing.T, owner int, mode uint32, copied bool) map[string]string {
	t.Helper()
	dir, g := copying(t)
	for _, sub := range []struct {
		name     string
		uid, gid int
		mode     uint32
	}{
		{".", owner, owner, mode},
		{"open", 0, 0, 0o1777},
		{"loose", 0, 0, 0o777},
		{"other", 1235, 1236, 0o777},
		{"group", 1235, 1236, 0o2777},
	} {
		at := filepath.Join(dir, sub.name)
		must(t, os.MkdirAll(at, 0o755))
		must(t, os.Chown(at, sub.uid, sub.gid))
		must(t, unix.Chmod(at, sub.mode))
		for name, bits := range map[string]os.FileMode{"old": 0o644, "all": 0o666, "secret": 0o600} {
			must(t, os.WriteFile(filepath.Join(at, name), []byte(name), 0o600))
			must(t, os.Chown(filepath.Join(at, name), 0, 0))
			must(t, os.Chmod(filepath.Join(at, name), bits))
		}
	}
	c := shell(`for d in . open loose other group; do
		echo n >$d/made; mkdir $d/dir; echo n >$d/dir/made
		rm -f $d/old && echo n >$d/old; echo n >>$d/all; mv $d/secret $d/moved
	done 2>/dev/null; :`)
	c.Dir, g.Files.CopyOnWrite = dir, copied
	r, err := newEngine(t, Options{}).run(t.Context(), c, g)
	if err != nil || copied != (r.Changes != nil) {
		t.Fatalf("%v, %q", err, r.Stderr.Bytes())
	}
	if copied {
		must(t, r.Changes.Apply(t.Context()))
		must(t, r.Discard())
	}
	return standing(t, dir)
}

// standing gives the owner, the rights and the content of all that is in a directory.
func standing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		var text []byte
		if err == nil && d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		name, _ := filepath.Rel(dir, path) // it lies in there
		all[name] = fmt.Sprintf("%d:%d %o %q", st.Uid, st.Gid, st.Mode, text)
		return err
	}))
	return all
}

// TestAppliedFilesAreNotRootsWhereOwnersCannotBeShown has a workspace of root's on a file
// system that shows owners as they are.
func TestAppliedFilesAreNotRootsWhereOwnersCannotBeShown(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("all files have one owner")
	}
	dir, g := copying(t)
	layers := t.TempDir()
	for _, name := range []string{"upper", "work"} {
		must(t, os.Mkdir(filepath.Join(layers, name), 0o755))
	}
	must(t, unix.Mount("overlay", dir, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", dir, layers, layers)))
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	must(t, os.Chown(dir, 0, 0))
	must(t, os.Chmod(dir, 0o755))
	c := shell("echo n >made")
	c.Dir = dir
	r, err := newEngine(t, Options{}).run(t.Context(), c, g)
	must(t, err)
	if list := r.Changes.List(); len(list) != 1 || list[0].Kind != "A" {
		t.Fatalf("%+v, %q", list, r.Stderr.Bytes())
	}
	must(t, r.Changes.Apply(t.Context()))
	must(t, r.Discard())
	if made := standing(t, dir)["made"]; !strings.HasPrefix(made, "65533:65533 ") {
		t.Errorf("it is %q", made)
	}
}

// TestRootsOwnCommandMakesRootsFiles keeps the identity.
func TestRootsOwnCommandMakesRootsFiles(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root's command can be root's")
	}
	dir, g := copying(t)
	must(t, os.Chmod(dir, 0o777))
	g.Identity = durward.Identity{Keep: true}
	c := shell("echo n >made")
	c.Dir = dir
	r, err := newEngine(t, Options{}).run(t.Context(), c, g)
	must(t, err)
	must(t, r.Changes.Apply(t.Context()))
	must(t, r.Discard())
	if made := standing(t, dir)["made"]; !strings.HasPrefix(made, "0:0 ") {
		t.Errorf("it is %q", made)
	}
}
