package main

import (
	"os"
	"path/filepath"
	"testing"
)

// openDir makes a directory that everybody may look into.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != filepath.Clean(os.TempDir()) && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func plant(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
