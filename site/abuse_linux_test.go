//go:build linux && (amd64 || arm64) && abuse

package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/site"
)

// A fork bomb meets its limit while others are served, and nothing of it is left.
func TestForkBomb(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[sh, -c, {}, ;]", "[echo, {}]")}, config: func(c *site.Config) {
		c.Sandbox, c.Limits.Timeout = site.Sandbox{}, 3*time.Second
	}})
	m := newMarker()
	c := r.send(sh(`i=0; while [ $i -lt 2000 ]; do sleep %s & i=$((i + 1)); echo $i; done`, m))
	for range 5 {
		if a := r.ask(get("/")); a.StatusCode != 200 {
			t.Errorf("reading: %d %s", a.StatusCode, a.body)
		}
	}
	a := r.read(newReader(c), "POST")
	if left := m.alive(); left > 0 {
		t.Errorf("%d processes live", left)
	}
	out, _ := a.members(t)["stdout"].(string)
	if n := strings.Count(out, "\n"); n < 20 || n > 256 {
		t.Errorf("it started %d processes: %d %.300s", n, a.StatusCode, a.body)
	}
	r.ask(run("/", "echo", "x")).wantOutput(t, "x\n", 0)
}

// Floods on both streams are stopped, and do not stop each other.
func TestFloods(t *testing.T) {
	r := start(t, shells(nil))
	m := newMarker()
	for range 4 {
		r.ask(sh("yes %[1]s & yes %[1]s >&2 & (trap '' TERM; exec setsid yes %[1]s) & wait", m)).wantRefusal(t, "POST", 413, "output_too_large")
		if left := m.alive(); left > 0 {
			t.Fatalf("%d processes live", left)
		}
	}
	r.ask(sh("head -c 10000000000 /dev/zero")).wantRefusal(t, "POST", 413, "output_too_large")
}

// Many clients that come and go leave nothing behind: no process, no descriptor.
func TestManyClientsThatGo(t *testing.T) {
	r := start(t, shells(func(c *site.Config) { c.MaxConcurrent, c.MaxQueue = 4, 64 }))
	r.ask(sh(":"))
	m := newMarker()
	before := descriptors(t)
	for range 40 {
		c := r.send(sh("setsid sleep %[1]s & sleep %[1]s", m))
		c.Close()
	}
	within(t, patience, "they are dead", func() bool { return m.alive() == 0 })
	// What is kept for the next calls: four cgroups and user namespaces, two processes.
	const kept = 4*(4+1) + 2*3
	within(t, patience, "nothing of them is open", func() bool { return descriptors(t) <= before+kept })
	r.ask(sh("echo x")).wantOutput(t, "x\n", 0)
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range open {
		if _, err := os.Readlink(name); err == nil {
			n++
		}
	}
	return n
}
