package clientconfig

import (
	"maps"
	"regexp"
	"sync"
	"time"

	"github.com/durward/durward/internal/config"
)

// A dialect is the words that a client has for servers.
type dialect struct {
	members map[string]taker
	// variables puts references to variables into durward's form; nil where they have it.
	variables func(string) string
}

func args(e *entry) *[]string      { return &e.Args }
func env(e *entry) *[]Pair         { return &e.Env }
func headers(e *entry) *[]Pair     { return &e.Headers }
func allow(e *entry) *[]string     { return &e.AllowTools }
func deny(e *entry) *[]string      { return &e.DenyTools }
func command(e *entry) *string     { return &e.Command }
func location(e *entry) *string    { return &e.URL }
func dir(e *entry) *string         { return &e.Dir }
func envFile(e *entry) *string     { return &e.EnvFile }
func inherited(e *entry) *[]string { return &e.InheritEnv }

// usual gives the words that most clients have, and some more, which win.
func usual(more map[string]taker) map[string]taker {
	all := map[string]taker{
		"command": text(command), "args": texts(args), "env": pairs(env), "cwd": text(dir), "envFile": text(envFile),
		"url": text(location), "headers": pairs(headers), "disabled": flag(true), "type": kind, "transport": kind,
	}
	maps.Copy(all, more)
	return all
}

// dialectOf gives the words of a client.
func dialectOf(c Client) dialect {
	switch c {
	case ClaudeCode:
		return dialect{members: usual(map[string]taker{"timeout": duration(time.Millisecond), "serverUrl": text(location)})}
	case VSCode:
		return dialect{members: usual(map[string]taker{"timeout": duration(time.Second)})}
	case Windsurf:
		return dialect{members: usual(map[string]taker{"serverUrl": text(location), "disabledTools": texts(deny)})}
	case Gemini:
		return dialect{variables: dollars, members: usual(map[string]taker{
			"httpUrl": text(location), "url": events, "includeTools": texts(allow), "excludeTools": texts(deny), "timeout": duration(time.Millisecond),
		})}
	case OpenCode:
		return dialect{variables: braces, members: map[string]taker{
			"type": kind, "command": words, "environment": pairs(env), "cwd": text(dir), "enabled": flag(false), "url": text(location), "headers": pairs(headers),
		}}
	case Codex:
		return dialect{members: map[string]taker{
			"command": text(command), "args": texts(args), "env": pairs(env), "cwd": text(dir), "env_vars": texts(inherited),
			"url": text(location), "http_headers": pairs(headers), "env_http_headers": fromVariables, "bearer_token_env_var": bearer,
			"enabled": flag(false), "enabled_tools": texts(allow), "disabled_tools": texts(deny), "tool_timeout_sec": duration(time.Second),
		}}
	}
	return dialect{members: usual(nil)}
}

// kind takes the transport.
func kind(e *entry, n *config.Node) bool {
	switch n.Text {
	case "sse":
		e.Type = "sse"
	case "http", "streamable-http", "streamableHttp", "stdio", "local", "remote":
		e.Type = "http"
	default:
		return false
	}
	return true
}

// events takes the URL of a server that is asked the old way, unless its type says otherwise.
func events(e *entry, n *config.Node) bool {
	if e.Type == "" {
		e.Type = "sse"
	}
	return text(location)(e, n)
}

// words takes a command with its arguments.
func words(e *entry, n *config.Node) bool {
	var all []string
	if !texts(func(*entry) *[]string { return &all })(e, n) || len(all) == 0 {
		return false
	}
	e.Command, e.Args = all[0], all[1:]
	return true
}

// fromVariables takes headers whose values are names of variables.
func fromVariables(e *entry, n *config.Node) bool {
	var named []Pair
	if !pairs(func(*entry) *[]Pair { return &named })(e, n) {
		return false
	}
	for _, p := range named {
		e.Headers = append(e.Headers, Pair{p.Name, "${" + p.Value + "}"})
	}
	return true
}

func bearer(e *entry, n *config.Node) bool {
	e.Headers = append(e.Headers, Pair{"Authorization", "Bearer ${" + n.Text + "}"})
	return n.Kind == config.String && isVariable(n.Text)
}

// The forms of references to variables.
var (
	referenceForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*\}`) })
	variableForm  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(userHome|(env:)?[A-Za-z_][A-Za-z0-9_]{0,127}(:-.*)?)$`)
	})
	dollarForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`) })
	braceForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`) })
	fileForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{file:([^}]*)\}`) })
)

// references lists the references in a text.
func references(text string) []string { return referenceForm().FindAllString(text, -1) }

// isVariable reports whether durward knows what stands between ${ and }.
func isVariable(inner string) bool {
	switch inner {
	case "pathSeparator", "workspaceFolderBasename", "workspaceRoot": // an editor's own
		return false
	}
	return variableForm().MatchString(inner)
}

// dollars is for $VAR.
func dollars(text string) string { return dollarForm().ReplaceAllString(text, "$${$1}") }

// braces is for {env:VAR}, and for {file:PATH}, which durward does not have.
func braces(text string) string {
	return fileForm().ReplaceAllString(braceForm().ReplaceAllString(text, "$${$1}"), "$${file:$1}")
}
