//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durward/durward"
)

// Many runs side by side, each of which tries to see, to signal and to read all others.
func TestV53ConcurrentRuns(t *testing.T) {
	row{id: "V53", needs: "proc", from: 2, partly: "fs.read, syscalls", serial: true}.each(t, func(s *scene) {
		for i, a := range s.mingle(s.base, 32) {
			if a.err != nil || a.Err != "" || a.Got != "" {
				s.Errorf("run %d: %v", i, a)
			}
		}
	})
	t.Run("free", func(t *testing.T) {
		s := newScene(t, row{id: "V53"}, 0, users()[0])
		for i, a := range s.mingle(s.free(), 3) {
			if a.Err != "" || !strings.Contains(a.Got, "secret of") {
				s.Errorf("run %d: %v; it was to reach the others where nothing confines it", i, a)
			}
		}
		s.end()
	})
}

// mingle starts that many runs at once and tells each of them, when all are there, what
// the others are called on this machine.
func (s *scene) mingle(d document, count int) []answer {
	s.Helper()
	r := s.runtime(s.compile(d.with("limits", "{wallMs: 120000, graceMs: 100}")))
	answers := make([]answer, count)
	var failed atomic.Bool // then the others wait for nothing
	var running sync.WaitGroup
	defer running.Wait()
	for i := range answers {
		running.Go(func() {
			a := &answers[i]
			a.result, a.err = r.Do(s.Context(), durward.Call{
				Tool: "command", Dir: s.workspace, Argv: []string{s.attemptPath(), "mingle", fmt.Sprint(i), fmt.Sprint(count)},
			})
			a.read()
			failed.Store(failed.Load() || a.err != nil)
		})
	}
	numbers := ""
	for i := range answers {
		var pids []int
		waitFor(s.T, "run "+fmt.Sprint(i), func() bool {
			pids = attempts(s.T, fmt.Sprintf("%s mingle %d %d", s.attemptPath(), i, count))
			_, err := os.Stat(filepath.Join(s.workspace, fmt.Sprint("ready-", i)))
			return len(pids) == 1 && err == nil || failed.Load()
		})
		if failed.Load() {
			return answers
		}
		numbers += fmt.Sprintln(pids[0])
	}
	s.makeFile("numbers", 0, numbers, 0o644)
	s.check(os.Rename(s.path("numbers"), filepath.Join(s.workspace, "numbers")))
	running.Wait()
	return answers
}
