//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// npmPackages is a folder with the packages of testdata/clients, a node among them: not every
// system's own is new enough.
type npmPackages string

// installPackages gets the packages into the user's cache, once for each lock. Another run may
// do so at the same time: the folder is there as a whole or not at all.
func installPackages(t *testing.T) npmPackages {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	list, lock := textOf(t, "testdata/clients/package.json"), textOf(t, "testdata/clients/package-lock.json")
	folder := filepath.Join(cache, "durward", fmt.Sprintf("clients-%.8x", sha256.Sum256([]byte(lock))))
	if _, err := os.Stat(folder); err == nil {
		return npmPackages(folder)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "clients-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) }) // it is there when something failed
	plant(t, filepath.Join(work, "package.json"), list)
	plant(t, filepath.Join(work, "package-lock.json"), lock)
	command(t, nil, "npm", "ci", "--prefix", work, "--ignore-scripts", "--no-audit", "--no-fund")
	command(t, nil, npmPackages(work).node(), "--version") // npm goes on without it if it cannot have it
	if err := os.Rename(work, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return npmPackages(folder)
}

func (n npmPackages) path(name string) string { return filepath.Join(string(n), "node_modules", name) }

// node is asked for in its own package: npm 9 leaves no link to it, once it has put aside the
// node for the other kind of machine.
func (n npmPackages) node() string {
	machine := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return n.path("node-linux-" + machine + "/bin/node")
}
