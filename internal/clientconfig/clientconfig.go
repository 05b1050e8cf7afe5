// Package clientconfig reads which MCP servers other programs were told of, and tells them of one more.
//
// Each program keeps them in a file of its own, and in its own words:
//
//	claude-desktop, claude-code, cursor   {"mcpServers": {NAME: {"command": …, "args": […], "env": {…}}}}
//	windsurf                              the same, with serverUrl and disabledTools
//	gemini                                the same, with httpUrl, includeTools, excludeTools and $VAR
//	vscode                                {"servers": {NAME: {"type": "stdio", …}}, "inputs": […]}
//	opencode                              {"mcp": {NAME: {"type": "local", "command": […], "environment": {…}}}}
//	codex                                 [mcp_servers.NAME] in TOML
//
// All but TOML may have comments and commas too many, as those programs read them. [Client.Places]
// says where the files are, and [Read] what is in one, in words that durward has. What it has no
// words for is listed and never dropped in silence. A [Text] is changed in one place and stays as it is in
// all others. Nothing here opens a file.
package clientconfig

import (
	"slices"
	"time"
)

// A Client is a program that MCP servers are configured for.
type Client string

// The clients.
const (
	ClaudeCode    Client = "claude-code"
	ClaudeDesktop Client = "claude-desktop"
	Codex         Client = "codex"
	Cursor        Client = "cursor"
	Gemini        Client = "gemini"
	OpenCode      Client = "opencode"
	VSCode        Client = "vscode"
	Windsurf      Client = "windsurf"
)

// Clients lists all of them, sorted.
func Clients() []Client {
	return []Client{ClaudeCode, ClaudeDesktop, Codex, Cursor, Gemini, OpenCode, VSCode, Windsurf}
}

// Known reports whether a word is the name of a client.
func Known(word string) bool { return slices.Contains(Clients(), Client(word)) }

// Found is what a file says of MCP servers, in its order.
type Found struct {
	Servers []Server
	// Left are what durward has no words for, beside what is left of each server.
	Left []Left
}

// A Left is something that is not carried over, by the way to it in the file.
type Left struct{ Path, Why string }

// A Pair is a variable or a header.
type Pair struct{ Name, Value string }

// A Server is one entry, in the words of durward's own configuration: texts may refer to
// variables as ${NAME}. Values may be secrets.
type Server struct {
	Name string
	// Command starts it; where it is empty the server is asked at URL, by Type "http" or "sse".
	Command      string
	Args         []string
	Env          []Pair
	EnvFile, Dir string
	Type, URL    string
	Headers      []Pair
	// Timeout is what a call gets; zero says nothing.
	Timeout  time.Duration
	Disabled bool
	// AllowTools that are empty allow all.
	AllowTools, DenyTools []string
	// InheritEnv are variables that it gets from whoever starts it.
	InheritEnv []string
	Left       []Left
	// Asked are the variables that stand for what the client asked a person for.
	Asked []string
}

// Title is what the program is called by people.
func (c Client) Title() string {
	switch c {
	case ClaudeCode:
		return "Claude Code"
	case ClaudeDesktop:
		return "Claude Desktop"
	case Codex:
		return "Codex"
	case Cursor:
		return "Cursor"
	case Gemini:
		return "Gemini CLI"
	case VSCode:
		return "VS Code"
	case Windsurf:
		return "Windsurf"
	}
	return string(c)
}
