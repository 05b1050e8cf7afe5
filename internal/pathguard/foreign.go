package pathguard

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// JudgeForeign judges a path that another program is to open, in the first root, and gives
// it from the root of the machine. That program may read it in a way of its own, so every
// reading has to stay inside: the text without its detours, and the way that the kernel
// would go now. What is not there yet is judged by its name; an empty path is the root.
//
//	a.txt                   joined to the root
//	file:///srv/docs/a.txt  decoded once, and judged as it is written, too
//	file:a.txt, file://?a   refused, for programs do not agree which path that is
//	~/a.txt                 refused, for the program may put a home there
//	%2e%2e/a.txt            refused, and so is ..\a.txt: the program may decode it
//
// The rule of the error is outsideSandbox, tilde, nulInPath, pathTooLong, fileUriHost,
// fileUriForm, encodedTraversal or backslashTraversal. What the program opens later is not held: a link
// that is made after this leads where it leads.
func (g *Guard) JudgeForeign(ctx context.Context, path string) (string, error) {
	const op = "path"
	if err := check(path); err != nil && durward.ReasonOf(err) != durward.EmptyPath {
		e := durward.AsError(err)
		e.Rule = string(e.Reason)
		return "", e
	}
	plain, rule := plainPath(path)
	if rule != "" {
		return "", foreign(rule, path)
	}
	full := join(g.roots[0].path, plain)
	inside, err := waited(ctx, op, func() (bool, error) {
		// Not every program knows such URIs: to others one is a relative path.
		return g.holdsForeign(full) && (plain == path || g.holdsForeign(join(g.roots[0].path, path))), nil
	}, func(bool) {})
	if err != nil {
		return "", err
	}
	if !inside {
		return "", foreign("outsideSandbox", path)
	}
	return filepath.Clean(full), nil
}

// plainPath gives the path that is meant, or the rule that refuses how it is written.
func plainPath(path string) (plain, rule string) {
	switch {
	case strings.HasPrefix(path, "~"):
		return "", "tilde"
	case len(path) >= 5 && strings.EqualFold(path[:5], "file:"):
		u, err := url.Parse(path)
		if err != nil || u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
			return "", "fileUriHost"
		}
		if !strings.HasPrefix(u.Path, "/") || strings.ContainsAny(path, "?#") {
			return "", "fileUriForm"
		}
		path = u.Path
	default:
		if decoded, err := url.PathUnescape(path); err == nil && decoded != path && goesUp(decoded, "/") {
			return "", "encodedTraversal"
		}
	}
	if strings.Contains(path, `\`) && goesUp(path, `/\`) {
		return "", "backslashTraversal"
	}
	return path, ""
}

// goesUp reports whether a component of a path is "..".
func goesUp(path, separators string) bool {
	return slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(separators, r) }), "..")
}

// holdsForeign reports whether both readings of an absolute path lie in the first root.
func (g *Guard) holdsForeign(full string) bool {
	root := g.roots[0].path
	if !fsroot.Contains(root, filepath.Clean(full)) {
		return false
	}
	e, err := endOf(full)
	return fsroot.Contains(root, e.path) && (err == nil || err == errDotDot || absent(err))
}

func foreign(rule, path string) error {
	return &durward.Error{
		Reason: durward.OutsideRoot, Op: "path", Rule: rule, Path: path, Hint: "name a path within the folder, as it is",
		Err: fmt.Errorf("%q: %s", path, durward.OutsideRoot.Summary()),
	}
}
