package seatbelt

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// A filter says which paths a rule is for: "literal" for the one, "subpath" for all
// that lies in it, too; "name" and "tree" for the same in any spelling.
type filter struct{ kind, path string }

func literals(paths []string) []filter { return filters("literal", paths) }

func subpaths(paths []string) []filter { return filters("subpath", paths) }

func filters(kind string, paths []string) []filter {
	list := make([]filter, len(paths))
	for i, p := range paths {
		list[i] = filter{kind, p}
	}
	return unique(list)
}

// unique sorts: the order of one rule's filters means nothing.
func unique(list []filter) []filter {
	slices.SortFunc(list, func(a, b filter) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(b.kind, a.kind)) })
	return slices.Compact(list)
}

// String gives the form that a profile has, or refuses a path that cannot be written
// down for certain.
func (f filter) String() (string, error) {
	if !path.IsAbs(f.path) || path.Clean(f.path) != f.path {
		return "", fmt.Errorf("%q is not an absolute path without detours", f.path)
	}
	if !utf8.ValidString(f.path) || strings.ContainsFunc(f.path, control) {
		return "", fmt.Errorf("%q holds what a Seatbelt profile cannot express", f.path)
	}
	switch f.kind {
	case "name":
		return `(regex #"^` + anySpelling(f.path) + `$")`, nil
	case "tree":
		return `(regex #"^` + anySpelling(f.path) + `(/|$)")`, nil
	}
	return "(" + f.kind + " " + quote(f.path) + ")", nil
}

func control(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quote gives a string of the language. What it does not escape, [filter.String] refuses.
func quote(s string) string { return `"` + escapes.Replace(s) + `"` }

// anySpelling gives an expression for a path in every spelling that a file system of macOS
// may take for the same: any case of letters, another character that folds to one,
// composed or not. It is for denying only, because it matches too much rather than too
// little. It needs no escapes: only letters, digits, "/", "_" and "-" stand for themselves.
func anySpelling(one string) string {
	var b strings.Builder
	runes := []rune(strings.TrimSuffix(one, "/"))
	for i, r := range runes {
		switch lower := r | 0x20; {
		case r > '~', i+1 < len(runes) && runes[i+1] > '~': // with an accent of its own
			b.WriteString("[^/]*")
		case lower == 'k', lower == 's': // U+212A and U+017F are the same
			fmt.Fprintf(&b, "([%c%c]|[^ -~]+)", lower, lower&^0x20)
		case lower >= 'a' && lower <= 'z':
			fmt.Fprintf(&b, "[%c%c]", lower, lower&^0x20)
		case r >= '0' && r <= '9', strings.ContainsRune("/_-", r):
			b.WriteRune(r)
		default:
			b.WriteString(".")
		}
	}
	return strings.ReplaceAll(b.String(), "[^/]*[^/]*", "[^/]*")
}
