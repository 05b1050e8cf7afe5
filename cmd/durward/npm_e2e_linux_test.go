//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"path/filepath"
	"runtime"
	"testing"
)

// npmPackages is a folder with the packages that a folder of testdata lists.
type npmPackages string

// installClients gets the clients of MCP, and a node for them: not every system's own is new
// enough.
func installClients(t *testing.T) npmPackages {
	t.Helper()
	return installPackages(t, "clients", npmPackages.node)
}

// installPackages gets the packages of a set, once for each lock. One program of theirs is for
// one kind of machine, and npm goes on without it if it cannot have it.
func installPackages(t *testing.T, set string, program func(npmPackages) string) npmPackages {
	t.Helper()
	list, lock := textOf(t, "testdata/"+set+"/package.json"), textOf(t, "testdata/"+set+"/package-lock.json")
	return npmPackages(cached(t, set, lock, func(work string) {
		plant(t, filepath.Join(work, "package.json"), list)
		plant(t, filepath.Join(work, "package-lock.json"), lock)
		command(t, nil, "npm", "ci", "--prefix", work, "--ignore-scripts", "--no-audit", "--no-fund")
		command(t, []string{"HOME=" + work}, program(npmPackages(work)), "--version")
	}))
}

func (n npmPackages) path(name string) string { return filepath.Join(string(n), "node_modules", name) }

// node is asked for in its own package: npm 9 leaves no link to it, once it has put aside the
// node for the other kind of machine.
func (n npmPackages) node() string {
	machine := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return n.path("node-linux-" + machine + "/bin/node")
}

// codex is the program itself, without the script that looks for it.
func (n npmPackages) codex() string {
	machine := map[string]struct{ npm, rust string }{"amd64": {"x64", "x86_64"}, "arm64": {"arm64", "aarch64"}}[runtime.GOARCH]
	return n.path("@openai/codex-linux-" + machine.npm + "/vendor/" + machine.rust + "-unknown-linux-musl/bin/codex")
}
