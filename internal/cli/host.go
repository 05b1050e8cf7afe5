package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/durward/durward/internal/policy"
)

// host is what policy has to know of this machine; root is its workspace.
func (p *program) host(root string, own ...string) policy.Host {
	// A state folder that cannot be is refused where it is opened.
	if state, err := p.stateDir(); err == nil && !odd(state) {
		own = append(own, state)
	}
	return policy.Host{
		Home: p.home(), Workspace: root, Environ: p.env,
		Resolve: filepath.EvalSymlinks, GitDirs: gitDirs, Own: own,
	}
}

// odd reports whether a path neither exists nor is merely missing.
func odd(path string) bool {
	_, err := os.Stat(path)
	return err != nil && !errors.Is(err, os.ErrNotExist)
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
