package denyglob

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// nobody is whom root's tests are run as.
const nobody = 65534

// A person is whom something is done as.
type person func(t *testing.T, do func())

// unprivileged is somebody who is not root.
func unprivileged(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	onThread(t, func() error {
		return errors.Join(raw(unix.SYS_SETGROUPS, 0, 0, 0), raw(unix.SYS_SETRESGID, nobody, nobody, nobody), raw(unix.SYS_SETRESUID, nobody, nobody, nobody))
	}, do)
}

// powerless is root, if we are, without capabilities.
func powerless(t *testing.T, do func()) {
	t.Helper()
	onThread(t, func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		return unix.Capset(&header, &none[0])
	}, do)
}

// onThread does something on a thread that changed itself before.
func onThread(t *testing.T, change func() error, do func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends
		err := change()
		if err == nil {
			do()
		}
		done <- err
	}()
	must(t, <-done)
}

// raw makes a call for this thread alone.
func raw(number, a, b, c uintptr) error {
	if _, _, errno := unix.RawSyscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// A lock sets the mode of a directory of a tree.
type lock struct {
	dir  string
	mode os.FileMode
}

// locked makes a tree of somebody who is not root, or of root, and locks some of it.
func locked(t *testing.T, owner int, locks ...lock) string {
	t.Helper()
	root := temp(t)
	plant(t, root, "open/.env", "d/.env", "d/sub/.env", "d/sub/b/c")
	for dir := root; dir != "/" && os.Geteuid() == 0; dir = filepath.Dir(dir) {
		if dir != "/tmp" {
			must(t, os.Chmod(dir, 0o755)) // let others in
		}
	}
	if os.Geteuid() == 0 {
		must(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, owner, owner))
		}))
	}
	for _, l := range locks {
		must(t, os.Chmod(filepath.Join(root, l.dir), l.mode))
		t.Cleanup(func() { must(t, os.Chmod(filepath.Join(root, l.dir), 0o755)) })
	}
	return root
}

// A barrier is a tree, what is looked for in it, and what is found, or else the
// directory that the refusal names.
type barrier struct {
	name    string
	locks   []lock
	pattern string
	want    []string
	refused string
}

func (b barrier) check(t *testing.T, root string, as person) {
	t.Helper()
	var paths []string
	var err error
	as(t, func() { paths, err = Expand(t.Context(), []string{root + b.pattern}, []string{root}) })
	if b.refused != "" {
		refused(t, paths, err, root+b.refused, root+b.pattern, "permission denied")
		return
	}
	if diff := cmp.Diff(b.want, below(root, paths)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// What belongs to the user can be opened again by the command: it runs as the same one.
func TestOwnDirectoriesThatCannotBeRead(t *testing.T) {
	for _, b := range []barrier{
		{"closed", []lock{{"d", 0}}, "/**/.env", nil, "/d"},
		{"closed, one name in it", []lock{{"d", 0}}, "/d/[.]env", nil, "/d"},
		{"closed, one name in each", []lock{{"d", 0}}, "/*/.env", nil, "/d"},
		{"closed, on the way", []lock{{"d", 0}}, "/d/sub/*", nil, "/d"},
		{"closed, nothing beneath asked for", []lock{{"d", 0}}, "/open/*", []string{"/open/.env"}, ""},
		{"closed, and matched", []lock{{"d", 0}}, "/d*", []string{"/d"}, ""},
		{"closed, and matched with all in it", []lock{{"d", 0}}, "/d/**", []string{"/d"}, ""},
		{"to be passed", []lock{{"d", 0o100}}, "/**/.env", nil, "/d"},
		{"to be passed, one name in it", []lock{{"d", 0o300}}, "/*/.env", []string{"/d/.env", "/open/.env"}, ""},
		{"to be passed, on the way", []lock{{"d", 0o100}}, "/*/sub/*v", []string{"/d/sub/.env"}, ""},
		{"to be listed, names in it", []lock{{"d", 0o400}}, "/d/.e*", []string{"/d/.env"}, ""},
		{"to be listed, one name in it", []lock{{"d", 0o400}}, "/d/[.]env", nil, "/d"},
		{"to be listed, beneath", []lock{{"d", 0o400}}, "/d/*/.env", nil, "/d/sub"},
		{"closed, deeper", []lock{{"d/sub/b", 0}}, "/**/.env", nil, "/d/sub/b"},
	} {
		t.Run(b.name, func(t *testing.T) {
			root := locked(t, nobody, b.locks...)
			b.check(t, root, unprivileged)
		})
	}
}

// What others closed is closed to the command, too. What they left to be passed is not.
func TestDirectoriesOfOthersThatCannotBeRead(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make them: TestFilesOfAnotherProcess stands in
	}
	for _, b := range []barrier{
		{"closed", []lock{{"d", 0o700}}, "/**/.env", []string{"/open/.env"}, ""},
		{"closed, one name in it", []lock{{"d", 0o700}}, "/d/[.]env", nil, ""},
		{"closed, on the way", []lock{{"d", 0o700}}, "/d/sub/*", nil, ""},
		{"closed, and matched", []lock{{"d", 0o700}}, "/d*", []string{"/d"}, ""},
		{"to be passed", []lock{{"d", 0o711}}, "/**/.env", nil, "/d"},
		{"to be passed, names in it", []lock{{"d", 0o711}}, "/d/*", nil, "/d"},
		{"to be passed, one name in it", []lock{{"d", 0o711}}, "/*/.env", []string{"/d/.env", "/open/.env"}, ""},
		{"to be passed, on the way", []lock{{"d", 0o711}}, "/*/sub/*v", []string{"/d/sub/.env"}, ""},
		{"to be listed, names in it", []lock{{"d", 0o744}}, "/d/.e*", []string{"/d/.env"}, ""},
		{"to be listed, one name in it", []lock{{"d", 0o744}}, "/d/[.]env", nil, ""},
		{"to be listed, beneath", []lock{{"d", 0o744}}, "/**/.env", []string{"/d/.env", "/open/.env"}, ""},
	} {
		t.Run(b.name, func(t *testing.T) {
			root := locked(t, 0, b.locks...)
			b.check(t, root, unprivileged)
		})
	}
}

// A group may pass where nobody else can, and somebody who is not in it where it cannot.
func TestDirectoriesThatAGroupMayOrMayNotPassAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make them: TestFilesOfAnotherProcess stands in
	}
	for _, mode := range []os.FileMode{0o710, 0o705} {
		root := locked(t, 0, lock{"d", mode})
		must(t, os.Chown(root+"/d", 0, nobody))
		barrier{pattern: "/**/.env", refused: "/d"}.check(t, root, unprivileged)
	}
}

func TestFilesOfAnotherProcess(t *testing.T) {
	unprivileged(t, func() {
		_, err := os.ReadDir("/proc/1/fd")
		closed := errors.Is(err, unix.EACCES)
		paths, err := Expand(t.Context(), []string{"/proc/1/fd/*"}, []string{"/proc/1"})
		if closed != (paths == nil) || err != nil {
			t.Errorf("closed is %t: %q, %v", closed, paths, err)
		}
	})
}

// The command of root runs as somebody who may be the one who owns what is closed.
func TestWhatRootCannotReadIsRefused(t *testing.T) {
	for _, b := range []barrier{
		{"closed", []lock{{"d", 0}}, "/**/.env", nil, "/d"},
		{"closed, one name in it", []lock{{"d", 0}}, "/d/[.]env", nil, "/d"},
		{"to be listed, beneath", []lock{{"d", 0o444}}, "/d/*/.env", nil, "/d/sub"},
	} {
		t.Run(b.name, func(t *testing.T) {
			b.check(t, locked(t, nobody, b.locks...), powerless)
		})
	}
}

func TestNamesAreNoText(t *testing.T) {
	root := temp(t)
	plant(t, root, "\xff\xfe/.env", "d/\xff.key", "d/\xffx")
	for _, tt := range []struct {
		pattern string
		want    []string
	}{
		{"/**/.env", []string{"/\xff\xfe/.env"}},
		{"/d/*.key", []string{"/d/\xff.key"}},
		{"/d/?.key", []string{"/d/\xff.key"}},
		{"/d/\xff*", []string{"/d/\xff.key", "/d/\xffx"}},
		{"/\xff\xfe/*", []string{"/\xff\xfe/.env"}},
	} {
		got, err := Expand(t.Context(), []string{root + tt.pattern}, []string{root})
		if diff := cmp.Diff(tt.want, below(root, got)); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", tt.pattern, err, diff)
		}
	}
}

func TestMountPointsAreCrossed(t *testing.T) {
	root := memory(t)
	var dev, shm unix.Stat_t
	must(t, unix.Stat("/dev", &dev))
	must(t, unix.Stat(root, &shm))
	if dev.Dev == shm.Dev || filepath.Dir(root) != "/dev/shm" {
		t.Fatalf("%s is no mount in /dev", root)
	}
	plant(t, root, "d/.env")
	got, err := Expand(t.Context(), []string{"/dev/*/" + filepath.Base(root) + "/**/.env"}, []string{"/dev"})
	if diff := cmp.Diff([]string{root + "/d/.env"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
