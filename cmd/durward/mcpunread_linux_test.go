package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A client that does not read the log holds up neither its own calls nor the end.
func TestAClientOfMCPThatReadsNoLog(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	plant(t, policy, "version: 1\nallowedRoots: [/proc/self/cwd]\n")
	_, log := smallPipe(t) // nobody reads it
	defer log.Close()
	d := talkWith(t, []string{"durward", "mcp", "--config", policy}, func(c *exec.Cmd) {
		c.Dir, c.Stderr, c.Env = dir, log, append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(dir, "state"))
	})
	for _, path := range []string{"/nope", "/" + strings.Repeat("x", 1<<15)} {
		for i := range 300 {
			d.sends(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"fs.read","params":{"path":%q}}`, i, path))
			if !d.out.Scan() || !strings.Contains(d.out.Text(), fmt.Sprintf(`"id":%d,"error"`, i)) {
				t.Fatalf("call %d is answered with %.100q: %v", i, d.out.Text(), d.out.Err())
			}
		}
	}
	d.ends()
}
