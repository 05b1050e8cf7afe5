package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/pathguard"
)

// open opens the working directory of a call that asks for one, or for none.
func (s Spec) open(ctx context.Context, rule Directory, asked string) (*os.File, error) {
	switch {
	case rule.Within && asked == "":
		return s.Guard.OpenWorkingDir(ctx, unconfined{}, s.Guard.Roots()[0])
	case rule.Within:
		return s.Guard.OpenWorkingDir(ctx, unconfined{}, asked)
	case rule.Fixed == "" && asked == "":
		return os.Open("/")
	case rule.Fixed == "":
		return nil, notAllowed("the command has no working directory to choose", "leave cwd out")
	}
	fixed, err := openFixed(rule.Fixed)
	if err != nil {
		return nil, &durward.Error{Reason: durward.DirUnavailable, Op: "prepare", Rule: "cwd", Err: err}
	}
	if asked == "" {
		return fixed, nil
	}
	if asked != rule.Fixed && !s.same(ctx, fixed, asked) {
		fixed.Close()
		return nil, notAllowed("the command runs in one directory alone", "leave cwd out")
	}
	return fixed, nil
}

// openFixed opens the directory that had a physical path when the policy was loaded. No link that has
// come to stand on the way is followed.
func openFixed(path string) (*os.File, error) {
	top := filepath.VolumeName(path) + string(filepath.Separator)
	root, err := fsroot.Open(top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, ok := fsroot.Below(top, path)
	if !ok {
		return nil, fmt.Errorf("%s is no absolute path", path)
	}
	return root.OpenPlainDir(name, fsroot.Rules{})
}

// same reports whether a path leads to an open directory. What lies outside of the roots
// is only looked at by its text, so that nothing is told of it.
func (s Spec) same(ctx context.Context, dir *os.File, path string) bool {
	quiet := s.Guard.Explaining(func(durward.Step) {}) // what it says decides nothing
	found, err := quiet.OpenWorkingDir(ctx, unconfined{}, path)
	if err != nil {
		return false
	}
	defer found.Close()
	one, err := dir.Stat()
	other, err2 := found.Stat()
	return err == nil && err2 == nil && os.SameFile(one, other)
}

func notAllowed(why, hint string) error {
	return &durward.Error{Reason: durward.DirNotAllowed, Op: "prepare", Rule: "cwdPolicy", Hint: hint, Err: errors.New(why)}
}

// unconfined opens directories. Nothing is read in them: the command that begins there is
// held by its own sandbox.
type unconfined struct{ pathguard.Files }

// OpenDir opens one beneath a root.
func (unconfined) OpenDir(_ context.Context, root *fsroot.Root, name string, rules fsroot.Rules) (*os.File, error) {
	return root.OpenDir(name, rules)
}
