package mcppolicy

import (
	"io/fs"
	"runtime"
)

// A Host is all that compiling needs to know of this machine. Nothing else is asked. Its
// functions may be called concurrently, and after compiling by [Command.Confine].
type Host struct {
	// GOOS is the system that commands are chosen for; empty means this one.
	GOOS string
	// Home is the home directory that "~" stands for; empty means that there is none.
	Home string
	// Path lists the directories of the server's PATH. Those that are not absolute are
	// passed over.
	Path []string
	// Extensions are put behind a bare name of a program, as Windows does: ".exe".
	Extensions []string
	// Environ is the server's own environment. Windows needs four variables of it.
	Environ map[string]string
	// File is the physical path of the file that the document was read from, or is to be kept
	// in; empty means none.
	File string
	// Named is the absolute path by which File is reached; empty means by itself.
	Named string
	// Mode is the mode of the file that the document was read from; zero means unknown.
	Mode fs.FileMode
	// Resolve gives the physical path of an existing one: absolute, free of symbolic
	// links. Its error is fs.ErrNotExist, wrapped or not, when the path does not exist.
	Resolve func(path string) (string, error)
	// Readlink gives what a symbolic link holds, and an error for everything else.
	Readlink func(path string) (string, error)
	// Stat gives the mode of an existing file; it follows links.
	Stat func(path string) (fs.FileMode, error)
	// GitDirs is that of [policy.Host], Own and Hidden are too.
	GitDirs     func(dir string) []string
	Own, Hidden []string
}

func (h Host) goos() string {
	if h.GOOS == "" {
		return runtime.GOOS
	}
	return h.GOOS
}

// platform gives the name that a policy has for the system.
func (h Host) platform() string {
	if h.goos() == "darwin" {
		return "macos"
	}
	return h.goos()
}

func (h Host) windows() bool { return h.goos() == "windows" }
