//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A watched server leaves, once it has ended, none of its processes, cgroups and temporary
// files.
type watched struct {
	*server
	family []process // its descendants when remember was called
	held   []string  // what it had open then
}

// run is serve for the program of a file, and a test of what is left behind.
func run(t testing.TB, program string, flags ...string) *watched {
	t.Helper()
	s := &watched{server: serveWith(t, program, flags...)}
	t.Cleanup(func() {
		select {
		case <-s.ended:
		default:
			s.remember()
			s.stop()
		}
		s.leftNothing()
	})
	return s
}

// remember notes what is to be gone when the server has ended. A test that ends the server
// by itself calls it before.
func (s *watched) remember() { s.family, s.held = s.descendants(), s.open() }

func (s *watched) leftNothing() {
	s.t.Helper()
	within(s.t, patience, "all its processes are dead", func() bool { return !slices.ContainsFunc(s.family, alive) })
	for _, path := range s.held {
		if _, err := os.Lstat(path); err == nil && strings.HasPrefix(path, "/sys/fs/cgroup/") && strings.Contains(path, "/durward-") {
			s.t.Errorf("there still is %s", path)
		}
	}
	left, err := os.ReadDir(filepath.Join(s.dir, "tmp"))
	must(s.t, err)
	if len(left) > 0 {
		s.t.Errorf("it leaves %v", left)
	}
}

// A process is told from another of its number by when it began.
type process struct{ pid, parent, began string }

// processOf gives what /proc tells, of which the dead are left out.
func processOf(pid string) (process, bool) {
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, after, _ := strings.Cut(string(text), ") ")
	field := strings.Fields(after)
	if len(field) < 20 || field[0] == "Z" {
		return process{}, false
	}
	return process{pid, field[1], field[19]}, true
}

func alive(p process) bool {
	now, lives := processOf(p.pid)
	return lives && now.began == p.began
}

// descendants gives those of the server.
func (s *server) descendants() (found []process) {
	s.t.Helper()
	entries, err := os.ReadDir("/proc")
	must(s.t, err)
	children := make(map[string][]process)
	for _, e := range entries {
		if p, lives := processOf(e.Name()); lives {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	for next := []string{strconv.Itoa(s.cmd.Process.Pid)}; len(next) > 0; next = next[1:] {
		for _, c := range children[next[0]] {
			found = append(found, c)
			next = append(next, c.pid)
		}
	}
	return found
}

// open gives what the server has open.
func (s *server) open() (names []string) {
	s.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	must(s.t, err)
	for _, e := range entries {
		if name, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// resident is what the server has in memory, in bytes.
func (s *server) resident() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	must(s.t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(s.t, err)
	return pages * os.Getpagesize()
}

// spare is what a server may keep open for the calls to come, more than it has when a test
// begins: cgroups, user namespaces, and processes that are ready, with their pipes.
const spare = 32

// asBefore gives a function that wants the server to have come to rest, with no more open and
// no more processes than when asBefore was called.
func (s *server) asBefore() func() {
	s.t.Helper()
	p := greet(s.t, s.url)
	for i := range 4 {
		p.starts(sh(fmt.Sprint("warm", i), "exit 0"))
	}
	for i := range 4 {
		p.closed(fmt.Sprint("warm", i))
	}
	p.drop()
	processes, open := len(s.descendants()), len(s.open())
	return func() {
		s.t.Helper()
		var last string
		defer func() {
			if s.t.Failed() {
				s.t.Log(last)
			}
		}()
		within(s.t, patience, "it is as it was before", func() bool {
			now, held := len(s.descendants()), s.open()
			last = fmt.Sprintf("%d processes where %d were, %d open where %d were: %.4000q", now, processes, len(held), open, held)
			return now <= processes+4 && len(held) <= open+spare
		})
	}
}
