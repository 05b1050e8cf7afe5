//go:build linux && (amd64 || arm64)

package seccomp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// childVariable makes the test binary a process that loads a filter on itself and tries
// what it is told to: a job.
const childVariable = "DURWARD_TEST_SECCOMP_CHILD"

type job struct {
	Policy Policy
	// User is who it becomes; 0 stays.
	User int
	// Mark has refusals bear an error that is nobody else's.
	Mark bool
	// Bare leaves the filter out.
	Bare bool
	// Dir is where it starts, whether or not the user could come there.
	Dir  string
	What string
}

// mark is added to the error of a refusal, so that it is told from one of the kernel's.
const mark = 1000

func TestMain(m *testing.M) {
	said, child := os.LookupEnv(childVariable)
	if !child {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(said), &j); err != nil {
		panic(err)
	}
	if err := j.do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (j job) do() error {
	os.Unsetenv(childVariable)
	if err := j.become(); err != nil {
		return err
	}
	if err := j.load(); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if try, ok := fatalTries[j.What]; ok {
		fmt.Println("loaded")
		try()
		return errors.New("still here")
	}
	if j.What == "work" {
		return j.work()
	}
	return json.NewEncoder(os.Stdout).Encode(j.try())
}

func (j job) become() error {
	if j.User == 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(j.User, j.User, j.User); err != nil {
		return err
	}
	return syscall.Setresuid(j.User, j.User, j.User)
}

func (j job) load() error {
	if j.Bare {
		return nil
	}
	program := Compile(j.Policy).Program()
	for i, p := range program {
		if j.Mark && p.Code == opAnswer && answer(p.K) == refused {
			program[i].K += mark
		}
	}
	return load(program, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// load has the kernel take a filter for this thread, or for all with TSYNC.
func load(program []unix.SockFilter, flags uintptr) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog))); n != 0 {
		return fmt.Errorf("%d %w", n, errno)
	}
	return nil
}

// run does a job in a child.
func (j job) run(t *testing.T) (string, error) {
	t.Helper()
	said, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // whose thread is killed may hang
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe")
	c.Dir = j.Dir
	// A child with the race detector would rest for a second before it exits.
	c.Env = append(os.Environ(), childVariable+"="+string(said), "GORACE=atexit_sleep_ms=0")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // nothing of ours hangs up
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

// as runs a test as root and as nobody, or as whoever we are.
func as(t *testing.T, test func(t *testing.T, user int)) {
	t.Run("ourselves", func(t *testing.T) { test(t, 0) })
	if os.Getuid() == 0 {
		t.Run("nobody", func(t *testing.T) { test(t, 65534) })
	}
}

func newDir(t *testing.T, user int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if user == 0 {
		return dir
	}
	for _, name := range []string{".", "file"} {
		if err := os.Chown(filepath.Join(dir, name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An attempt is one system call that the kernel is asked for.
type attempt struct {
	name string
	nr   uintptr
	// args are numbers, or the names of files in the directory.
	args []any
	want answer
}

// attempts has each rule broken and kept. What a filter fails to refuse harms nothing:
// the arguments make no sense, or are about a file that is there for that.
func attempts(p Policy) []attempt {
	list := slices.Concat(outright(), attemptsByArgument(), attemptsHere(), attemptsAtSetID(), attemptsAtSockets(p))
	for i, a := range list {
		list[i].name = fmt.Sprintf("%s %v", a.name, a.args)
	}
	return list
}

func outright() []attempt {
	list := []attempt{
		{"clone3", unix.SYS_CLONE3, nil, missing},
		{"openat2", unix.SYS_OPENAT2, nil, missing},
	}
	for _, calls := range []map[string]uintptr{refusedCalls, refusedHere} {
		for name, nr := range calls {
			list = append(list, attempt{name, nr, []any{-1, -1, -1, -1, -1, -1}, refused})
		}
	}
	return list
}

func attemptsByArgument() []attempt {
	// Without memory in common there is no clone with signal handlers in common.
	const impossible = unix.CLONE_SIGHAND
	list := []attempt{
		{"clone", unix.SYS_CLONE, []any{impossible}, allow},
		{"clone", unix.SYS_CLONE, []any{impossible | unix.CLONE_NEWTIME}, allow},
		{"clone", unix.SYS_CLONE, []any{impossible | unix.CLONE_NEWNET | 1<<40}, refused},
		{"personality", unix.SYS_PERSONALITY, []any{0}, allow},
		{"personality", unix.SYS_PERSONALITY, []any{0xffffffff}, allow},
		{"personality", unix.SYS_PERSONALITY, []any{-1}, allow},
		{"personality", unix.SYS_PERSONALITY, []any{0x0040000}, refused}, // ADDR_NO_RANDOMIZE
		{"personality", unix.SYS_PERSONALITY, []any{8 | 1<<32}, refused},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TCGETS}, allow},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TIOCSTI}, refused},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TIOCSTI | 1<<32}, refused},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TIOCLINUX}, refused},
		{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, []any{0, 0, 0}, allow},
		{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, []any{1, 0, 0}, refused},
		{"sched_setscheduler", unix.SYS_SCHED_SETSCHEDULER, []any{1 | 1<<32, 5, 0}, refused},
		{"sched_setattr", unix.SYS_SCHED_SETATTR, []any{1, 0, 0}, refused},
		{"prlimit64", unix.SYS_PRLIMIT64, []any{0, 0, 0, 0}, allow},
		{"prlimit64", unix.SYS_PRLIMIT64, []any{1, 0, 0, 0}, refused},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_PROCESS, 0, 0}, allow},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_PROCESS, 1, 19}, refused},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_PGRP, 1, 19}, refused},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_USER, 0, 19}, refused},
		{"seccomp", unix.SYS_SECCOMP, []any{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, 0}, allow},
		{"seccomp", unix.SYS_SECCOMP, []any{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0}, refused},
		{"landlock_create_ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, []any{0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION}, allow},
		{"memfd_secret", unix.SYS_MEMFD_SECRET, []any{0xffff}, allow},
		{"name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, []any{-1, -1, -1, -1, -1}, allow},
		{"close", unix.SYS_CLOSE, []any{-1}, allow},
		{"a number nobody has", 0x3fffffff, nil, allow},
		{"what a tracer writes", ^uintptr(0), nil, allow},
	}
	for _, flag := range namespaces() {
		list = append(list, attempt{"clone", unix.SYS_CLONE, []any{impossible | int(flag.n)}, refused})
	}
	return list
}

func attemptsAtSetID() []attempt {
	const here = unix.AT_FDCWD
	list := []attempt{
		{"fchmod", unix.SYS_FCHMOD, []any{-1, 0o755}, allow},
		{"fchmodat", unix.SYS_FCHMODAT, []any{here, "file", 0o1751}, allow},
		{"openat", unix.SYS_OPENAT, []any{here, "file", unix.O_RDONLY | unix.O_CLOEXEC, 0o6777}, allow},
		{"openat", unix.SYS_OPENAT, []any{here, "file", unix.O_RDONLY | unix.O_CREAT | unix.O_CLOEXEC, 0o600}, allow},
		{"openat", unix.SYS_OPENAT, []any{here, ".", unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, 0o6777}, allow},
		{"mkdirat", unix.SYS_MKDIRAT, []any{here, "file", 0o755}, allow},
		{"mknodat", unix.SYS_MKNODAT, []any{here, "file", unix.S_IFREG | 0o600, 0}, allow},
	}
	for _, mode := range []int{unix.S_ISUID | 0o755, unix.S_ISGID | 0o755, unix.S_ISUID | unix.S_ISGID, unix.S_ISGID | 1<<32} {
		list = append(list,
			attempt{"fchmod", unix.SYS_FCHMOD, []any{-1, mode}, refused},
			attempt{"fchmodat", unix.SYS_FCHMODAT, []any{here, "file", mode}, refused},
			attempt{"fchmodat2", unix.SYS_FCHMODAT2, []any{here, "file", mode, 0}, refused},
			attempt{"mkdirat", unix.SYS_MKDIRAT, []any{here, "made", mode}, refused},
			attempt{"mknodat", unix.SYS_MKNODAT, []any{here, "made", unix.S_IFREG | mode, 0}, refused},
			attempt{"openat", unix.SYS_OPENAT, []any{here, "made", unix.O_RDWR | unix.O_CREAT, mode}, refused},
			attempt{"openat", unix.SYS_OPENAT, []any{here, ".", unix.O_RDWR | unix.O_TMPFILE, mode}, refused},
		)
	}
	return list
}

func attemptsAtSockets(p Policy) []attempt {
	const (
		unixOnly = 1 << iota
		network
		full
		always
		never = 0
	)
	has := always
	if p.Unix {
		has |= unixOnly
	}
	switch p.Network {
	case durward.NetFull:
		has |= full | network
	case durward.NetLoopback, durward.NetAllowlist:
		has |= network
	}
	var list []attempt
	for _, s := range []struct {
		nr                     uintptr
		family, kind, protocol int
		where                  int
	}{
		{unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0, unixOnly},
		{unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0, unixOnly},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP, network},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP, network},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET | 1<<40, unix.SOCK_STREAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, never},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_PACKET, 0, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, never},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, never},
		{unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0, never},
		{unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_DGRAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0, never},
		{unix.SYS_SOCKET, unix.AF_SMC, unix.SOCK_STREAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_TIPC, unix.SOCK_STREAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_KEY, unix.SOCK_RAW, 2, never},
		{unix.SYS_SOCKET, unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, never},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, full},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_ROUTE, full},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, never},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG, never},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, never},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, always},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC, 0, always},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, unixOnly},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_RAW, 0, unixOnly}, // the kernel makes it a datagram one
		{unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_SEQPACKET, 0, never},
		{unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM, 0, never},
	} {
		a := attempt{"socket", s.nr, []any{s.family, s.kind, s.protocol}, refusedIf(s.where&has == 0)}
		if s.nr == unix.SYS_SOCKETPAIR {
			a.name, a.args = "socketpair", append(a.args, -1) // two descriptors that go nowhere
		}
		list = append(list, a)
	}
	return list
}

// try tries all of them and gives the errors.
func (j job) try() map[string]syscall.Errno {
	got := map[string]syscall.Errno{}
	for _, a := range attempts(j.Policy) {
		var pinner runtime.Pinner
		var args [6]uintptr
		for i, arg := range a.args {
			switch arg := arg.(type) {
			case int:
				args[i] = uintptr(arg)
			case string:
				path := append([]byte(arg), 0)
				pinner.Pin(&path[0])
				args[i] = uintptr(unsafe.Pointer(&path[0]))
			}
		}
		_, _, got[a.name] = syscall.RawSyscall6(a.nr, args[0], args[1], args[2], args[3], args[4], args[5])
		pinner.Unpin()
	}
	return got
}

func TestTheKernelRefusesWhatTheRulesSay(t *testing.T) {
	for _, p := range policies[:6] {
		t.Run(fmt.Sprintf("%q %v", p.Network, p.Unix), func(t *testing.T) {
			as(t, func(t *testing.T, user int) {
				refusedForReal(t, job{Policy: p, User: user})
				refusedForReal(t, job{Policy: p, User: user, Mark: true})
			})
		})
	}
}

func refusedForReal(t *testing.T, j job) {
	t.Helper()
	j.Dir = newDir(t, j.User)
	out, err := j.run(t)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]syscall.Errno
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts(j.Policy) {
		errno, tried := got[a.name]
		if !tried {
			t.Errorf("%s was not tried", a.name)
		}
		judge(t, a, errno, j.Mark)
	}
	unchanged(t, j.Dir)
}

// judge can tell that a call is let through only by a mark: the kernel has refusals of
// its own.
func judge(t *testing.T, a attempt, errno syscall.Errno, marked bool) {
	t.Helper()
	refusal := unix.EPERM
	if marked {
		refusal += mark
	}
	switch {
	case a.want == refused && errno != refusal:
		t.Errorf("%s: %d %v, want %d", a.name, errno, errno, refusal)
	case a.want == missing && errno != unix.ENOSYS:
		t.Errorf("%s: %d %v, want ENOSYS", a.name, errno, errno)
	case a.want == allow && marked && errno == refusal:
		t.Errorf("%s is refused", a.name)
	}
}

// unchanged looks at what the attempts on the directory were after.
func unchanged(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
	for name, want := range map[string]os.FileMode{"file": 0o751 | os.ModeSticky, ".": os.ModeDir | 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestOrdinaryWorkGoesOn(t *testing.T) {
	for _, p := range policies[:6] {
		t.Run(fmt.Sprintf("%q %v", p.Network, p.Unix), func(t *testing.T) {
			as(t, func(t *testing.T, user int) {
				if out, err := (job{Policy: p, User: user, Dir: newDir(t, user), What: "work"}).run(t); err != nil {
					t.Errorf("%v %s", err, out)
				}
			})
		})
	}
}

// work does what commands do.
func (j job) work() error {
	for name, work := range map[string]func() error{
		"files": workFiles, "programs": workPrograms, "threads": workThreads, "pairs": workPairs, "filters": workFilters,
		"unix": j.workUnix, "network": j.workNetwork, "routes": j.workRoutes,
	} {
		if err := work(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func workFiles() error {
	return errors.Join(
		os.MkdirAll("a/b", 0o755), os.WriteFile("a/b/c", []byte("text"), 0o644), os.Chmod("a/b/c", 0o700),
		os.Rename("a/b/c", "a/c"), os.Symlink("c", "a/l"), os.RemoveAll("a"),
	)
}

func workPrograms() error {
	out, err := exec.Command("/bin/sh", "-c", "umask 022; (echo one; echo two) | cat; mkdir d && rmdir d").CombinedOutput()
	if err == nil && string(out) != "one\ntwo\n" {
		return fmt.Errorf("sh says %q", out)
	}
	return err
}

func workThreads() error {
	done := make(chan struct{})
	for range 8 {
		go func() {
			runtime.LockOSThread() // ends with its thread
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	return nil
}

// workPairs has a pair carry bytes, but not go elsewhere.
func workPairs() error {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := carries(pair); err != nil {
			return err
		}
		elsewhere := &unix.SockaddrUnix{Name: "listener"}
		if err := unix.Connect(pair[0], elsewhere); err == nil {
			return errors.New("one end of a pair was connected to another socket")
		}
		// What is sent with an address is refused, or goes to the other end.
		_ = unix.Sendto(pair[0], []byte("elsewhere"), unix.MSG_NOSIGNAL, elsewhere)
		unix.Close(pair[1])
		if err := unix.Connect(pair[0], elsewhere); err == nil {
			return errors.New("what is left of a pair was connected to another socket")
		}
		_ = unix.Sendto(pair[0], []byte("elsewhere"), unix.MSG_NOSIGNAL, elsewhere)
		unix.Close(pair[0])
	}
	return nil
}

func carries(pair [2]int) error {
	if _, err := unix.Write(pair[0], []byte("bytes")); err != nil {
		return err
	}
	got := make([]byte, 8)
	if n, err := unix.Read(pair[1], got); err != nil || string(got[:n]) != "bytes" {
		return fmt.Errorf("a pair carries %q %w", got[:n], err)
	}
	return nil
}

// workFilters loads the strictest filter on top, in a thread that ends with it.
func workFilters() error {
	done := make(chan error)
	go func() { done <- load(Compile(Policy{}).Program(), 0) }()
	return <-done
}

func (j job) workUnix() error {
	l, err := net.Listen("unix", "socket")
	if !j.Policy.Unix {
		return wantRefused(err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	return echo(l)
}

func (j job) workNetwork() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if !expectedSocket(j.Policy, unix.AF_INET, unix.SOCK_STREAM, 0) {
		return wantRefused(err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return errors.Join(u.Close(), echo(l))
}

func (j job) workRoutes() error {
	_, err := net.Interfaces()
	if j.Policy.Network != durward.NetFull {
		return wantRefused(err)
	}
	return err
}

func wantRefused(err error) error {
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("not refused: %w", err)
}

func echo(l net.Listener) error {
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	c, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
		return fmt.Errorf("%q came through: %w", got, err)
	}
	return nil
}

// A datagram pair is refused because one end of it reaches every socket that has a name.
func TestPairsReachNobodyElse(t *testing.T) {
	as(t, func(t *testing.T, user int) {
		dir := newDir(t, user)
		t.Chdir(dir)
		listener, err := net.ListenPacket("unixgram", "listener")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if err := os.Chmod("listener", 0o777); err != nil {
			t.Fatal(err)
		}
		if got := received(t, listener); got != "" {
			t.Fatalf("%q before anything was sent", got)
		}
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		if err := unix.Sendto(pair[0], []byte("from a pair"), 0, &unix.SockaddrUnix{Name: "listener"}); err != nil {
			t.Fatal(err)
		}
		if got := received(t, listener); got != "from a pair" {
			t.Errorf("%q came from a datagram pair: there is no reason to refuse it", got)
		}
		if out, err := (job{User: user, Dir: dir, What: "work"}).run(t); err != nil {
			t.Errorf("%v %s", err, out)
		}
		if got := received(t, listener); got != "" {
			t.Errorf("%q came from a pair of another kind", got)
		}
	})
}

// received gives what is there.
func received(t *testing.T, c net.PacketConn) string {
	t.Helper()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	n := 0
	if err := raw.Control(func(fd uintptr) {
		n, _, err = unix.Recvfrom(int(fd), got, unix.MSG_DONTWAIT)
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return string(got[:max(n, 0)])
}

// BenchmarkCall is what a system call costs with a filter and without: one that the
// kernel knows to be allowed, one whose arguments are looked at, and one that is refused.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name string
		nr   uintptr
		args [3]uintptr
	}{
		{"allowed", unix.SYS_GETPPID, [3]uintptr{}},
		{"looked at", unix.SYS_IOCTL, [3]uintptr{^uintptr(0), unix.TCGETS}},
		{"refused", unix.SYS_PTRACE, [3]uintptr{^uintptr(0), ^uintptr(0)}},
	} {
		call := func(b *testing.B) {
			for b.Loop() {
				syscall.RawSyscall(c.nr, c.args[0], c.args[1], c.args[2])
			}
		}
		b.Run(c.name+"/bare", call)
		b.Run(c.name+"/filtered", func(b *testing.B) {
			onThread(func() {
				loadFor(b, Compile(Policy{}).Program())
				call(b)
			})
		})
	}
}

// BenchmarkLoad includes a thread to load the filter on.
func BenchmarkLoad(b *testing.B) {
	program := Compile(Policy{}).Program()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			onThread(func() {})
		}
	})
	b.Run("filtered", func(b *testing.B) {
		for b.Loop() {
			onThread(func() { loadFor(b, program) })
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		Compile(Policy{Network: durward.NetFull, Unix: true})
	}
}

func loadFor(b *testing.B, program []unix.SockFilter) {
	if err := load(program, 0); err != nil {
		b.Error(err)
	}
}

// onThread runs do on a thread that ends with it.
func onThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		do()
	}()
	<-done
}
