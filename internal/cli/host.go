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
	for _, layer := range p.configLayers() {
		if path := absolute(layer.path, p.dir); !odd(path) {
			own = append(own, path)
		}
	}
	return policy.Host{
		Home: p.home(), Workspace: root, Environ: p.env,
		Resolve: filepath.EvalSymlinks, GitDirs: gitDirs, Own: own,
	}
}

// blameHome names a HOME that no path below can be judged by, instead of each such path.
func (p *program) blameHome(err error) error {
	home := p.home()
	if err == nil || home == "" {
		return err
	}
	const fix = "set HOME to a folder that you can enter, or unset it"
	if !filepath.IsAbs(home) {
		return usageError(fix, "HOME is %q, which is no absolute path", home)
	}
	if _, cannot := os.Stat(home + string(filepath.Separator) + "."); cannot != nil && !errors.Is(cannot, os.ErrNotExist) {
		return usageError(fix, "HOME is %q, which cannot be entered: %w", home, cause(cannot))
	}
	return err
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
