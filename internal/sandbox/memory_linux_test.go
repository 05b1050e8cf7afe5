//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newMemoryHome gives a home of the test's own, or false where none is to be had.
func newMemoryHome(t *testing.T) (*memoryHome, bool) {
	t.Helper()
	h, err := openMemoryHome()
	if err != nil {
		t.Logf("no memory cgroup is to be had here: %v", err)
	}
	return h, err == nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A cgroup is used for one call after the other, whatever their limits; when the home is
// closed no directory is left.
func TestMemoryCgroupsAreUsedAgain(t *testing.T) {
	h, ok := newMemoryHome(t)
	if !ok {
		return
	}
	var paths []string
	for _, limit := range []int64{64 << 20, 64 << 20, 32 << 20, 128 << 20} {
		g, err := h.take(limit)
		if err != nil {
			t.Fatal(err)
		}
		file := map[memoryKind]string{memoryCgroup1: "memory.limit_in_bytes", memoryCgroup2: "memory.max"}[h.kind]
		if text, err := os.ReadFile(filepath.Join(g.path, file)); strings.TrimSpace(string(text)) != strconv.FormatInt(limit, 10) {
			t.Fatalf("the limit is %q, not %d: %v", text, limit, err)
		}
		paths = append(paths, g.path)
		h.put(g, false)
	}
	for _, path := range paths {
		if path != paths[0] {
			t.Errorf("a new cgroup was made although one was free: %v", paths)
		}
	}
	if err := h.close(); err != nil || exists(h.path) {
		t.Fatalf("the home is left behind: %v", err)
	}
}

// A cgroup in which somebody lives on is nobody else's, and is removed when it is empty.
func TestMemoryCgroupThatIsNotEmpty(t *testing.T) {
	h, ok := newMemoryHome(t)
	if !ok {
		return
	}
	g, err := h.take(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command("sleep", "86400")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	path := g.path
	moved := writeFile(filepath.Join(path, "cgroup.procs"), strconv.Itoa(sleeper.Process.Pid))
	h.put(g, false)
	other, err := h.take(64 << 20)
	if err != nil || moved != nil || other.path == path || !exists(path) {
		t.Errorf("%v, %v: %s was given to another call", err, moved, path)
	}
	h.put(other, false)
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait() // it was killed
	if err := h.close(); err != nil || exists(path) || exists(h.path) {
		t.Fatalf("left behind: %v", err)
	}
}

// What a runtime leaves behind that was killed, the next one removes; a home whose
// runtime lives stays.
func TestMemoryHomeOfAKilledRuntime(t *testing.T) {
	self := exec.Command(os.Args[0], "-test.run=^TestMemoryHomeThatIsLeft$")
	self.Env = append(os.Environ(), "DURWARD_TEST_LEAVES=1")
	out, err := self.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := self.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	left := strings.TrimSpace(line)
	if left == "none" {
		_ = self.Process.Kill()
		_ = self.Wait() // it was killed
		return
	}
	open := func() {
		t.Helper()
		old := time.Now().Add(-time.Hour) // a home that is new may be about to be locked
		if err := os.Chtimes(left, old, old); err != nil {
			t.Fatal(err)
		}
		h, ok := newMemoryHome(t)
		if !ok {
			t.Fatal("a home can be had once only")
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	}
	open()
	if !exists(left) {
		t.Error("the home of a runtime that lives was removed")
	}
	_ = self.Process.Kill()
	_ = self.Wait() // it was killed
	if !exists(left) {
		t.Fatal("nothing was left to be removed")
	}
	open()
	if exists(left) {
		t.Error("the home of a runtime that was killed is still there")
	}
}

// TestMemoryHomeThatIsLeft is the other runtime of the test above; by itself it does
// nothing.
func TestMemoryHomeThatIsLeft(t *testing.T) {
	if os.Getenv("DURWARD_TEST_LEAVES") == "" {
		return
	}
	h, ok := newMemoryHome(t)
	if !ok {
		fmt.Println("none")
		return
	}
	for range 3 {
		g, err := h.take(64 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(g.path, "a", "b"), 0o755); err != nil { // as a command may
			t.Fatal(err)
		}
	}
	fmt.Println(h.path)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until we are killed
}

// leave has a process of the cgroup leave that much in memory.
func (g *memoryGroup) leave(t *testing.T, bytes int) {
	t.Helper()
	f, err := os.CreateTemp("/dev/shm", "durward-test-")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	script := fmt.Sprintf("echo $$ > %s/cgroup.procs; head -c %d /dev/zero > %s", g.path, bytes, f.Name())
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// What a call has left in memory is not taken from a call that may have little.
func TestMemoryCgroupThatIsTooFull(t *testing.T) {
	h, ok := newMemoryHome(t)
	if !ok {
		return
	}
	const much, little = 64 << 20, 2 << 20
	g, err := h.take(much)
	if err != nil {
		t.Fatal(err)
	}
	path := g.path
	g.leave(t, 768<<10)
	h.put(g, false)
	small, err := h.take(little)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := small.used(); small.path == path || err != nil || left > little/8 {
		t.Errorf("a call that may have %d begins with %d, %v", little, left, err)
	}
	if large, err := h.take(much); err != nil || large.path != path {
		t.Errorf("who would not notice was not given it: %v", err)
	} else {
		h.put(large, false)
	}
	h.put(small, false)
	if err := h.close(); err != nil || exists(h.path) {
		t.Fatalf("the home is left behind: %v", err)
	}
}

// A cgroup in which a command has made others is nobody else's, and all of them are
// removed.
func TestMemoryCgroupWithOthersInIt(t *testing.T) {
	h, ok := newMemoryHome(t)
	if !ok {
		return
	}
	g, err := h.take(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	path := g.path
	if err := os.MkdirAll(filepath.Join(path, "[a", "b*"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.put(g, false)
	other, err := h.take(64 << 20)
	if err != nil || other.path == path || exists(path) {
		t.Errorf("%v: %s was given to another call, or is left", err, path)
	}
	if err := os.MkdirAll(filepath.Join(other.path, "c", "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := h.close(); err != nil || exists(h.path) { // with one that was never given back
		t.Fatalf("left behind: %v", err)
	}
}

// A call is told that its own limit was too small only if that was in the way; the
// kernel counts whom it kills for another reason as well.
func TestWhoseMemoryRanOut(t *testing.T) {
	const (
		calm, kills   = "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"
		below, waits  = "oom_kill_disable 0\nunder_oom 1\noom_kill 0\n", "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n"
		little, limit = "1048576\n", "67108864\n"
	)
	for _, test := range []struct {
		name            string
		kind            memoryKind
		events, highest string
		want            Shortage
	}{
		{"nothing", memoryCgroup1, calm, little, NoShortage},
		{"files were dropped", memoryCgroup1, calm, limit, NoShortage},
		{"own limit", memoryCgroup1, kills, limit, OwnShortage},
		{"own limit, for some pages", memoryCgroup1, kills, "67080192\n", OwnShortage},
		{"outer limit", memoryCgroup1, kills, little, OuterShortage},
		{"outer limit, a neighbour is killed", memoryCgroup1, below, little, NoShortage},
		{"the same, files were dropped", memoryCgroup1, below, limit, NoShortage},
		{"nobody kills", memoryCgroup1, waits, limit, OwnShortage},
		{"nobody kills further up", memoryCgroup1, waits, little, NoShortage},
		{"nothing", memoryCgroup2, "max 0\noom 0\noom_kill 0\n", "", NoShortage},
		{"own limit", memoryCgroup2, "max 9\noom 1\noom_kill 2\n", "", OwnShortage},
		{"outer limit", memoryCgroup2, "max 0\noom 0\noom_kill 2\n", "", OuterShortage},
		{"outer limit, files were dropped", memoryCgroup2, "max 9\noom 0\noom_kill 2\n", "", OuterShortage},
	} {
		t.Run(fmt.Sprintf("%s/%s", test.kind, test.name), func(t *testing.T) {
			files := map[string]string{"tasks": "-", "memory.usage_in_bytes": "0", "memory.oom_control": test.events, "memory.max_usage_in_bytes": test.highest}
			if test.kind == memoryCgroup2 {
				files = map[string]string{"memory.current": "0", "memory.events": test.events}
			}
			dir := t.TempDir()
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g, err := openMemoryGroup(test.kind, dir, "/")
			if err != nil {
				t.Fatal(err)
			}
			defer g.close()
			g.limit = 64 << 20
			if got := g.shortage(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// On a host whose kernel cannot bound memory, a plan says that the runtime does.
func TestPlanWithoutMemoryCgroup(t *testing.T) {
	r := newTrial(t, Probe().WithoutMemory())
	if p := r.compile(t); p.memory != memoryUnheld {
		t.Fatalf("the plan counts on %s", p.memory)
	}
	if by, err := r.host.Memory(); err == nil || by != "" {
		t.Fatalf("%q, %v", by, err)
	}
}
