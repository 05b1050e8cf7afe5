package pathguard

import (
	"path/filepath"
	"strings"

	"github.com/durward/durward"
)

const maxPathBytes = 4096

// check refuses what no kernel would take as a path.
func check(path string) error {
	switch {
	case path == "":
		return &durward.Error{Reason: durward.EmptyPath, Op: "path"}
	case strings.IndexByte(path, 0) >= 0:
		return &durward.Error{Reason: durward.NULInPath, Op: "path", Path: path}
	case len(path) > maxPathBytes:
		return &durward.Error{
			Reason: durward.PathTooLong, Op: "path", Path: path, Err: durward.Detail{Limit: maxPathBytes, Actual: int64(len(path))},
		}
	}
	return nil
}

// absolute gives a path from the root of the machine. Nothing is cleaned.
func (g *Guard) absolute(path string) string { return join(g.o.Start, g.inHome(path)) }

// inHome puts the home directory in the place of "~". "~name" is a name like any other.
func (g *Guard) inHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if g.o.Home == "" || !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return g.o.Home + rest
}

// join puts a relative path in a directory; in none it stays relative.
func join(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}
