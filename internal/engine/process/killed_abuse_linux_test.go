//go:build linux && (amd64 || arm64) && abuse

package process

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// copiedBytes is what each command with a copy has written to it when its runtime is killed.
const copiedBytes = 64 << 20

// A runtime is killed while it carries connections for commands with an allowlist, holds
// copies that others have written to, and has a cell ready for the next call. Within a second
// all processes are dead, and nobody has a mount, a listener or the memory of a copy of theirs.
func TestAKilledRuntimeLeavesNothing(t *testing.T) {
	s, m := newTarget(t), newMarker(t, 0)
	runtime, said := killable(t, s, m, "its rooms")
	dir := told(t, said, "ready in ")
	waitFor(t, "all escapees run", 20*time.Second, func() bool { return m.alive(t) >= 4*escaped })
	tree := familyOf(t, runtime.Process.Pid)
	port := uint64(portOf(t, s.at))
	// What is to be gone is there, and can be seen from here.
	cells := slices.DeleteFunc(slices.Collect(maps.Keys(tree)), func(pid int) bool { return commandLine(pid) != "durward-reaper\x00" })
	if len(cells) == 0 || len(intersection(cells, withMount(t, dir))) == 0 {
		t.Errorf("of the cells %v none has %s mounted", cells, dir)
	}
	if n := len(intersection(slices.Collect(maps.Keys(tree)), withMount(t, dir))); n < 4*escaped {
		t.Errorf("%d processes have %s mounted", n, dir)
	}
	if n := len(listening(t, port)); n == 0 {
		t.Error("no process lives where somebody listens for the target")
	}
	before := sharedMemory(t)

	must(t, runtime.Process.Kill())
	end := time.Now().Add(time.Second)
	for pid, fd := range tree {
		line := commandLine(pid)
		if !endedUntil(t, fd, end) {
			t.Errorf("%d lives a second later: %q", pid, line)
		}
		must(t, unix.Close(fd))
	}
	_ = runtime.Wait() // it was killed
	if left := m.alive(t); left > 0 {
		t.Errorf("%d of the commands' processes live", left)
	}
	if left := withMount(t, dir); len(left) > 0 {
		t.Errorf("%v have %s mounted", left, dir)
	}
	if left := listening(t, port); len(left) > 0 {
		t.Errorf("%v live where somebody listens for the target", left)
	}
	if came := s.left(t, 4); came != 4 {
		t.Errorf("%d connections came out", came)
	}
	waitFor(t, "the copies are given up", 20*time.Second, func() bool { return sharedMemory(t) < before-3*copiedBytes/2 })
	untouched(t, dir)
}

// Nor does one that is killed at any other moment: when it starts calls, ends them, or makes a
// cell. Who outlives it becomes a child of this process.
func TestARuntimeKilledAtAnyMomentLeavesNothing(t *testing.T) {
	s := newTarget(t)
	must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer func() { must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) }()
	before := familyOf(t, os.Getpid())
	for round := range 12 {
		m := newMarker(t, round)
		runtime, said := killable(t, s, m, "calls")
		dir := told(t, said, "ready in ")
		for range 3 * round {
			told(t, said, "call")
		}
		must(t, runtime.Process.Kill())
		_ = runtime.Wait() // it was killed
		waitFor(t, "who has outlived it is dead", time.Second, func() bool { return reapedAll(t, before) })
		if left := withMount(t, dir); len(left) > 0 || m.alive(t) > 0 {
			t.Errorf("round %d: %v have %s mounted; %d carry its marker", round, left, dir, m.alive(t))
		}
	}
	for _, fd := range before {
		must(t, unix.Close(fd))
	}
}

// reapedAll reaps the dead among the descendants of this process, but for some, and reports
// whether there are no others.
func reapedAll(t *testing.T, but map[int]int) bool {
	t.Helper()
	all := true
	for pid, fd := range familyOf(t, os.Getpid()) {
		if _, known := but[pid]; !known {
			_, err := unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
			all = all && err == nil && endedUntil(t, fd, time.Now())
		}
		must(t, unix.Close(fd))
	}
	return all
}

// killable starts the other runtime, which does some part, and gives what it says.
func killable(t *testing.T, s *target, m marker, part string) (runtime *exec.Cmd, said *bufio.Reader) {
	t.Helper()
	tmp := t.TempDir()
	openToAll(t, tmp)
	runtime = exec.Command(os.Args[0], "-test.run=^TestRuntimeThatWillBeKilledInside$/"+part)
	runtime.Env = append(os.Environ(), "TMPDIR="+tmp, "DURWARD_TEST_MARKER="+string(m), "DURWARD_TEST_TARGET="+s.at)
	runtime.Stderr = os.Stderr
	stdin, err := runtime.StdinPipe()
	must(t, err)
	stdout, err := runtime.StdoutPipe()
	must(t, err)
	must(t, runtime.Start())
	t.Cleanup(func() {
		stdin.Close() // then it ends by itself, unless it was killed
		_ = runtime.Wait()
	})
	return runtime, bufio.NewReader(stdout)
}

// told waits for a line that begins with some words, and gives the rest.
func told(t *testing.T, said *bufio.Reader, words string) string {
	t.Helper()
	line, err := said.ReadString('\n')
	rest, begins := strings.CutPrefix(line, words)
	if err != nil || !begins {
		more, _ := io.ReadAll(said)
		t.Fatalf("the other runtime: %v: %s%s", err, line, more)
	}
	return strings.TrimSpace(rest)
}

// TestRuntimeThatWillBeKilledInside is the other runtime of the tests above, which does what
// its subtests are called; by itself it does nothing.
func TestRuntimeThatWillBeKilledInside(t *testing.T) {
	at, m := os.Getenv("DURWARD_TEST_TARGET"), marker(os.Getenv("DURWARD_TEST_MARKER"))
	if at == "" {
		return
	}
	for part, play := range map[string]func(prey){"its rooms": prey.holdRooms, "calls": prey.makeCalls} {
		t.Run(part, func(t *testing.T) {
			dir, copied := copying(t)
			copied.Keep = durward.KeepStream
			p := prey{T: t, engine: newEngine(t, Options{Warm: true}), dir: dir, marker: m, words: fmt.Sprintf(brokenWords, at), copied: copied}
			p.plain = copied
			p.plain.Files.CopyOnWrite = false
			p.allowed, p.both = p.plain, copied
			p.allowed.Network = durward.Network{Mode: durward.NetAllowlist, Allow: []string{at, "slow.test:80", "10.9.8.7:80"}}
			p.both.Network = p.allowed.Network
			play(p)
		})
	}
}

// A prey is a runtime that is killed.
type prey struct {
	*testing.T
	engine *Engine
	dir    string
	marker marker
	words  string // with which scripts begin that write to a copy
	// The grants of calls with neither a copy nor an allowlist, with one of them, with both.
	plain, copied, allowed, both durward.Grant
}

// connect reaches the target through a tunnel and straight.
const connect = "tunnel; hello; exec 4<&3; straight $AT; hello"

// unwritten leaves out of words what is written.
func (p prey) unwritten() string {
	return strings.ReplaceAll(p.words, "echo new > old; echo x > made", "")
}

// holdRooms has a call of each kind, and a cell.
func (p prey) holdRooms() {
	hold := func(g durward.Grant, words, script string) {
		c := call("bash", "-c", fmt.Sprintf("%s\n%s\n%s\necho here; trap '' TERM; sleep %s", words, script, escapees(p.marker), p.marker))
		c.Dir = p.dir
		s, end := opened(p.T, p.engine, c, g)
		p.Cleanup(func() { end(nil) })
		heard(p.T, s, "here\n")
	}
	write := fmt.Sprintf("head -c %d /dev/zero > large", copiedBytes)
	hold(p.copied, p.words, write)
	hold(p.both, p.words, write+"\n"+connect)
	hold(p.allowed, p.unwritten(), connect)
	hold(p.plain, p.unwritten(), "")
	p.call(p.plain, p.unwritten(), "exit 3")
	settle(p.engine) // a cell waits
	fmt.Println("ready in", p.dir)
	p.live()
}

// makeCalls makes calls of each kind, over and over, side by side.
func (p prey) makeCalls() {
	fmt.Println("ready in", p.dir)
	for _, one := range []struct {
		grant         durward.Grant
		words, script string
	}{{p.plain, p.unwritten(), ""}, {p.copied, p.words, ""}, {p.allowed, p.unwritten(), connect}, {p.both, p.words, connect}} {
		go func() { // ends with the process
			for {
				p.call(one.grant, one.words, one.script+"\n: "+string(p.marker)+"; exit 3")
				fmt.Println("call")
			}
		}()
	}
	p.live()
}

func (p prey) call(g durward.Grant, words, script string) {
	g.Keep = durward.KeepHeadTail
	c := durward.Call{ID: "test", Argv: []string{"bash", "-c", words + script}, Dir: p.dir}
	r, err := p.engine.run(p.Context(), c, g)
	if err != nil || r.ExitStatus() != 3 || r.Discard() != nil {
		fmt.Println("exit", r.ExitStatus(), err, string(r.Stderr.Bytes()))
	}
}

// live goes on until it is killed, or whoever was to do it is dead.
func (p prey) live() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// familyOf gives a process and all its descendants, each by its id and with a descriptor.
func familyOf(t *testing.T, pid int) map[int]int {
	t.Helper()
	parents := map[int]int{}
	for _, one := range everybody(t) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", one)) // empty for the dead
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 1 {
			parents[one], _ = strconv.Atoi(fields[1])
		}
	}
	family := map[int]int{}
	for one := range parents {
		for up := one; up > 1; up = parents[up] {
			if up != pid {
				continue
			}
			fd, err := unix.PidfdOpen(one, 0)
			if err == unix.ESRCH {
				continue // it has ended meanwhile
			}
			must(t, err)
			family[one] = fd
		}
	}
	return family
}

// endedUntil waits until then for a process to end, and reports whether it has.
func endedUntil(t *testing.T, pidfd int, then time.Time) bool {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(max(time.Until(then), 0).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		must(t, err)
		return n > 0
	}
}

// everybody lists the processes of this machine.
func everybody(t *testing.T) []int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	var pids []int
	for _, path := range found {
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func commandLine(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty for the dead
	return string(line)
}

// withMount lists the processes that have something of a directory mounted where they live.
func withMount(t *testing.T, dir string) []int {
	t.Helper()
	return slices.DeleteFunc(everybody(t), func(pid int) bool {
		mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid)) // empty for the dead
		return !strings.Contains(string(mounts), dir)
	})
}

// listening lists the processes in whose network somebody listens at a port who does not
// in ours.
func listening(t *testing.T, port uint64) []int {
	t.Helper()
	ours := listeners("self", port)
	return slices.DeleteFunc(everybody(t), func(pid int) bool {
		return !slices.ContainsFunc(listeners(strconv.Itoa(pid), port), func(one string) bool { return !slices.Contains(ours, one) })
	})
}

// listeners gives the inodes of those who listen at a port in the network of a process.
func listeners(pid string, port uint64) []string {
	table, _ := os.ReadFile("/proc/" + pid + "/net/tcp") // empty for the dead
	var inodes []string
	for line := range strings.Lines(string(table)) {
		const listen = "0A"
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) && f[3] == listen {
			inodes = append(inodes, f[9])
		}
	}
	return inodes
}

func portOf(t *testing.T, at string) int {
	t.Helper()
	port, err := strconv.Atoi(at[strings.LastIndexByte(at, ':')+1:])
	must(t, err)
	return port
}

// sharedMemory gives how much all the file systems in memory hold, in bytes.
func sharedMemory(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Shmem:" {
			kib, err := strconv.Atoi(f[1])
			must(t, err)
			return kib << 10
		}
	}
	t.Fatal("the kernel does not say")
	return 0
}

func intersection(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(one int) bool { return !slices.Contains(b, one) })
}
