package machine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGitDirs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n")
	write("main/.git/worktrees/tree/commondir", "../..\n")
	write("module/.git", "gitdir: "+filepath.Join(dir, "modules", "m")+"\n")
	write("odd/.git", "something else\n")
	for _, test := range []struct {
		name string
		want []string
	}{
		{"tree", []string{filepath.Join(dir, "main/.git/worktrees/tree"), filepath.Join(dir, "main/.git")}},
		{"module", []string{filepath.Join(dir, "modules", "m")}},
		{"odd", nil},
		{"main", nil},
		{"missing", nil},
	} {
		if got := gitDirs(filepath.Join(dir, test.name)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
