package changeset

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Whatever applying were led to, it makes, replaces, deletes and reads nothing but what is in
// the workspaces.
func TestOverlayHeldToTheWorkspaces(t *testing.T) {
	w, second, other := newWorld(t, plain), newWorld(t, plain), newWorld(t, plain)
	w.shell(t, busy)
	sets, before, tried := []*Set{w.read(t), second.read(t)}, tree(t, other.lower), 0
	files := durward.Files{Write: []string{w.lower, second.lower, other.lower}}
	ctx := acting(t, func() bool {
		tried++
		for what, err := range map[string]error{
			"make":    os.WriteFile(other.lower+"/n", nil, 0o600),
			"replace": os.Rename(other.lower+"/a", other.lower+"/b"),
			"move in": os.Rename(other.lower+"/a", w.lower+"/in"),
			"link in": os.Link(other.lower+"/a", w.lower+"/in"),
			"delete":  os.Remove(other.lower + "/a"),
			"read":    readAny(other.lower + "/a"),
			"write":   os.WriteFile(other.lower+"/a", nil, 0o600),
		} {
			if !errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.EXDEV) {
				t.Errorf("%s elsewhere: %v", what, err)
			}
		}
		if err := readAny(second.lower + "/a"); err != nil {
			t.Errorf("read in the other workspace: %v", err)
		}
		return false
	})
	must(t, Apply(ctx, files, anywhere, sets...))
	if tried == 0 {
		t.Error("nothing was tried")
	}
	same(t, "what is elsewhere", tree(t, other.lower), before)
	must(t, readAny(other.lower+"/a"))
}

func readAny(name string) error {
	_, err := os.ReadFile(name)
	return err
}

// unheldVariable has the test binary apply what is in a world where there is no Landlock.
const unheldVariable = "CHANGESET_UNHELD"

// Where the kernel cannot hold a thread, nothing is applied.
func TestOverlayWithoutLandlock(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, busy)
	before := tree(t, w.lower)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), unheldVariable+"="+w.top, "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same(t, "the workspace", tree(t, w.lower), before)
	must(t, w.apply(w.read(t)))
}

// withoutLandlock is the part of a process whose kernel has none.
func withoutLandlock(top string) error {
	if err := hideLandlock(); err != nil {
		return err
	}
	l := Layers{Path: top + "/lower", UserAttributes: os.Getenv(roomVariable) == user}
	var errs [2]error
	l.Lower, errs[0] = os.Open(l.Path)
	l.Upper, errs[1] = os.Open(top + "/upper")
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	s, err := Read(context.Background(), l, 0)
	if err != nil {
		return err
	}
	err = Apply(context.Background(), durward.Files{Write: []string{l.Path}}, anywhere, s)
	if e := durward.AsError(err); durward.ReasonOf(err) != durward.SandboxUnavailable || e.Hint == "" {
		return errors.Join(errors.New("it was applied, or refused for another reason"), err)
	}
	return nil
}

// hideLandlock makes its first call answer ENOSYS in every thread of this process.
func hideLandlock() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// A file system is judged by what it is, not by what is around it: one that nobody knows
// counts as one on a network.
func TestOverlayOnAnUnknownFileSystem(t *testing.T) {
	w := newWorld(t, nil)
	if err := unix.Mount("unknown", w.lower, "hugetlbfs", 0, "mode=0755"); err != nil {
		t.Skip("no file system can be had that is not in the table:", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(w.lower, 0)) })
	must(t, os.Mkdir(w.upper+"/n", 0o755))
	s, before := w.read(t), tree(t, w.lower)
	err := Apply(t.Context(), w.files(), fsroot.Rules{}, s)
	reason(t, err, durward.NetworkFS)
	if e := durward.AsError(err); e.Hint == "" || e.Rule != "filesystem.write" {
		t.Errorf("%+v", e)
	}
	same(t, "the workspace", tree(t, w.lower), before)
	must(t, Apply(t.Context(), w.files(), anywhere, s))
	same(t, "the workspace", tree(t, w.lower), map[string]string{"n": "drwxr-xr-x"})
}

// On a disk of this machine the strict rules are met.
func TestOverlayOnALocalFileSystem(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "echo n >n")
	must(t, Apply(t.Context(), w.files(), fsroot.Rules{StrictVirtual: true}, w.read(t)))
	must(t, readAny(w.lower+"/n"))
}
