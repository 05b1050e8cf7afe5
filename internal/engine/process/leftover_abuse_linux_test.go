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

// A thousand runs at each level leave nothing that one has not left.
func TestAThousandRunsLeaveNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T, at durward.Level) {
		s := subject(t, at)
		g := s.Grant
		g.PrivateDir = []string{"HOME", "TMPDIR"}
		engine := s.Engine.(*Engine)
		one := func() {
			t.Helper()
			c := call("sh", "-c", `: >"$HOME/file"; (setsid sleep 300 &) ; exit 3`)
			c.Dir = s.Calls.Dir
			r, err := engine.run(t.Context(), c, g)
			if err != nil || r.Exit == nil || *r.Exit != 3 {
				t.Fatalf("%+v, %v", r.Exit, err)
			}
		}
		for range 3 { // what is kept is there
			one()
		}
		before := machineState(t, engine)
		for range 1000 {
			one()
		}
		if after := machineState(t, engine); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

// machineState counts all that a run could leave behind.
func machineState(t *testing.T, e *Engine) string {
	t.Helper()
	count := func(pattern string) int {
		found, err := filepath.Glob(pattern)
		must(t, err)
		return len(found)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	namespaces := map[string]bool{}
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.Contains(target, ":[") {
			namespaces[target] = true
		}
	}
	watches := 0
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && target == "anon_inode:inotify" {
			watches++
		}
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	must(t, err)
	return fmt.Sprintf("%d processes, %d descriptors, %d namespaces held, %d watches, %d mounts, %d private directories, %d cgroups",
		len(strings.Fields(string(children))), len(links), len(namespaces), watches, strings.Count(string(mounts), "\n"),
		count(filepath.Join(e.scratch.dir(), "*")), count("/sys/fs/cgroup/*/durward*")+count("/sys/fs/cgroup/*/durward*/*"))
}

