package fsroot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/refusetest"
)

func TestClassOf(t *testing.T) {
	line := func(device, kind, options string) func() (mount, error) {
		return func() (mount, error) {
			m, ok := parseMount(fmt.Sprintf(`36 35 %s / /mnt/n\040f rw shared:1 master:2 - %s src %s`, device, kind, options))
			if !ok {
				return mount{}, errors.New("not a line of the mount table")
			}
			return m, nil
		}
	}
	unread := func() (mount, error) { return mount{}, os.ErrPermission }
	tests := []struct {
		name    string
		magic   uint32
		mounted func() (mount, error)
		want    filesystem
	}{
		{"ext4", unix.EXT4_SUPER_MAGIC, unread, local},
		{"xfs", unix.XFS_SUPER_MAGIC, unread, local},
		{"btrfs", unix.BTRFS_SUPER_MAGIC, unread, local},
		{"tmpfs", unix.TMPFS_MAGIC, unread, local},
		{"overlay", unix.OVERLAYFS_SUPER_MAGIC, unread, local},
		{"nfs", unix.NFS_SUPER_MAGIC, unread, network},
		{"cifs", unix.CIFS_SUPER_MAGIC, unread, network},
		{"smb2", unix.SMB2_SUPER_MAGIC, unread, network},
		{"smb", unix.SMB_SUPER_MAGIC, unread, network},
		{"afs", unix.AFS_FS_MAGIC, unread, network},
		{"openafs", unix.AFS_SUPER_MAGIC, unread, network},
		{"ceph", unix.CEPH_SUPER_MAGIC, unread, network},
		{"coda", unix.CODA_SUPER_MAGIC, unread, network},
		{"ncp", unix.NCP_SUPER_MAGIC, unread, network},
		{"ocfs2", unix.OCFS2_SUPER_MAGIC, unread, network},
		{"proc", unix.PROC_SUPER_MAGIC, unread, special},
		{"sysfs", unix.SYSFS_MAGIC, unread, special},
		{"devpts", unix.DEVPTS_SUPER_MAGIC, unread, special},
		{"securityfs", unix.SECURITYFS_MAGIC, unread, special},
		{"debugfs", unix.DEBUGFS_MAGIC, unread, special},
		{"tracefs", unix.TRACEFS_MAGIC, unread, special},
		{"cgroup", unix.CGROUP_SUPER_MAGIC, unread, special},
		{"cgroup2", unix.CGROUP2_SUPER_MAGIC, unread, special},
		{"autofs", unix.AUTOFS_SUPER_MAGIC, unread, unknown},
		{"never heard of", 0x12345678, unread, unknown},
		{"fuse", magicFUSE, line("0:50", "fuse", "rw"), network},
		{"sshfs", magicFUSE, line("0:50", "fuse.sshfs", "rw"), network},
		{"glusterfs", magicFUSE, line("0:50", "fuse.glusterfs", "rw"), network},
		{"a fuse that calls itself virtiofs", magicFUSE, line("0:50", "fuse.virtiofs", "rw"), network},
		{"virtiofs", magicFUSE, line("0:50", "virtiofs", "rw"), hostShare},
		{"fuseblk on a disk", magicFUSE, line("8:17", "fuseblk", "rw"), local},
		{"fuseblk on no disk", magicFUSE, line("0:50", "fuseblk", "rw"), network},
		{"fuseblk on a network disk", magicFUSE, line("43:0", "fuseblk", "rw"), network},
		{"9p from the host", magic9P, line("0:50", "9p", "rw,trans=virtio"), hostShare},
		{"9p from the host of WSL", magic9P, line("0:50", "9p", "rw,aname=drvfs,trans=fd,rfd=8"), hostShare},
		{"9p over a network", magic9P, line("0:50", "9p", "rw,trans=tcp,port=564"), network},
		{"fuse, and the table speaks of a disk", magicFUSE, line("8:17", "ext4", "rw"), network},
		{"9p over who knows what", magic9P, line("0:50", "9p", "rw"), network},
		{"fuse, table unreadable", magicFUSE, unread, unknown},
		{"9p, table unreadable", magic9P, unread, unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := classOf(tt.magic, tt.mounted); got != tt.want {
				t.Fatalf("class %d, want %d", got, tt.want)
			}
		})
	}
}

// Every type that the contract names is judged by its name alone.
func TestEveryTypeOfTheMountTable(t *testing.T) {
	const disk, none = "8:17", "0:50"
	for _, tt := range []struct {
		types   string
		device  string
		options string
		want    filesystem
	}{
		{"nfs nfs4 cifs smb3 smbfs smb2 afs ceph glusterfs lustre gpfs ocfs2 gfs2 coda ncpfs afpfs sshfs davfs davfs2", none, "rw", network},
		{"fuse fuse.sshfs fuse.glusterfs fuse.s3fs fuse.virtiofs fuseblk", none, "rw", network},
		{"fuseblk", "43:0", "rw", network},
		{"fuseblk", disk, "rw", local},
		{"fuse.ext4", disk, "rw", network},
		{"virtiofs", none, "rw", hostShare},
		{"9p", none, "rw,trans=virtio", hostShare},
		{"9p", none, "rw,trans=tcp,port=564", network},
		{"9p", none, "rw", network},
		{"ext4 xfs btrfs tmpfs overlay", disk, "rw", local},
	} {
		for fstype := range strings.FieldsSeq(tt.types) {
			m, ok := parseMount(fmt.Sprintf("36 35 %s / /mnt rw - %s src %s", tt.device, fstype, tt.options))
			if got := m.class(); !ok || got != tt.want {
				t.Errorf("%s on %s (%s) has class %d, want %d", fstype, tt.device, tt.options, got, tt.want)
			}
		}
	}
}

func TestMountsAreFoundByPath(t *testing.T) {
	const text = `1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:40 / /w/nfs rw - nfs4 far:/ rw
3 2 8:2 / /w/nfs/local rw - ext4 /dev/sdb1 rw
4 1 0:41 / /w/n\040f rw - cifs //far/f rw
5 1 0:42 / /w/over rw - nfs far:/ rw
6 5 8:3 / /w/over rw - xfs /dev/sdc1 rw
this is no mount
`
	m := MountsIn(text)
	for path, want := range map[string]string{
		"/": "ext4", "/w": "ext4", "/w/nfs": "nfs4", "/w/nfs/a": "nfs4", "/w/nfs-not/a": "ext4", "/w/nfs/local": "ext4",
		"/w/nfs/local/a": "ext4", "/w/n f/a": "cifs", "/w/over/a": "xfs",
	} {
		if got, err := m.at(path); got.fstype != want || err != nil {
			t.Errorf("%s is on %q, %v; want %q", path, got.fstype, err, want)
		}
	}
	for _, path := range []string{"", "(unreachable)/w/nfs", "w/nfs"} {
		if got, err := m.at(path); err == nil {
			t.Errorf("%q is on %q", path, got.fstype)
		}
	}
	if before, after := m.Version(), m.Version(); before != after {
		t.Error("a text changes")
	}
}

// What the kernel has nothing against is judged by the table as well.
func TestTheTableIsAsked(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	shut := &MountTable{}
	shut.Close()
	line := "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / " + dir + " rw - "
	for _, tt := range []struct {
		name  string
		rules Rules
		want  durward.Reason
	}{
		{"this machine's", Rules{Mounts: &MountTable{}}, ""},
		{"a network file system", Rules{Mounts: MountsIn(line + "nfs far:/ rw")}, durward.NetworkFS},
		{"one that is allowed", Rules{Mounts: MountsIn(line + "nfs far:/ rw"), AllowNetworkFS: true}, ""},
		{"a share of the host", Rules{Mounts: MountsIn(line + "virtiofs share rw")}, ""},
		{"a share that is not allowed", Rules{Mounts: MountsIn(line + "virtiofs share rw"), StrictVirtual: true}, durward.NetworkFS},
		{"an empty table", Rules{Mounts: MountsIn("")}, durward.NetworkFS},
		{"a table that cannot be read", Rules{Mounts: shut}, durward.NetworkFS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.rules.Mounts != nil {
				t.Cleanup(tt.rules.Mounts.Close)
			}
			eachOpener(t, func(t *testing.T, by opener) {
				r := open(t, dir, by)
				_, err := read(r, "a", tt.rules)
				if tt.want == "" {
					must(t, err)
					return
				}
				wantReason(t, err, tt.want)
				_, err = r.WriteFile(t.Context(), "b", strings.NewReader(""), WriteOptions{Rules: tt.rules})
				wantReason(t, err, tt.want)
			})
		})
	}
}

func TestVerdictOnAClass(t *testing.T) {
	tests := []struct {
		kind  filesystem
		rules Rules
		want  durward.Reason
	}{
		{local, Rules{}, ""},
		{local, Rules{StrictVirtual: true}, ""},
		{network, Rules{}, durward.NetworkFS},
		{network, Rules{AllowNetworkFS: true}, ""},
		{unknown, Rules{}, durward.NetworkFS},
		{unknown, Rules{AllowNetworkFS: true}, ""},
		{hostShare, Rules{}, ""},
		{hostShare, Rules{StrictVirtual: true}, durward.NetworkFS},
		{hostShare, Rules{StrictVirtual: true, AllowNetworkFS: true}, ""},
		{special, Rules{}, durward.SpecialFilesystem},
		{special, Rules{AllowNetworkFS: true}, durward.SpecialFilesystem},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %+v", tt.kind, tt.rules), func(t *testing.T) {
			err := judgeKind(tt.kind, tt.rules)
			if tt.want == "" {
				must(t, err)
				return
			}
			wantReason(t, fail("test", "x", err), tt.want)
		})
	}
}

func TestMagicNumbersAreUnique(t *testing.T) {
	seen := map[uint32]string{magicFUSE: "fuse", magic9P: "9p"}
	for _, row := range filesystems {
		if other := seen[row.magic]; other != "" {
			t.Errorf("%s and %s are both %#x", row.name, other, row.magic)
		}
		seen[row.magic] = row.name
	}
}

// TestMountOf finds the mount of a file by number and compares with what statfs says.
func TestMountOf(t *testing.T) {
	for path, want := range map[string]string{"/proc/version": "proc", "/sys/kernel": "sysfs"} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		must(t, err)
		m, err := mountOf(fd)
		must(t, err)
		if m.fstype != want {
			t.Errorf("%s is on %s, want %s", path, m.fstype, want)
		}
		unix.Close(fd)
	}
	if _, err := mountOf(1 << 20); err == nil {
		t.Error("a mount was found for no descriptor")
	}
}

func FuzzParseMount(f *testing.F) {
	f.Add(`36 35 8:17 / /mnt/disk rw,noatime shared:1 - fuseblk /dev/sdb1 rw,user_id=0`)
	f.Add(`36 35 0:50 / /mnt/a\040b rw - fuse.sshfs u@h:/ rw`)
	f.Add(` - `)
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := parseMount(text)
		if ok && (m.id == "" || m.fstype == "" || strings.ContainsAny(m.fstype, " \t\n")) {
			t.Fatalf("%q gave %+v", text, m)
		}
	})
}

func TestSpecialFiles(t *testing.T) {
	tests := []struct {
		root, path string
		want       durward.Reason
	}{
		{"/proc", "self/environ", durward.SpecialFilesystem},
		{"/proc", "version", durward.SpecialFilesystem},
		{"/proc", "self/root/etc/passwd", durward.OutsideRoot},
		{"/proc", "self/cwd/open_test.go", durward.OutsideRoot},
		{"/proc", "self/exe", durward.OutsideRoot},
		{"/proc", "self/nothing", durward.FileNotFound},
		{"/", "proc/self/environ", durward.SpecialFilesystem},
		{"/", "proc/self/root/etc/passwd", durward.OutsideRoot},
		{"/sys", "kernel/uevent_seqnum", durward.SpecialFilesystem},
		{"/dev", "zero", durward.NotRegularFile},
		{"/dev", "null", durward.NotRegularFile},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		for _, tt := range tests {
			t.Run(filepath.Join(tt.root, tt.path), func(t *testing.T) {
				_, err := open(t, tt.root, by).OpenFile(tt.path, Rules{AllowNetworkFS: true})
				wantReason(t, err, tt.want)
			})
		}
		_, err := open(t, "/proc", by).OpenDir("self", Rules{})
		wantReason(t, err, durward.SpecialFilesystem)
		_, err = open(t, "/proc", by).WriteFile(t.Context(), "self/comm", strings.NewReader("x"), WriteOptions{Overwrite: true})
		wantReason(t, err, durward.SpecialFilesystem)
	})
}

// TestPipeBehindAMagicLink: a descriptor of ours must not be reached through /proc.
func TestPipeBehindAMagicLink(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	eachOpener(t, func(t *testing.T, by opener) {
		_, err := open(t, "/proc", by).OpenFile(fmt.Sprintf("self/fd/%d", r.Fd()), Rules{})
		if err == nil {
			t.Fatal("opened")
		}
	})
}

// TestWithoutOpenat2 runs the table where the kernel does not know openat2.
func TestWithoutOpenat2(t *testing.T) {
	out, err := again(t, "no-openat2", nil, "-test.run=^(TestOpenFile|TestOpenDir|TestWriteFile)$/kernel", "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestOpenFile/kernel/a_file") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// The mount table is read by a caller whose thread may open no file at all.
func TestMountOfFromAHeldThread(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	must(t, err)
	defer dir.Close()
	want, err := mountOf(int(dir.Fd()))
	must(t, err)
	type answer struct {
		m              mount
		err, held, set error
	}
	answers := make(chan answer)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with us
		var a answer
		a.set = openNothing()
		_, a.held = os.ReadFile("/proc/self/mountinfo")
		a.m, a.err = mountOf(int(dir.Fd()))
		answers <- a
	}()
	got := <-answers
	if got.set != nil || !errors.Is(got.held, os.ErrPermission) {
		t.Fatalf("the thread is not held: %v, %v", got.set, got.held)
	}
	if got.err != nil || got.m.id != want.id {
		t.Errorf("mount %q, %v; want %q", got.m.id, got.err, want.id)
	}
}

// openNothing has the kernel refuse the calling thread to open files for reading.
func openNothing() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	denied := uint64(unix.LANDLOCK_ACCESS_FS_READ_FILE)
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&denied)), unsafe.Sizeof(denied), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(rules))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// hideOpenat2 makes openat2 answer ENOSYS in every thread of this process.
func hideOpenat2() error { return refusetest.Calls(unix.ENOSYS, unix.SYS_OPENAT2) }
