//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"path/filepath"
	"testing"
)

// installPython gives a python with the packages that testdata/servers lists: servers of MCP, and
// the library that they and clients are made of.
func installPython(t *testing.T) (python string) {
	t.Helper()
	list, err := filepath.Abs("testdata/servers/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	system := command(t, nil, "python3", "-c", "import sys; print(sys.executable, sys.version)")
	return filepath.Join(cached(t, "python", system+textOf(t, list), func(work string) {
		command(t, nil, "python3", "-m", "venv", work)
		command(t, nil, filepath.Join(work, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "-r", list)
	}), "bin", "python")
}
