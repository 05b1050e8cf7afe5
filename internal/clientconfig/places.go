package clientconfig

import (
	"path"
	"path/filepath"
)

// A Machine says where a user keeps things. Paths in it are absolute or empty.
type Machine struct {
	// OS is as runtime.GOOS has it.
	OS   string
	Home string
	// Environ is the user's.
	Environ map[string]string
}

// Places lists the files in which a client keeps what a user told it, those first that win. There
// need not be any of them. Files that belong to a project are not among them: whoever has checked
// out a project has not chosen what is in it.
func (c Client) Places(m Machine) []string {
	switch c {
	case ClaudeDesktop:
		return m.config("Claude/claude_desktop_config.json")
	case ClaudeCode:
		if dir := m.Environ["CLAUDE_CONFIG_DIR"]; dir != "" {
			return under(dir, ".claude.json")
		}
		return under(m.Home, ".claude.json")
	case Cursor:
		return under(m.Home, ".cursor/mcp.json")
	case Windsurf:
		return under(m.Home, ".codeium/windsurf/mcp_config.json")
	case VSCode:
		return append(m.config("Code/User/mcp.json"), m.config("Code - Insiders/User/mcp.json")...)
	case Codex:
		if dir := m.Environ["CODEX_HOME"]; dir != "" {
			return under(dir, "config.toml")
		}
		return under(m.Home, ".codex/config.toml")
	case Gemini:
		return under(m.Home, ".gemini/settings.json")
	case OpenCode:
		dir := m.Environ["XDG_CONFIG_HOME"]
		if dir == "" {
			dir = joined(m.Home, ".config")
		}
		return append(under(dir, "opencode/opencode.json"), under(dir, "opencode/opencode.jsonc")...)
	}
	return nil
}

// config gives a file of a desktop program, where the system has such.
func (m Machine) config(name string) []string {
	switch m.OS {
	case "darwin":
		return under(m.Home, path.Join("Library/Application Support", name))
	case "windows":
		return under(m.Environ["APPDATA"], name)
	}
	if dir := m.Environ["XDG_CONFIG_HOME"]; dir != "" {
		return under(dir, name)
	}
	return under(m.Home, path.Join(".config", name))
}

// under gives a file in a directory that may be unknown.
func under(dir, name string) []string {
	if file := joined(dir, name); file != "" {
		return []string{file}
	}
	return nil
}

func joined(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}
