package landlock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A folder that looks as it did is not looked into; whatever becomes of a name in it, it
// looks different.
func TestAFolderTellsOfItsNames(t *testing.T) {
	for what, change := range map[string]func(dir string) error{
		"replaced": func(dir string) error { return os.Rename(dir+"/other", dir+"/file") },
		"moved":    func(dir string) error { return os.Rename(dir+"/file", dir+"/elsewhere") },
		"removed":  func(dir string) error { return os.Remove(dir + "/file") },
		"made":     func(dir string) error { return os.WriteFile(dir+"/missing", nil, 0o600) },
		"folder replaced": func(dir string) error {
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Mkdir(dir, 0o700))
			return os.WriteFile(dir+"/file", nil, 0o600)
		},
		"folder gone": func(dir string) error { return os.Rename(dir, dir+".gone") },
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.WriteFile(dir+"/file", nil, 0o600))
			must(t, os.WriteFile(dir+"/other", nil, 0o600))
			r := built(t, Rules{Paths: []Rule{{Path: dir + "/file", Rights: Read}, {Path: dir + "/missing", Rights: Read, Optional: true}}}, abi(t))
			if len(r.made.folders) != 1 {
				t.Fatalf("%d folders", len(r.made.folders))
			}
			f := r.made.folders[0]
			f.seen.Store(look(t, dir))
			untilLater(t, dir, f.seen.Load().changed)
			if !f.current() {
				t.Fatal("it is not current before anything has changed")
			}
			f.seen.Store(look(t, dir))
			untilLater(t, filepath.Dir(dir), f.seen.Load().changed) // so that the clock of the file system has moved on
			must(t, change(dir))
			if f.current() {
				t.Error("it passes for what it was")
			}
		})
	}
}

func look(t *testing.T, dir string) *sight {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(dir, &st))
	return &sight{st.Dev, st.Ino, st.Ctim}
}

// untilLater changes a directory, and changes it back, until its time is after another.
func untilLater(t *testing.T, dir string, than unix.Timespec) {
	t.Helper()
	for then := time.Unix(than.Unix()); !time.Unix(look(t, dir).changed.Unix()).After(then); {
		must(t, os.Mkdir(dir+"/for a moment", 0o700))
		must(t, os.Remove(dir+"/for a moment"))
	}
}

// A change right after another one can have the same time: a folder that has just been
// changed is not taken at its looks.
func TestAFolderThatJustChangedIsLookedInto(t *testing.T) {
	dir := t.TempDir()
	r := built(t, Rules{Paths: []Rule{{Path: dir + "/missing", Rights: Read, Optional: true}}}, abi(t))
	if f := r.made.folders[0]; !f.current() || f.seen.Load() != nil {
		t.Error("it is taken at its looks")
	}
}
