package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const installPage = "../../docs/install.md"

// TestTheInstallPageRemovesEverything uses durward in a home, removes it as the page says, and
// looks at what is left.
func TestTheInstallPageRemovesEverything(t *testing.T) {
	home := t.TempDir()
	shell := func(line string) string {
		t.Helper()
		c := exec.Command("sh", "-c", line)
		c.Dir, c.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	for _, dir := range []string{home, filepath.Dir(home)} { // root's commands run as somebody else
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shell("mkdir -p .local/share/durward/bin && cp $(command -v durward) .local/share/durward/bin && chmod 755 .local/share/durward/bin/durward")
	shell("export PATH=$HOME/.local/share/durward/bin:$PATH; durward exec -- true && mkdir work && durward policy add-root work && durward doctor")
	if made := files(t, home); len(made) < 4 {
		t.Errorf("there is no more to remove than %q", made)
	}
	shell(markedBlock(t, installPage, "remove"))
	if left := files(t, home); len(left) > 0 {
		t.Errorf("the page leaves %q", left)
	}
}

// files lists the files below a folder.
func files(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// markedBlock gives the block behind a mark of a page.
func markedBlock(t *testing.T, page, mark string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)<!-- " + mark + " -->\n```\n(.*?)```").FindStringSubmatch(textOf(t, page))
	if found == nil {
		t.Fatalf("%s marks no block with %s", page, mark)
	}
	return found[1]
}

// The README verifies a release as the page does.
func TestTheREADMEVerifiesAsThePageDoes(t *testing.T) {
	if block := markedBlock(t, installPage, "verify"); !strings.Contains(textOf(t, "../../README.md"), "```\n"+block) {
		t.Errorf("README.md has another way than\n%s", block)
	}
}
