package changeset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// staged gives the new directories that lie beside their place.
func staged(t *testing.T, lower string) []string {
	t.Helper()
	var dirs []string
	names, err := filepath.Glob(lower + "/.durward-*")
	must(t, err)
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// swapping gives a context that, at a look at which a new directory lies beside its place,
// puts another one in its stead. swapped has the name that this one has then.
func swapping(t *testing.T, lower, other string, look int) (ctx context.Context, swapped *string) {
	t.Helper()
	swapped = new(string)
	return acting(t, func() bool {
		if dirs := staged(t, lower); *swapped == "" && len(dirs) > 0 {
			if look--; look < 0 {
				*swapped = dirs[0]
				must(t, unix.Renameat2(unix.AT_FDCWD, dirs[0], unix.AT_FDCWD, other, unix.RENAME_EXCHANGE))
			}
		}
		return false
	}), swapped
}

// Whenever somebody puts a directory of others in the place of a new one, nothing is made in
// it, it is given to nobody, and what it holds stays, also where it has the names of what is
// new. It is named as what remains.
func TestOverlaySwappedWhileStaged(t *testing.T) {
	for name, holds := range map[string][]string{
		"a secret": {"secret"}, "names of what is new": {"b", "c", "m/a", "keep"}, "nothing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			look := 0
			for ; swappedAt(t, look, holds); look++ {
			}
			if look < 5 {
				t.Errorf("it was swapped at %d places only", look)
			}
		})
	}
}

// swappedAt reports whether there was something to swap at this look.
func swappedAt(t *testing.T, look int, holds []string) bool {
	t.Helper()
	w := newWorld(t, plain)
	vault := w.lower + "/vault"
	must(t, os.Mkdir(vault, 0o700))
	for _, name := range holds {
		put(t, vault+"/"+name, "theirs\n")
	}
	w.shell(t, "mkdir -p n/m; chmod 777 n; for f in a b c m/a m/b; do echo planted >n/$f; done")
	s, before, owner := w.read(t), tree(t, vault), standingOf(t, vault)
	ctx, swapped := swapping(t, w.lower, vault, look)
	err := Apply(ctx, w.files(), anywhere, s)
	if *swapped == "" {
		must(t, err)
		return false
	}
	reason(t, err, durward.PartlyApplied)
	same(t, "what remains", durward.AsError(err).Err.(*Partial).Remains, []string{*swapped})
	same(t, "what was swapped in", tree(t, *swapped), before)
	same(t, "its owner and its rights", standingOf(t, *swapped), owner)
	if !strings.Contains(err.Error(), errChanged.Error()) {
		t.Errorf("the cause is not told: %v", err)
	}
	if _, err := os.Lstat(w.lower + "/n"); !os.IsNotExist(err) {
		t.Errorf("it was given its name: %v", err)
	}
	return true
}

// standingOf gives what a directory is, whatever it is called.
func standingOf(t *testing.T, dir string) [4]uint64 {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(dir, &st))
	return [4]uint64{st.Ino, uint64(st.Mode), uint64(st.Uid), uint64(st.Gid)}
}

// What is put in the place of what is new between the last look and the rename loses the
// name that it got.
func TestOverlaySwappedAtTheRename(t *testing.T) {
	for name, script := range map[string]string{"where nothing was": "mkdir n; echo planted >n/a", "in place of a file": "rm a; mkdir a; echo planted >a/a"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			put(t, w.lower+"/vault/secret", "theirs\n")
			was := tree(t, w.lower)
			w.shell(t, script)
			u := w.read(t).units()[0]
			must(t, u.stage(t.Context()))
			must(t, u.rename(t.Context()))
			must(t, unix.Renameat2(unix.AT_FDCWD, w.lower+"/"+u.name, unix.AT_FDCWD, w.lower+"/vault", unix.RENAME_EXCHANGE))
			dir := opened(t, w.lower)
			if err := u.confirm(dir); !errors.Is(err, errChanged) || u.placed {
				t.Errorf("it is taken for ours: %v", err)
			}
			if err := u.takeBack(); !errors.Is(err, errChanged) {
				t.Errorf("it is discarded: %v", err)
			}
			is := tree(t, w.lower)
			same(t, "the secret", is[u.temp+"/secret"], was["vault/secret"])
			same(t, "what stands at the name", is[u.name], was[u.name])
		})
	}
}

// What stands where a directory was just made is not always that.
func TestNewDirectoryIsOurs(t *testing.T) {
	for name, test := range map[string]struct {
		change func(dir string)
		want   error
	}{
		"new":          {func(string) {}, nil},
		"other rights": {func(dir string) { must(t, os.Chmod(dir, 0o755)) }, errChanged},
		"not empty":    {func(dir string) { put(t, dir+"/a", "") }, errChanged},
		"old":          {func(dir string) { must(t, os.Chtimes(dir, time.Unix(1, 0), time.Unix(1, 0))) }, errChanged},
	} {
		top := t.TempDir()
		since := birthHere(opened(t, top))
		must(t, os.Mkdir(top+"/n", 0o700))
		test.change(top + "/n")
		if err := judgedNew(t, top+"/n", since); err != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An older one is told from it that has been given new times, and so is one in the same second.
func TestNewDirectoryIsNoOlderOne(t *testing.T) {
	top := t.TempDir()
	must(t, os.Mkdir(top+"/older", 0o700))
	old := birth(opened(t, top+"/older"))
	if old == 0 {
		t.Skip("it is not known here when a file was made")
	}
	since := birthHere(opened(t, top))
	for since == old {
		since = birthHere(opened(t, top)) // clocks of file systems are slow
	}
	if since < old {
		t.Skip("there are no files without a name here")
	}
	must(t, os.Chtimes(top+"/older", time.Now(), time.Now()))
	must(t, judgedNew(t, top+"/older", 0))
	if err := judgedNew(t, top+"/older", since); err != errChanged {
		t.Errorf("it is taken for a new one: %v", err)
	}
	must(t, os.Mkdir(top+"/newer", 0o700))
	must(t, judgedNew(t, top+"/newer", since))
}

func judgedNew(t *testing.T, dir string, since int64) error {
	t.Helper()
	f, n, err := openDir(opened(t, dir), ".")
	must(t, err)
	defer f.Close()
	return isNew(f, n, since)
}
