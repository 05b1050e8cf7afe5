// Package hubconfig is what a configuration of MCP servers says: which there are, how each is
// started, and what of it is offered.
//
// There are three shapes, told apart by their structure. A file has one of them:
//
//	{"servers": [{"name": "files", "command": "durward", "args": ["mcp"], "timeout": 30}]}
//	{"mcpServers": {"files": {"command": "durward", "args": ["mcp"], "cwd": "docs"}}}
//	{"servers": {"files": {"type": "stdio", "command": "durward", "envFile": ".env"}}, "inputs": []}
//
// What is no part of them stands in a member "x-gateway" of a server, or of the file:
//
//	"x-gateway": {"allowTools": ["read_*"], "concurrency": 4, "sandbox": {"mode": "read-only"}}
//
// Nothing here reads a file: package mcpservers brings the texts.
package hubconfig

import (
	"encoding/json"
	"time"

	"github.com/durward/durward"
)

// A Config is a configuration that was read without a mistake.
type Config struct {
	// File is the path that it was read from. Missing is set where there is none: it has no
	// servers then, and the defaults.
	File    string
	Missing bool
	// Hash names the text in records. Who reads the file sets it.
	Hash string
	// Shape is the one that the file has; empty where it is missing.
	Shape Shape
	// Servers stand in the order of the file.
	Servers []Server
	// Expose lists what is offered: "tools", "resources", "prompts". Where nobody wrote it that
	// is tools alone.
	Expose []string
	// Prefix says when a tool that clients of MCP see has the name of its server before its own:
	// "collisions", "always" or "never".
	Prefix string
	// Search has clients of MCP find tools by a search, and not see them all in the list.
	Search bool
	// ValidateArguments has arguments held to the tool's schema before the call.
	ValidateArguments bool
	// Refresh is how often servers are asked for their tools again. Zero is never.
	Refresh time.Duration
	// ForwardPaths is "absolute", or "verbatim" where relative paths stay as they were given.
	ForwardPaths string
	// Tokens are those who may call, beside whom the settings name.
	Tokens []Token
	// Warnings are what the file has that is not followed, each with its place.
	Warnings []string
}

// A Server is one entry.
type Server struct {
	// Name is the one that was written, with _ in the place of what no name holds.
	Name string
	// Broken says why the server cannot be started: it names a variable that is not set, or an
	// input that nobody can be asked for. It never holds the value of one. Empty: it can.
	Broken string
	// Disabled servers are not started and offer nothing.
	Disabled bool
	// Command is an absolute path, or a name to be looked up on PATH when the server starts. It
	// is empty where there is a Remote, and where the server is Broken. Dir is absolute; empty
	// means the sandbox directory.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	// Taken are the values of variables that stand in what the server is given: what is not
	// written in a configuration is a secret as a rule.
	Taken []string
	// EnvFile is the absolute path of a file with more variables, which [Server.AddEnv] takes;
	// Env wins. It is empty where none was named.
	EnvFile string
	// Remote is the server over HTTP that is used instead of a command, or nil.
	Remote *Remote
	// Timeout is what a call gets. Zero means the hub's.
	Timeout time.Duration
	// FileServer is set where every path-like member of any argument names a file.
	FileServer bool
	// ParseJSONText is set where callers of the HTTP API get a text as the value that it is the JSON of.
	ParseJSONText bool
	// PathPolicy is "enforce" or "off".
	PathPolicy string
	// PathArgs are more names of members that hold paths, and JSON pointers to them.
	PathArgs []string
	// AllowTools and DenyTools are patterns of the server's own names of tools, in which * is any
	// run of characters and ? any one. AllowTools that are nil allow all; DenyTools wins.
	AllowTools, DenyTools []string
	// Rename gives tools another name, by the server's own.
	Rename map[string]string
	// ToolHashes are "sha256:" and the digest that a tool must have, by the server's own names.
	ToolHashes map[string]string
	// Concurrency is how many calls the server takes at once; at least 1.
	Concurrency int
	Restart     Restart
	// Cache says which results are kept, or is nil.
	Cache *Cache
	// Offer lists what the server may ask callers for: "elicitation", "sampling". Nil is nothing.
	Offer []string
	// InheritEnv names variables of the hub that the server gets.
	InheritEnv []string
	// Sandbox is the policy that the server is held to, as it was written at SandboxWhere, or nil.
	Sandbox      json.RawMessage
	SandboxWhere durward.Position
	Where        durward.Position
}

// A Remote is a server over HTTP.
type Remote struct {
	// Type is "http" or "sse".
	Type    string
	URL     string
	Headers map[string]string
}

// Restart says what becomes of a server that has ended.
type Restart struct {
	// Policy is "always", "on-failure" or "never".
	Policy string
	// Initial is the first delay, and Max the longest.
	Initial, Max time.Duration
}

// A Cache says which results are kept.
type Cache struct {
	// Keep is for the tools that say of themselves that they only read. Its TTL is zero where
	// only Tools are meant.
	Keep
	// Tools are kept, too, whatever they say, by the server's own names.
	Tools map[string]Keep
	// Private keeps the results of each caller apart.
	Private bool
}

// A Keep says how long a result is kept, and how many are.
type Keep struct {
	TTL        time.Duration
	MaxEntries int
}

// A Token is somebody who may call.
type Token struct {
	Name string
	// File is the absolute path of the file with the secret.
	File string
	// AllowTools are patterns of names of tools, as GET /tools shows them, and of prompts, as
	// clients of MCP see them. Nil allows all, and resources, which those who have a list do not
	// get; an empty list allows nothing.
	AllowTools []string
	Where      durward.Position
}
