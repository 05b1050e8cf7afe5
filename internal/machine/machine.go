// Package machine tells what policy has to know of this machine.
package machine

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/durward/durward/internal/policy"
)

// Host gives what compiling a policy asks for: physical paths and the directories of
// git, looked up when they are asked for. The rest is the caller's to fill in.
func Host(workspace string) policy.Host {
	return policy.Host{Workspace: workspace, Resolve: physical, Mark: mark, GitDirs: gitDirs}
}

// gitDirs follows the ".git" file of a work tree, "gitdir: PATH", to its directory and
// on to the one it shares with the other work trees.
func gitDirs(dir string) []string {
	own, ok := strings.CutPrefix(firstLine(filepath.Join(dir, ".git")), "gitdir: ")
	if !ok {
		return nil
	}
	own = under(dir, own)
	if common := firstLine(filepath.Join(own, "commondir")); common != "" {
		return []string{own, under(own, common)}
	}
	return []string{own}
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// firstLine gives the first line of a regular file, or "".
func firstLine(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimRight(line, "\r")
}
