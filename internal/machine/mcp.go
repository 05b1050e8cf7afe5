package machine

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/durward/durward/internal/mcppolicy"
)

// MCPHost gives what compiling a policy.yaml asks for. mode is that of its file.
func MCPHost(mode fs.FileMode) mcppolicy.Host {
	h := mcppolicy.Host{
		Home: Home(), Path: filepath.SplitList(os.Getenv("PATH")), Environ: environ(), Mode: mode,
		Resolve: resolved, Readlink: os.Readlink, Stat: modeOf, GitDirs: gitDirs,
	}
	if runtime.GOOS == "windows" {
		h.Extensions = []string{".exe", ".com", ".bat", ".cmd"}
	}
	return h
}

// resolved gives the physical path of an existing one. One that is physical, as those of a
// policy in use are at each call, is found so by one question.
func resolved(path string) (string, error) {
	if filepath.IsAbs(path) && path == filepath.Clean(path) && linkless(path) {
		return path, nil
	}
	return filepath.EvalSymlinks(path)
}

// Home is the home directory of this process's user, by the user database, and else by the
// environment; empty where neither knows one.
func Home() string {
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return home
	}
	return ""
}

func modeOf(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func environ() map[string]string {
	env := make(map[string]string)
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}
