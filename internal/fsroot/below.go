package fsroot

import (
	"os"
	"path/filepath"
	"strings"
)

// Below reports whether a path is that of a directory or lies in it, and gives it
// relative to the directory, which itself is ".". Both must be absolute: any other path
// lies nowhere.
//
// It judges names and looks at nothing, so that it tells the truth of physical paths
// only. A name that is to be opened goes to a [Root] instead.
func Below(dir, path string) (rel string, ok bool) {
	if !filepath.IsAbs(dir) {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Contains reports whether a path is that of a directory or lies in it. Both must be
// absolute, clean and physical, and are compared as they stand.
func Contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && dir != "" && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1]))
}
