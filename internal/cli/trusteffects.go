package cli

import (
	"cmp"
	"path/filepath"
	"strconv"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/trust"
)

// A trustEffect is one thing that a file of a project does once it is trusted. Texts are as they
// stand in the file, with their variables; values that look like secrets are left out.
type trustEffect struct {
	What string `json:"what"`
	// Of is the server, or the key of a setting.
	Of    string `json:"of"`
	Value string `json:"value"`
	// Instead is what a setting is without the file.
	Instead string `json:"instead,omitempty"`
}

// What a file does.
const (
	effectStarts = "starts"
	effectAsks   = "asks"
	effectSets   = "sets"
	// effectWith is something that a server is started or asked with.
	effectWith = "with"
	// effectAdmits is a token whose holders may call.
	effectAdmits = "admits"
)

// String gives the effect as a line for a person.
func (e trustEffect) String() string {
	switch {
	case e.What == effectSets && e.Instead == e.Value:
		return "sets " + e.Of + " to " + e.Value + ", which it is"
	case e.What == effectSets:
		return "sets " + e.Of + " to " + e.Value + " instead of " + e.Instead
	case e.What == effectWith:
		return "  " + e.Of + " gets " + e.Value
	}
	return e.What + " " + e.Of + ": " + e.Value
}

// effectsOfConfig says which settings a durward.yaml sets, beside what they are without it.
func (p *program) effectsOfConfig(f trust.File, name string) ([]trustEffect, error) {
	var below []configLayer
	for _, layer := range p.configLayers() {
		if !layer.project {
			below = append(below, layer)
		}
	}
	c := p.readSettings(below)
	if c.err != nil {
		return nil, c.err
	}
	s := settings{}
	r := &settingsReader{into: &s}
	n := r.document(name, f.Text)
	if problems := config.ProblemsOf(r.Err()); len(problems) > 0 {
		return nil, mistaken(problems)
	}
	was, is, effects := c.settings.values(), s.values(), []trustEffect{}
	for _, key := range keysOf(n) {
		effects = append(effects, trustEffect{effectSets, key, is[key], was[key]})
	}
	return effects, nil
}

func mistaken(problems config.Problems) error {
	return &durward.Error{
		Reason: durward.ConfigInvalid, Op: "trust", Where: problems[0].Where, Err: problems, Hint: "mend what is named; nothing was trusted",
	}
}

// keysOf lists the keys that a document gives a value.
func keysOf(n *config.Node) (keys []string) {
	if n == nil {
		return nil
	}
	if n.Kind != config.Map {
		return []string{n.Path}
	}
	for _, f := range n.Fields {
		keys = append(keys, keysOf(f.Value)...)
	}
	return keys
}

// values gives every setting in the words of a configuration.
func (s settings) values() map[string]string {
	keep := strconv.Itoa(cmp.Or(s.audit.Keep, audit.DefaultKeep))
	if s.audit.Keep < 0 {
		keep = keepAll
	}
	return map[string]string{
		"audit.sync":         syncWords[s.audit.Sync],
		"audit.rotate_bytes": strconv.FormatInt(cmp.Or(s.audit.MaxBytes, audit.DefaultMaxBytes), 10),
		"audit.keep":         keep,
		"audit.args":         argsWords[s.audit.Args],
	}
}

// effectsOfServers says what a hub would start or ask by a configuration of servers.
func (p *program) effectsOfServers(f trust.File, name string) ([]trustEffect, error) {
	setting := hubconfig.Setting{Dir: filepath.Dir(f.Path), Environ: p.env}
	if _, problems := hubconfig.Parse(name, f.Text, setting); len(problems) > 0 {
		return nil, mistaken(problems)
	}
	n, err := config.ParseWith(name, f.Text, config.Options{Format: config.JSON})
	if err != nil {
		return nil, mistaken(config.ProblemsOf(err)) // it was read a moment ago
	}
	effects := []trustEffect{}
	servers := n.Get("servers")
	if servers == nil {
		servers = n.Get("mcpServers")
	}
	for _, one := range servers.Items {
		effects = append(effects, effectsOfServer(textAt(one, "name"), one)...)
	}
	for _, field := range servers.Fields {
		effects = append(effects, effectsOfServer(field.Name, field.Value)...)
	}
	for _, holder := range []*config.Node{n, n.Get("x-gateway")} {
		for _, token := range itemsAt(holder, "tokens") {
			effects = append(effects, trustEffect{What: effectAdmits, Of: textAt(token, "name"), Value: textAt(token, "file")})
		}
	}
	return effects, nil
}

func effectsOfServer(name string, n *config.Node) []trustEffect {
	effects := []trustEffect{}
	with := func(value string) {
		effects = append(effects, trustEffect{What: effectWith, Of: name, Value: value})
	}
	url := textAt(n, "url")
	if url == "" {
		url = textAt(n, "serverUrl")
	}
	switch {
	case url != "" && credential.InURL(url):
		effects = append(effects, trustEffect{What: effectAsks, Of: name, Value: plainURL(url)})
	case url != "":
		effects = append(effects, trustEffect{What: effectAsks, Of: name, Value: url})
	default:
		effects = append(effects, trustEffect{What: effectStarts, Of: name, Value: commandShown(n)})
	}
	if dir := textAt(n, "cwd"); dir != "" {
		with("the directory " + dir)
	}
	if file := textAt(n, "envFile"); file != "" {
		with("the variables in " + file)
	}
	for _, kind := range []struct{ member, what string }{{"env", "the variable "}, {"headers", "the header "}} {
		if values := n.Get(kind.member); values != nil {
			for _, f := range values.Fields {
				with(kind.what + f.Name + "=" + shownValue(f.Name, f.Value.Text))
			}
		}
	}
	for _, variable := range itemsAt(n.Get("x-gateway"), "inheritEnv") {
		with("your variable " + variable.Text)
	}
	if disabled := n.Get("disabled"); disabled != nil && disabled.Text == "true" {
		with("started only by name: it is disabled")
	}
	return effects
}

// commandShown gives a command as it stands in the file. Nothing is left out of it: whoever trusts it
// has to see all that is run.
func commandShown(n *config.Node) string {
	argv := []string{textAt(n, "command")}
	for _, arg := range itemsAt(n, "args") {
		argv = append(argv, arg.Text)
	}
	return commandLine(argv)
}

func shownValue(name, value string) string {
	if credential.Looks(name, value) {
		return hidden
	}
	return value
}

func textAt(n *config.Node, member string) string {
	if n == nil || n.Get(member) == nil {
		return ""
	}
	return n.Get(member).Text
}

func itemsAt(n *config.Node, member string) []*config.Node {
	if n == nil || n.Get(member) == nil {
		return nil
	}
	return n.Get(member).Items
}
