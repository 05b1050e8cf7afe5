package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A Program is an executable file that has been opened and judged. What is executed
// is this very file.
type Program struct {
	// Path is the physical path it was opened by.
	Path string
	file *os.File
	info os.FileInfo
	// script is set for a file that names its interpreter in its first line. Such a
	// file has to be executed by path, because the interpreter opens it again; it is
	// compared with the opened file just before.
	script bool
	// called is the path of a program that was found in PATH, as a script is to see its own
	// name: several go by more than one. Empty for a program that a path names.
	called string
}

// FindProgram looks name up as a shell would, in the directories of path and, when
// name names a directory, relative to dir; and opens it. A relative or empty entry of path
// is passed over: a program is never taken from where the caller happens to stand.
//
// The error has reason ProgramNotFound or ProgramNotExecutable.
func FindProgram(name, path, dir string) (*Program, error) {
	return find(name, path, dir, openProgram)
}

// FindShown is FindProgram for somebody who is to learn nothing of what the sets hide. Such a
// program is passed over as if it were not there.
func FindShown(name, path, dir string, f durward.Files) (*Program, error) {
	return find(name, path, dir, func(called string) (*Program, error) { return openShown(called, f) })
}

func find(name, path, dir string, open func(string) (*Program, error)) (*Program, error) {
	name = programName(name)
	if strings.ContainsAny(name, dirMarks) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return open(name)
	}
	var refused error
	for _, d := range absoluteDirs(path) {
		called := filepath.Join(d, name)
		p, err := open(called)
		if err == nil {
			p.called = called
			return p, nil
		}
		if durward.ReasonOf(err) == durward.ProgramNotExecutable && refused == nil {
			refused = err
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, &durward.Error{
		Reason: durward.ProgramNotFound, Op: "find program", Hint: "install it, or name it by its absolute path",
		Err: fmt.Errorf("%q is in none of the directories of PATH (%s)", name, path),
	}
}

// SearchPath gives a PATH without its relative and empty entries. Who looks programs up along it
// takes none from the directory that it happens to be in, which others may have filled.
func SearchPath(path string) string {
	return strings.Join(absoluteDirs(path), string(filepath.ListSeparator))
}

func absoluteDirs(path string) []string {
	return slices.DeleteFunc(filepath.SplitList(path), func(d string) bool { return !filepath.IsAbs(d) })
}

func openProgram(path string) (*Program, error) {
	f, err := openForExec(path)
	if err != nil {
		return nil, programError(path, err)
	}
	physical, err := fsroot.PhysicalPath(f)
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil && (!info.Mode().IsRegular() || !mayExecute(physical, info)) {
		err = errors.New("not an executable file")
	}
	if err != nil {
		f.Close()
		return nil, programError(path, err)
	}
	return &Program{Path: physical, file: f, info: info, script: isScript(f)}, nil
}

func openShown(path string, f durward.Files) (*Program, error) {
	p, err := openProgram(path)
	at := ""
	if err == nil {
		at = p.Path
	} else if physical, failed := filepath.EvalSymlinks(path); failed == nil {
		at = physical
	}
	if anyWithin(slices.Concat(f.Read, f.Write, f.Exec), at) && !anyWithin(f.Deny, at) {
		return p, err
	}
	if err == nil {
		p.Close()
	}
	return nil, programError(path, syscall.ENOENT)
}

func anyWithin(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return fsroot.Contains(dir, path) })
}

// unchanged reports whether Path still names the opened file.
func (p *Program) unchanged() error {
	if p.info == nil {
		return nil // it has no path
	}
	for _, path := range []string{p.Path, p.scriptPath()} {
		now, err := os.Stat(path)
		if err == nil && !os.SameFile(p.info, now) {
			err = errors.New("it was replaced while the call was prepared")
		}
		if err != nil {
			return programError(path, err)
		}
	}
	return nil
}

// scriptPath is the path by which a script is executed.
func (p *Program) scriptPath() string {
	if !p.script || p.called == "" {
		return p.Path
	}
	return p.called
}

// Close frees the descriptor.
func (p *Program) Close() error { return p.file.Close() }

func programError(path string, err error) error {
	reason, hint := durward.ProgramNotExecutable, "check that it is an executable file and that its directory can be entered"
	if errors.Is(err, os.ErrNotExist) {
		reason, hint = durward.ProgramNotFound, "check the path"
	}
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return &durward.Error{Reason: reason, Op: "open program", Hint: hint, Err: fmt.Errorf("%s: %w", path, err)}
}
