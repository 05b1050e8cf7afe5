package execserver

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/fileuri"
	"github.com/durward/durward/internal/machine"
)

// machineInfo is what clients are told of this machine.
func machineInfo(dir, version string) protocol.EnvironmentInfo {
	cwd, tmp := fileuri.Format(dir), fileuri.Format(os.TempDir())
	info := protocol.EnvironmentInfo{
		Shell: shell(), Cwd: &cwd, TempDir: tmp, TemporaryDirectories: []string{tmp}, PlatformOS: runtime.GOOS, ExecutorVersion: version,
	}
	if home := home(); home != "" {
		info.UserHomeDir = fileuri.Format(home)
	}
	return info
}

// home is the home directory: what HOME names, and else what the system says.
func home() string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return filepath.Clean(home)
	}
	return machine.Home()
}

// shell is the one that SHELL names, or the best that is there.
func shell() protocol.Shell {
	for _, path := range []string{os.Getenv("SHELL"), "/bin/bash", "/bin/sh"} {
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return protocol.Shell{Name: filepath.Base(path), Path: path}
		}
	}
	return protocol.Shell{Name: "sh", Path: "/bin/sh"}
}

// localCaller is whoever started this process.
func localCaller() durward.Caller {
	return durward.Caller{Name: "local:" + strconv.Itoa(os.Getuid()), Method: "process"}
}
