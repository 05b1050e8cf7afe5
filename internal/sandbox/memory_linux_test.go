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
		h.put(g)
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
	h.put(g)
	other, err := h.take(64 << 20)
	if err != nil || moved != nil || other.path == path || !exists(path) {
		t.Errorf("%v, %v: %s was given to another call", err, moved, path)
	}
	h.put(other)
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
		if _, err := h.take(64 << 20); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println(h.path)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until we are killed
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
