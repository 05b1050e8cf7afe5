//go:build darwin || (linux && (amd64 || arm64))

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/denyglob"
)

// runnable refuses a program that lies where none may be executed.
func runnable(p *Program, f durward.Files) error {
	if anyWithin(f.Exec, p.Path) && !anyWithin(f.Deny, p.Path) {
		return nil
	}
	return &durward.Error{
		Reason: durward.ProgramNotExecutable, Op: "sandbox", Rule: "filesystem.exec",
		Hint: "add it, or its directory, to filesystem.exec and filesystem.read",
		Err:  fmt.Errorf("%s lies outside of what the policy lets be executed", p.Path),
	}
}

// expand gives the paths that the patterns of a grant deny now, and what they lead to
// where they are symlinks: whoever opens one opens that.
func expand(ctx context.Context, g durward.Grant) ([]string, error) {
	if len(g.Files.DenyGlobs) == 0 {
		return nil, nil
	}
	within, err := visible(g)
	if err != nil {
		return nil, err
	}
	found, err := denyglob.Expand(ctx, g.Files.DenyGlobs, within)
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, target)
		}
	}
	return found, nil
}

// visible lists the directories of which a command sees anything of the machine's.
func visible(g durward.Grant) ([]string, error) {
	dirs := slices.Concat(g.Files.Read, g.Files.Write, g.Network.UnixSockets)
	dirs = slices.DeleteFunc(dirs, func(path string) bool { return path == durward.PrivateTmp })
	if !g.Files.HostReadOnly && !slices.Contains(dirs, "/") {
		return dirs, nil
	}
	dirs = slices.DeleteFunc(dirs, func(path string) bool { return path == "/" })
	entries, err := os.ReadDir("/")
	for _, e := range entries {
		if own := []string{"proc", "dev", "tmp"}; !slices.Contains(own, e.Name()) && e.Type()&os.ModeSymlink == 0 {
			dirs = append(dirs, "/"+e.Name())
		}
	}
	return dirs, err
}
