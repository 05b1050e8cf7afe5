//go:build amd64 || arm64

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestInitAsksBeforeItReplaces has a person agree to one file and not to the other.
func TestInitAsksBeforeItReplaces(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README.md", "AGENTS.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	in := func(c *exec.Cmd) { c.Dir, c.Env = dir, append(c.Env, "CI=") }
	d := sitWith(t, in, "init")
	d.reads("replace README.md? [y/N] ")
	if text("README.md") != "mine" {
		t.Error("it did not wait for the answer")
	}
	d.types("\n")
	d.reads("replace AGENTS.md? [y/N] ")
	d.types("yes\n")
	d.reads("replaced AGENTS.md; kept README.md in .; next: durward serve .")
	d.ends(0)
	if text("README.md") != "mine" || text("AGENTS.md") == "mine" {
		t.Error("it did not do as it was told")
	}

	d = sitWith(t, in, "init", "--no-input")
	d.reads("kept README.md, AGENTS.md, .gitignore in .;")
	d.ends(0)
	if text("README.md") != "mine" {
		t.Error("it replaced a file that nobody was asked about")
	}
}
