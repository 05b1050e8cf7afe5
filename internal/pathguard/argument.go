package pathguard

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/durward/durward"
)

// JudgeArgument says of an argument that names a path whether it leads inside, for a command
// that runs in a directory. What is not there yet is judged by its name. An argument that
// begins with "~" leads inside both for commands that put the home directory there and for
// those that do not. What cannot be told is refused like what is outside.
func (g *Guard) JudgeArgument(ctx context.Context, dir, argument string) error {
	const op = "argument"
	for _, full := range []string{join(dir, argument), join(dir, g.inHome(argument))} {
		inside, err := waited(ctx, op, func() (bool, error) { return g.leadsInside(full), nil }, func(bool) {})
		if err != nil {
			return err
		}
		if !inside {
			return &durward.Error{
				Reason: durward.ArgOutsideRoots, Op: op, Hint: "name paths within the allowed roots",
				Err: fmt.Errorf("%q: %s", argument, durward.ArgOutsideRoots.Summary()),
			}
		}
	}
	return nil
}

func (g *Guard) leadsInside(full string) bool {
	if check(full) != nil || !filepath.IsAbs(full) {
		return false
	}
	e, err := endOf(full)
	return g.rootOf(e.path) >= 0 && (err == nil || absent(err) && !e.dotted)
}

// endOf leads an absolute path to where it ends once the tree holds still, and follows the
// link at its end. The error is that of the walk.
func endOf(full string) (e end, err error) {
	for range maxAttempts {
		w := newWalk(following)
		err = w.along(full)
		e = w.end()
		w.close()
		if err != errChanged {
			break
		}
	}
	return e, err
}

// absent reports whether an error says that there cannot be anything.
func absent(err error) bool { return err == syscall.ENOTDIR || err == syscall.ENAMETOOLONG }
