package cli

import (
	"path/filepath"
	"runtime"
)

// A userPlace is where the programs of a user keep files of one sort.
type userPlace struct {
	// windows and unix are the variables that name it.
	windows, unix string
	// mac is where it is in the user's home on macOS, and home where else no variable names it.
	mac, home string
}

// What the programs of a user keep: how they run, what they are made of, and what must outlive them.
var (
	configPlace = userPlace{"APPDATA", "XDG_CONFIG_HOME", "Library/Application Support", ".config"}
	dataPlace   = userPlace{"LOCALAPPDATA", "XDG_DATA_HOME", "Library/Application Support", ".local/share"}
	statePlace  = userPlace{"LOCALAPPDATA", "XDG_STATE_HOME", "Library/Application Support", ".local/state"}
	// preferences is where mdmcpcfg keeps its configuration.
	preferences = userPlace{"APPDATA", "XDG_CONFIG_HOME", "Library/Preferences", ".config"}
)

// userDir is the folder that a program has at a place, or "" where nobody knows it.
func (p *program) userDir(at userPlace, program string) string {
	switch home := p.home(); {
	case runtime.GOOS == "windows":
		return join(p.env[at.windows], program)
	case runtime.GOOS == "darwin":
		return join(home, at.mac, program)
	case filepath.IsAbs(p.env[at.unix]):
		return filepath.Join(p.env[at.unix], program)
	case filepath.IsAbs(home):
		return filepath.Join(home, at.home, program)
	}
	return ""
}

func (p *program) userConfigDir() string { return p.userDir(configPlace, mainName) }

// dataDir is the user's own data folder: that of mdmcpcfg when called so.
func (p *program) dataDir() string {
	if p.called == configurator {
		return p.userDir(dataPlace, configuratorDir)
	}
	return p.userDir(dataPlace, mainName)
}

// otherPolicy is where mdmcpcfg keeps its policy.
func (p *program) otherPolicy() string {
	return join(p.userDir(preferences, configuratorDir), policyFileName)
}

func (p *program) home() string {
	if runtime.GOOS == "windows" {
		return p.env["USERPROFILE"]
	}
	return p.env["HOME"]
}

// join is filepath.Join for a base that may be unknown.
func join(base string, names ...string) string {
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, names...)...)
}
