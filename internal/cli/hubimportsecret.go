package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/hubedit"
)

// secrets are the values that variables stand for, by the names of these. Nothing prints them.
type secrets map[string]string

// entryOf gives a server as it is written, with variables in the place of secrets, and tells
// which those are.
func (s secrets) entryOf(from clientconfig.Server) (hubedit.Entry, []importVariable) {
	m := moving{secrets: s, server: from.Name}
	e := hubedit.Entry{
		Name: from.Name, Command: from.Command, Args: slices.Clone(from.Args), EnvFile: from.EnvFile, Dir: from.Dir, Type: from.Type,
		URL: from.URL, Timeout: secondsOf(from.Timeout), Disabled: from.Disabled,
		AllowTools: from.AllowTools, DenyTools: from.DenyTools, InheritEnv: from.InheritEnv,
	}
	for _, p := range from.Env {
		e.Env = append(e.Env, m.pair("env", p, p.Name))
	}
	for _, p := range from.Headers {
		e.Headers = append(e.Headers, m.pair("headers", p, from.Name+"_"+p.Name))
	}
	before := ""
	for i, arg := range from.Args {
		if prefix, secret, ok := credential.InArgument(before, arg); ok {
			e.Args[i] = prefix + m.move(fmt.Sprintf("args[%d]", i), secret, fmt.Sprintf("%s_ARG_%d", from.Name, i))
		}
		before = arg
	}
	if credential.InURL(e.URL) {
		e.URL = m.move("url", e.URL, from.Name+"_URL")
	}
	for _, name := range from.Asked {
		m.variables = append(m.variables, importVariable{name, "what was asked for at " + from.Name})
	}
	return e, m.variables
}

// A moving takes the secrets out of one server.
type moving struct {
	secrets
	server    string
	variables []importVariable
}

// pair gives a variable or a header with a reference in the place of a secret.
func (m *moving) pair(member string, p clientconfig.Pair, wish string) hubedit.Pair {
	if !credential.Looks(p.Name, p.Value) {
		return hubedit.Pair(p)
	}
	prefix, secret := "", p.Value
	if scheme, rest, ok := strings.Cut(p.Value, " "); ok && strings.EqualFold(scheme, "bearer") {
		prefix, secret = scheme+" ", rest
	}
	return hubedit.Pair{Name: p.Name, Value: prefix + m.move(member+"."+p.Name, secret, wish)}
}

// move gives the reference to a variable that is to hold a secret.
func (m *moving) move(where, secret, wish string) string {
	name := credential.Variable(wish)
	for _, other := range []string{m.server + "_" + wish, m.server + "_" + where + "_" + wish} {
		if held, taken := m.secrets[name]; !taken || held == secret {
			break
		}
		name = credential.Variable(other)
	}
	m.secrets[name] = secret
	m.variables = append(m.variables, importVariable{name, where + " of " + m.server})
	return "${" + name + "}"
}
