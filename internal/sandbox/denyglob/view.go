//go:build linux || darwin

package denyglob

import (
	"path/filepath"
	"slices"
	"strings"
)

// A view lists the paths that a command can see, with all that lies in them.
type view []string

func viewOf(within []string) (view, error) {
	if len(within) == 0 {
		return nil, refusal("name the directories that the command sees", "nothing says where to search")
	}
	for _, path := range within {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.Contains(path, "\x00") {
			return nil, refusal("name directories by their absolute paths", "%s is not where a search can be", quoted(path))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(within))), nil
}

// names is whether a path is one of the view's own. What lies in it is in the view, too.
func (v view) names(path string) bool {
	_, found := slices.BinarySearch(v, path)
	return found
}

// towards gives the names in a directory by which one gets to the view's paths beneath it.
func (v view) towards(dir string) []string {
	var list []string
	for _, path := range v {
		if below, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && below != "" {
			name, _, _ := strings.Cut(below, "/")
			list = append(list, name)
		}
	}
	return slices.Compact(list)
}
