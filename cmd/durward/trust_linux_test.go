//go:build amd64 || arm64

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is trusted is the text that was shown, and nothing without a yes: a file that is changed
// while somebody reads what it says is not trusted as it is then.
func TestWhatIsTrustedIsWhatWasShown(t *testing.T) {
	for _, test := range []struct {
		answer, meanwhile string
		status            int
		listed            string
	}{
		{"y\n", "", 0, "trusted "},
		{"y\n", "audit: {keep: 1}\n", 0, "changed "},
		{"\n", "", 10, "no file is trusted"},
		{"n\n", "", 10, "no file is trusted"},
		{"\x04", "", 10, "no file is trusted"},
	} {
		dir := openDir(t)
		file, state := filepath.Join(dir, "durward.yaml"), "DURWARD_STATE_DIR="+filepath.Join(dir, "state")
		plant(t, file, "audit: {keep: 20}\n")
		d := sitWith(t, func(c *exec.Cmd) { c.Dir, c.Env = dir, append(c.Env, state, "CI=", "DURWARD_NO_INPUT=") }, "trust", "add")
		if said := d.reads("trust durward.yaml as it is? [y/N] "); !strings.Contains(said, "sets audit.keep to 20 instead of 10") {
			t.Errorf("the terminal got %q", said)
		}
		if test.meanwhile != "" {
			plant(t, file, test.meanwhile)
		}
		d.types(test.answer)
		d.ends(test.status)
		list := program(t, "trust", "list")
		list.Env = append(list.Env, state)
		out, err := list.Output()
		if err != nil || !strings.Contains(string(out), test.listed) {
			t.Errorf("%q: the list is %s, %v", test.answer, out, err)
		}
	}
}
