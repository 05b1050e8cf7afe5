//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward/internal/sandbox/landlock"
)

// The /proc that we see may be that of another process-id space, as after unshare --pid
// --fork: then it has somebody else, or nobody, under the number of our child. What a cell
// runs begins in its room all the same.
//
// Where the two are the same this shows nothing. To see it, as somebody who is not root: have one's own processes use up the numbers that
// come next in the new space.
func TestACellWhereProcIsAnothers(t *testing.T) {
	self, _ := os.Readlink("/proc/self")
	t.Logf("we are %d, /proc/self is %s", os.Getpid(), self)
	for _, rules := range []bool{true, false} {
		t.Run(fmt.Sprintf("landlock=%v", rules), func(t *testing.T) {
			victim := filepath.Join(t.TempDir(), "victim")
			if err := os.WriteFile(victim, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			r, s, _ := warmCell(t, func(r *trial, dir string) {
				if !rules {
					r.host.landlock = func() landlock.ABI { return 0 }
				}
				up, err := filepath.Rel(dir, victim)
				if err != nil {
					t.Fatal(err)
				}
				script := filepath.Join(dir, "run")
				if err := os.WriteFile(script, []byte("#!/bin/sh\nchmod 641 "+up+"; cat "+up+"; echo evil >> "+up+"; true\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				r.program(t, script)
			})
			for i := range 4 {
				n := s.waiting(r.compile(t).key)
				said := r.again(t, s)
				info, err := os.Stat(victim)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := os.ReadFile(victim)
				if info.Mode() != fs.FileMode(0o600) || string(text) != "secret" || strings.Contains(said, "secret") {
					t.Fatalf("call %d, %d cells waited: it left its room: %v, holds %q, said %q", i, n, info.Mode(), text, said)
				}
			}
		})
	}
}
