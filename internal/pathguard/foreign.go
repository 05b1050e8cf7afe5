package pathguard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

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
//	%2fetc, %252fetc        refused for the same reason; 100%, %41 and a%2fb stay inside
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
	readings, rule := g.readings(path)
	if rule != "" {
		return "", foreign(rule, path)
	}
	inside, err := waited(ctx, op, func() (bool, error) {
		return !slices.ContainsFunc(readings, func(reading string) bool { return !g.holdsForeign(reading) }), nil
	}, func(bool) {})
	if err != nil {
		return "", err
	}
	if !inside {
		return "", foreign("outsideSandbox", path)
	}
	return filepath.Clean(join(g.roots[0].path, readings[0])), nil
}

// holdsForeign reports whether a path lies in the first root, by its text and as the kernel goes.
func (g *Guard) holdsForeign(path string) bool {
	root := g.roots[0].path
	full := join(root, path)
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
