package confined

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// project is a workspace with a denied file, directory and pattern, and protected paths.
func project(t *testing.T) (world, durward.Grant) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"work/.env": secret, "work/keys/deep/k": secret, "work/a/b/x.pem": secret,
		"work/.git/hooks/pre-commit": harmless, "work/.git/config": harmless, "work/.git/HEAD": harmless,
		"work/docs/file": harmless, "work/docs/drafts/file": harmless,
	} {
		w.file(t, name, text)
	}
	g := w.grant()
	g.Files.Deny = []string{w.work + "/.env", w.work + "/keys", w.work + "/later"}
	g.Files.DenyGlobs = []string{w.work + "/**/*.pem"}
	g.Files.Protect = []string{w.work + "/.git/hooks", w.work + "/.git/config", w.work + "/.git/worktree", w.work + "/.vscode"}
	g.Files.Read = append(g.Files.Read, w.work+"/docs")
	g.Files.Write = append(g.Files.Write, w.work+"/docs/drafts")
	return w, g
}

func TestDenied(t *testing.T) {
	w, g := project(t)
	must(t, os.Symlink(".env", w.work+"/link"))
	must(t, os.Symlink("keys", w.work+"/linked-keys"))
	must(t, os.Link(w.work+"/.env", w.work+"/hard"))
	must(t, os.Link(w.work+"/a/b/x.pem", w.work+"/hard-pem"))
	w.file(t, "work/real", secret)
	must(t, os.Symlink("real", w.work+"/y.pem"))
	a, work, top := under(t, g), rootAt(t, w.work), rootAt(t, w.top)
	before := snapshot(t, w.top)
	for _, name := range []string{
		".env", "sub/../.env", "link", "hard", "keys/deep/k", "linked-keys/deep/k", "a/b/x.pem", "hard-pem", "y.pem", "real",
	} {
		for root, name := range map[*fsroot.Root]string{work: name, top: "work/" + name} {
			text, err := read(t.Context(), a, root, name)
			wantReason(t, "read "+name, err, durward.OutsideRoot)
			if text != "" {
				t.Errorf("read %s: %q", name, text)
			}
			err = write(t.Context(), a, root, name)
			wantReason(t, "write "+name, err, durward.OutsideRoot, durward.SymlinkTarget)
		}
	}
	for _, name := range []string{"keys/new", "keys/deep/new/new", "later", "later/new", "LATER/new", "new.pem", "new.pem/new"} {
		wantReason(t, "make "+name, write(t.Context(), a, work, name), durward.OutsideRoot)
	}
	for _, name := range []string{"keys", "keys/deep", "linked-keys"} {
		dir, err := a.OpenDir(t.Context(), work, name, fsroot.Rules{})
		wantReason(t, "list "+name, err, durward.OutsideRoot)
		if err == nil {
			dir.Close()
		}
	}
	unchanged(t, w.top, before)
	if e := durward.AsError(write(t.Context(), a, work, ".env")); e.Rule != "filesystem.deny" || e.Hint == "" {
		t.Errorf("the refusal names %q, %q", e.Rule, e.Hint)
	}
}

// V43: protected paths are read and not written, nor made where they are missing.
func TestProtected(t *testing.T) {
	w, g := project(t)
	must(t, os.Symlink(".git/hooks", w.work+"/link"))
	a, r := under(t, g), rootAt(t, w.work)
	before := snapshot(t, w.top)
	for _, name := range []string{
		".git/hooks/pre-commit", ".git/hooks/new", ".git/hooks/new/new", ".git/config", ".git/../.git/config", "link/new",
		".git/worktree", ".git/worktree/new", ".git/WorkTree/new", ".vscode", ".vscode/settings.json", ".VSCode/settings.json",
	} {
		wantReason(t, "write "+name, write(t.Context(), a, r, name), durward.FilePermission)
	}
	unchanged(t, w.top, before)
	if text, err := read(t.Context(), a, r, ".git/config"); text != harmless {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{".git/HEAD", ".git/new", ".vscode2/new"} {
		must(t, write(t.Context(), a, r, name))
	}
}

// A file that stands where a protected path needs a directory could say that it is elsewhere.
func TestNoFileInTheWayOfAProtectedPath(t *testing.T) {
	w := newWorld(t)
	g := w.grant()
	g.Files.Protect = []string{w.work + "/.git/hooks", w.work + "/.git/info/attributes"}
	a, r := under(t, g), rootAt(t, w.work)
	before := snapshot(t, w.top)
	for _, name := range []string{".git", ".GIT", "sub/../.git", ".git/info"} {
		wantReason(t, "write "+name, write(t.Context(), a, r, name), durward.FilePermission)
		unchanged(t, w.top, before)
	}
	must(t, write(t.Context(), a, r, ".git/info/exclude"))
}

// The directories around a denied or protected path may be moved and replaced: what was
// there is still known, and what is there now is, too.
func TestMovedAndReplaced(t *testing.T) {
	w, g := project(t)
	a, r := under(t, g), rootAt(t, w.work)
	must(t, write(t.Context(), a, r, "file")) // the policy's first use
	for _, name := range []string{".git", "keys"} {
		must(t, os.Rename(filepath.Join(w.work, name), filepath.Join(w.work, "moved"+name)))
	}
	must(t, os.Rename(w.work+"/.env", w.work+"/env"))
	w.file(t, "work/.git/hooks/file", harmless)
	w.file(t, "work/keys/k", secret)
	must(t, os.Rename(w.work+"/sub", w.work+"/sub2"))
	before := snapshot(t, w.top)
	for _, name := range []string{"moved.git/hooks/pre-commit", "moved.git/hooks/new", "moved.git/config", ".git/hooks/file", ".git/hooks/new", ".git/config"} {
		wantReason(t, "write "+name, write(t.Context(), a, r, name), durward.FilePermission)
	}
	for _, name := range []string{"movedkeys/deep/k", "env", "keys/k"} {
		_, err := read(t.Context(), a, r, name)
		wantReason(t, "read "+name, err, durward.OutsideRoot)
		wantReason(t, "write "+name, write(t.Context(), a, r, name), durward.OutsideRoot)
	}
	unchanged(t, w.top, before)
	must(t, write(t.Context(), a, r, "sub2/file"))
}

// A missing path is judged again once it is there, as is what a symlink there leads to.
func TestAppeared(t *testing.T) {
	w, g := project(t)
	a, r := under(t, g), rootAt(t, w.work)
	must(t, write(t.Context(), a, r, "file"))
	w.file(t, "work/later", secret)
	w.file(t, "work/settings/file", harmless)
	must(t, os.Symlink("settings", w.work+"/.vscode"))
	w.file(t, "work/sub/z.pem", secret)
	for _, name := range []string{"later", "sub/z.pem"} {
		text, err := read(t.Context(), a, r, name)
		wantReason(t, "read "+name, err, durward.OutsideRoot)
		if text != "" {
			t.Errorf("%s: %q", name, text)
		}
	}
	before := snapshot(t, w.top)
	for _, name := range []string{".vscode/new", "settings/new", "settings/file"} {
		wantReason(t, "write "+name, write(t.Context(), a, r, name), durward.FilePermission)
	}
	unchanged(t, w.top, before)
}

// What came to stand at a path after it was looked at is known by the path.
func TestReplacedAfterTheLook(t *testing.T) {
	w, g := project(t)
	terms, _, err := termsOf(g)
	must(t, err)
	now, err := terms.note()
	must(t, err)
	for _, name := range []string{".env", ".git/config", "docs/drafts", "docs"} {
		must(t, os.Rename(filepath.Join(w.work, name), filepath.Join(w.top, filepath.Base(name))))
	}
	for _, name := range []string{"work/.env", "work/.git/config", "work/docs/file"} {
		w.file(t, name, secret)
	}
	r := rootAt(t, w.work)
	j := judge{to: reading, terms: terms, noted: [2]*noted{now, now}}
	_, err = r.OpenFile(".env", fsroot.Rules{Admit: j.admit})
	wantReason(t, "read .env", err, durward.OutsideRoot)
	j.to = writing
	before := snapshot(t, w.top)
	for name, want := range map[string]durward.Reason{
		".env": durward.OutsideRoot, ".git/config": durward.FilePermission, "docs/file": durward.FilePermission, "docs/new/new": durward.FilePermission,
	} {
		o := replacing
		o.Admit = j.admit
		_, err := r.WriteFile(t.Context(), name, strings.NewReader("written"), o)
		wantReason(t, "write "+name, err, want)
	}
	unchanged(t, w.top, before)
}

// Between read and write the most specific path wins.
func TestMostSpecific(t *testing.T) {
	w, g := project(t)
	a, r := under(t, g), rootAt(t, w.work)
	before := snapshot(t, w.top)
	for _, name := range []string{"docs/file", "docs/new", "docs/new/new"} {
		wantReason(t, "write "+name, write(t.Context(), a, r, name), durward.FilePermission)
	}
	unchanged(t, w.top, before)
	for _, name := range []string{"docs/drafts/file", "docs/drafts/new/new", "sub/new"} {
		must(t, write(t.Context(), a, r, name))
	}
	g.Files.Write = append(g.Files.Write, w.work+"/docs") // named in both
	must(t, write(t.Context(), under(t, g), r, "docs/file"))
}

// What is denied or protected as a whole is not given to begin with.
func TestTakenAsAWhole(t *testing.T) {
	w := newWorld(t)
	g := w.grant()
	g.Files.Deny, g.Files.Protect = []string{w.readable}, []string{w.top}
	a := under(t, g)
	before := snapshot(t, w.top)
	_, err := read(t.Context(), a, rootAt(t, w.readable), "file")
	wantReason(t, "read", err, durward.OutsideRoot)
	wantReason(t, "write", write(t.Context(), a, rootAt(t, w.work), "new"), durward.FilePermission)
	unchanged(t, w.top, before)
	g.Files.Deny = []string{"/"}
	_, err = read(t.Context(), under(t, g), rootAt(t, w.work), "file")
	wantReason(t, "read", err, durward.OutsideRoot)
}

// A pattern whose matches cannot be told refuses the operation.
func TestAPatternThatCannotBeHeld(t *testing.T) {
	w := newWorld(t)
	g := w.grant()
	g.Files.DenyGlobs = []string{w.work + "/sub/*"}
	a, r := under(t, g), rootAt(t, w.work)
	must(t, os.Rename(w.work+"/sub", w.work+"/sub2"))
	must(t, os.Symlink("sub2", w.work+"/sub"))
	_, err := read(t.Context(), a, r, "file")
	wantReason(t, "read", err, durward.SandboxError)
}

// A denied directory is known where it is bound to another place.
func TestABoundDirectory(t *testing.T) {
	w, _ := project(t)
	must(t, os.Mkdir(w.work+"/bound", 0o755))
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	err := again(t, "bound", w.work, attr)
	if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 {
		return // who cannot mount has no such attack
	}
	must(t, err)
}

// withBoundDirectory is the part of a process that has mounts of its own.
func withBoundDirectory(work string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(work+"/keys", work+"/bound", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	k := New()
	defer k.Close()
	a, err := k.Under(durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{Write: []string{work}, Deny: []string{work + "/keys"}}})
	if err != nil {
		return err
	}
	r, err := fsroot.Open(work)
	if err != nil {
		return err
	}
	defer r.Close()
	if f, err := a.OpenFile(context.Background(), r, "bound/deep/k", fsroot.Rules{}); durward.ReasonOf(err) != durward.OutsideRoot {
		return errors.Join(errors.New("it is read"), err, f.Close())
	}
	if err := a.WriteFile(context.Background(), r, "bound/new", []byte("x"), replacing); durward.ReasonOf(err) != durward.OutsideRoot {
		return errors.Join(errors.New("it is written"), err)
	}
	f, err := a.OpenFile(context.Background(), r, "file", fsroot.Rules{})
	if err != nil {
		return err
	}
	return f.Close()
}
