package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestACommandIsTheProgramThatWasJudged changes what the name of a program leads to while
// it is served. What runs is what it led to at first, and is called by that name.
func TestACommandIsTheProgramThatWasJudged(t *testing.T) {
	dir := openDir(t)
	name, policy := filepath.Join(dir, "name"), filepath.Join(dir, "policy.yaml")
	leadsTo := func(program string) {
		if err := os.Symlink(program, name+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	leadsTo("/bin/sh")
	plant(t, policy, fmt.Sprintf("version: 1\nallowedRoots: [%q]\ncommands: [{id: me, exec: %q, args: {fixed: [-c, 'echo $0']}}]\n", dir, name))
	d := talkWith(t, []string{"durward", "mcp", "--config", policy}, func(c *exec.Cmd) {
		c.Dir, c.Env = dir, append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	})
	for range 2 {
		d.sends([]byte(`{"jsonrpc":"2.0","id":1,"method":"cmd.run","params":{"commandId":"me"}}`))
		d.gets(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"exitCode":0,"stdout":%q,"stderr":"","timedOut":false,"truncated":false}}`, name+"\n"))
		leadsTo("/bin/false")
	}
	d.ends()
}
