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
	const count = 32
	row{id: "V53", needs: "proc", from: 2, partly: "fs.read, syscalls"}.each(t, func(s *scene) {
		s.base = s.base.with("limits", "{wallMs: 120000, graceMs: 100}")
		r := s.runtime(s.compile(s.base))
		var answers [count]answer
		var failed atomic.Bool // then the others wait for nothing
		var running sync.WaitGroup
		for i := range count {
			running.Go(func() {
				a := &answers[i]
				a.result, a.err = r.Do(s.Context(), durward.Call{
					Tool: "command", Dir: s.workspace, Argv: []string{s.attemptPath(), "mingle", fmt.Sprint(i), fmt.Sprint(count)},
				})
				a.read()
				failed.Store(failed.Load() || a.err != nil)
			})
		}
		// What they are called on this machine they learn when all of them are there.
		var numbers strings.Builder
		for i := range count {
			line := fmt.Sprintf("%s mingle %d %d", s.attemptPath(), i, count)
			var pids []int
			waitFor(s.T, line, func() bool {
				pids = attempts(s.T, line)
				return len(pids) == 1 || failed.Load()
			})
			if failed.Load() {
				break
			}
			_, _ = fmt.Fprintln(&numbers, pids[0]) // a builder takes everything
			waitFor(s.T, "its secret", func() bool {
				_, err := os.Stat(filepath.Join(s.workspace, fmt.Sprint("ready-", i)))
				return err == nil || failed.Load()
			})
		}
		s.makeFile("numbers", 0, numbers.String(), 0o644)
		s.check(os.Rename(s.path("numbers"), filepath.Join(s.workspace, "numbers")))
		running.Wait()
		for i, a := range answers {
			if a.err != nil || a.Err != "" || a.Got != "" {
				s.Errorf("run %d: %v, %v; it reached %q", i, a.err, a, a.Got)
			}
		}
	})
}
