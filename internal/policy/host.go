package policy

import (
	"errors"
	"runtime"
)

// ErrNotDirectory says that a file stands where a directory would have to be.
var ErrNotDirectory = errors.New("not a directory")

// A Host is all that compiling needs to know of this machine. Nothing else is asked.
type Host struct {
	// GOOS is the system whose sets are meant; empty means this one.
	GOOS string
	// Home and Workspace are absolute paths. Without one of them what refers to it is a
	// mistake; without a workspace no working directory is refused for lying outside.
	Home, Workspace string
	// Environ is the runtime's own environment, from which "pass" copies.
	Environ map[string]string
	// Resolve gives the physical path of an existing one: absolute, free of symbolic
	// links. Its error is fs.ErrNotExist, wrapped or not, when the path does not exist, and
	// ErrNotDirectory when a file stands where a directory would have to be. A path error
	// names where something is missing, after the links on the way there.
	Resolve func(path string) (string, error)
	// Mark tells what stands at a path. Nil means that it is not known; then Resolve is asked.
	Mark func(path string) Mark
	// GitDirs gives the directories that a ".git" file in dir leads to: that of the work
	// tree and the common one. Nil or no result means that there is no such file.
	GitDirs func(dir string) []string
	// Own lists the runtime's own policy, state and audit files. @agent protects them.
	Own []string
	// Hidden lists what no command is to see, whatever the policy lets it read.
	Hidden []string
}

// A Mark tells what stands at the end of a path: while it is the same, the path leads where
// it did, or to the same thing by another way.
type Mark struct {
	Device, Inode uint64
	// Why is zero where something stands there, or else the number of the error.
	Why uint64
}

func (h Host) goos() string {
	if h.GOOS == "" {
		return runtime.GOOS
	}
	return h.GOOS
}

func (h Host) gitDirs(dir string) []string {
	if h.GitDirs == nil {
		return nil
	}
	return h.GitDirs(dir)
}
