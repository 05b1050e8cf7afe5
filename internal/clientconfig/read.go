package clientconfig

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/jsonx"
)

// Options say which of a file is meant.
type Options struct {
	// Client is the one whose file it is; empty goes by what is in the file, and by its name.
	Client Client
	// Project is the absolute path of a folder whose servers of claude-code are meant, too.
	Project string
}

// Read reads the servers of a file; file stands in every place. The error is of type
// [config.Problems]. Read keeps nothing of data.
func Read(file string, data []byte, o Options) (*Found, error) {
	parts, client, err := partsOf(file, data, o)
	if err != nil {
		return nil, err
	}
	r := &reader{dialect: dialectOf(client), found: &Found{}}
	for _, p := range parts {
		r.part(p)
	}
	return r.found, nil
}

// A part is a place in a file where servers stand.
type part struct {
	path string
	node *config.Node
}

// partsOf finds them.
func partsOf(file string, data []byte, o Options) ([]part, Client, error) {
	if o.Client == Codex || o.Client == "" && strings.EqualFold(filepath.Ext(file), ".toml") {
		n, err := config.ParseWith(file, data, config.Options{Format: config.TOML})
		if err != nil {
			return nil, Codex, err
		}
		return partAt(n, "mcp_servers"), Codex, nil
	}
	whole, err := objectOf(file, data)
	if err != nil {
		return nil, "", err
	}
	var parts []part
	add := func(at string, text []byte) (n *config.Node) {
		if text != nil && err == nil {
			n, err = config.ParseWith(file, text, config.Options{Format: config.JSON})
			parts = append(parts, part{at, n})
		}
		return n
	}
	for _, name := range []string{"mcpServers", "servers", "inputs"} {
		add(name, whole[name])
	}
	mcp := add("mcp", whole["mcp"])
	if mcp != nil && mcp.Get("servers") != nil { // the settings of vscode had them there
		parts = append(parts[:len(parts)-1], partAt(mcp, "servers")...)
	}
	if projects := members(whole["projects"]); o.Client == ClaudeCode && o.Project != "" {
		add("projects."+o.Project+".mcpServers", members(projects[o.Project])["mcpServers"])
	}
	if o.Client == "" {
		o.Client = guess(file, whole)
	}
	return parts, o.Client, err
}

func partAt(n *config.Node, name string) []part {
	if n == nil || n.Get(name) == nil {
		return nil
	}
	return []part{{name, n.Get(name)}}
}

// objectOf gives the members of a document, which may be larger than any configuration: some keep
// other things in the same file.
func objectOf(file string, data []byte) (map[string]json.RawMessage, error) {
	var problems config.Problems
	if at := tooDeep(data); at >= 0 {
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		problems.Add(durward.Position{File: file, Line: line}, "lists and objects stand more than %d deep inside each other", mostDeep)
		return nil, problems
	}
	text, err := hujson.Standardize(terminated(string(bytes.TrimPrefix(data, []byte(byteOrderMark)))))
	switch {
	case err != nil:
		return nil, jsonProblem(file, err)
	case !bytes.HasPrefix(jsonx.TrimSpace(text), []byte("{")):
		problems.Add(durward.Position{File: file}, "the document must be a mapping")
	default:
		return members(text), nil
	}
	return nil, problems
}

// members gives those of what is known to be JSON.
func members(text []byte) map[string]json.RawMessage {
	text = jsonx.TrimSpace(text)
	found := map[string]json.RawMessage{}
	if len(text) == 0 || text[0] != '{' {
		return found
	}
	for name, value := range jsonx.Members(text) {
		found[string(name)] = value
	}
	return found
}

// guess tells whose file it is.
func guess(file string, whole map[string]json.RawMessage) Client {
	switch {
	case whole["mcp"] != nil && members(whole["mcp"])["servers"] == nil:
		return OpenCode
	case whole["servers"] != nil, whole["mcp"] != nil:
		return VSCode
	case filepath.Base(filepath.Dir(file)) == ".gemini":
		return Gemini
	case strings.HasPrefix(filepath.Base(file), "mcp_config"):
		return Windsurf
	}
	return ClaudeCode
}
