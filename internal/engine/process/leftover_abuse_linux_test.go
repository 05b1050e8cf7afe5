//go:build linux && (amd64 || arm64) && abuse

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// A thousand runs at each level leave nothing that twenty have not left. What is kept for
// later calls may be taken in another order, which is a handful of descriptors.
func TestAThousandRunsLeaveNothing(t *testing.T) {
	const keptMore = 12
	eachLevel(t, func(t *testing.T, at durward.Level) {
		s := subject(t, at)
		g := s.Grant
		g.PrivateDir = []string{"HOME", "TMPDIR"}
		engine := s.Engine.(*Engine)
		openToAll(t, engine.scratch.parent)
		one := func(n int) {
			t.Helper()
			c := call("sh", "-c", `: >"$HOME/file"; exit 3`)
			if n%50 == 0 { // to end such a child takes a while
				c = call("sh", "-c", `: >"$HOME/file"; (setsid sleep 300 &); exit 3`)
			}
			c.Dir = s.Calls.Dir
			r, err := engine.run(t.Context(), c, g)
			if err != nil || r.Exit == nil || *r.Exit != 3 {
				t.Fatalf("%q, %v", r.Stderr.Bytes(), err)
			}
		}
		for n := range 20 {
			one(n)
		}
		before, descriptors := machineState(t, engine)
		for n := range 1000 {
			one(n)
		}
		if after, more := machineState(t, engine); after != before || more-descriptors > keptMore {
			t.Errorf("before: %s, %d descriptors\nafter: %s, %d descriptors", before, descriptors, after, more)
		}
	})
}

// machineState tells all that a run could leave behind.
func machineState(t *testing.T, e *Engine) (state string, descriptors int) {
	t.Helper()
	glob := func(pattern string) []string {
		found, err := filepath.Glob(pattern)
		must(t, err)
		return found
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	links := glob("/proc/self/fd/*")
	watches := 0
	for _, l := range links {
		if target, _ := os.Readlink(l); target == "anon_inode:inotify" {
			watches++
		}
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	must(t, err)
	return fmt.Sprintf("%d processes, %d watches, %d mounts, %d private directories",
		len(strings.Fields(string(children))), watches, strings.Count(string(mounts), "\n"), len(glob(filepath.Join(e.scratch.dir(), "*")))), len(links)
}
