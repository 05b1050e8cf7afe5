package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A member is one thing a policy settles: its name in a document and its value as JSON
// has it.
type member struct {
	name  string
	value func(*Policy) any
	// internal members count for the hash but are no part of a grant.
	internal bool
}

// text gives the value of a member for a comparison.
func (m member) text(p *Policy) string {
	data, _ := json.Marshal(m.value(p)) // strings, numbers and lists of strings: cannot fail
	return string(data)
}

// members lists all that a policy settles, in the order of a document.
func members() []member {
	list := []member{
		{name: "mode", value: func(p *Policy) any { return string(p.grant.Mode) }},
		{name: "level", value: func(p *Policy) any { return levelWord(p.grant.Level) }},
		{name: "minLevel", value: func(p *Policy) any { return levelWord(p.grant.MinLevel) }},
		{name: "require", value: func(p *Policy) any { return requireWords(p.grant.Require) }},
		{name: "stepDown", value: func(p *Policy) any { return p.grant.StepDown }},
		{name: "filesystem.read", value: func(p *Policy) any { return p.grant.Files.Read }},
		{name: "filesystem.write", value: func(p *Policy) any { return p.grant.Files.Write }},
		{name: "filesystem.deny", value: func(p *Policy) any { return p.grant.Files.Deny }},
		{name: "filesystem.denyGlobs", value: func(p *Policy) any { return p.grant.Files.DenyGlobs }},
		{name: "filesystem.protect", value: func(p *Policy) any { return p.grant.Files.Protect }},
		{name: "filesystem.exec", value: func(p *Policy) any { return p.grant.Files.Exec }},
		{name: "filesystem.view", value: func(p *Policy) any { return viewWord(p.grant.Files) }},
		{name: "filesystem.copyOnWrite", value: func(p *Policy) any { return p.grant.Files.CopyOnWrite }},
		{name: "network.mode", value: func(p *Policy) any { return string(p.grant.Network.Mode) }},
		{name: "network.allow", value: func(p *Policy) any { return p.grant.Network.Allow }},
		{name: "network.allowPrivate", value: func(p *Policy) any { return p.grant.Network.AllowPrivate }},
		{name: "network.requireSNI", value: func(p *Policy) any { return p.grant.Network.RequireSNI }},
		{name: "network.unixSockets", value: func(p *Policy) any { return p.grant.Network.UnixSockets }},
	}
	for _, row := range limitRows {
		list = append(list, member{name: row.name, value: func(p *Policy) any { return limitValue(row, p.grant.Limits) }})
	}
	return append(list,
		member{name: "env.set", value: func(p *Policy) any { return p.setEnv() }},
		member{name: "env.pass", value: func(p *Policy) any { return sorted(slices.Collect(maps.Keys(p.passed))) }},
		member{name: "env.private", value: func(p *Policy) any { return p.grant.PrivateDir }},
		member{name: "env.allowed", internal: true, value: func(p *Policy) any { return sorted(slices.Collect(maps.Keys(p.allowed))) }},
		member{name: "identity", value: func(p *Policy) any { return identityWord(p.grant.Identity) }},
		member{name: "keep", value: func(p *Policy) any { return string(p.grant.Keep) }},
		member{name: "workspace", internal: true, value: func(p *Policy) any { return p.workspace }},
		member{name: "confined", internal: true, value: func(p *Policy) any {
			return slices.Concat(p.confined.Deny, p.confined.DenyGlobs, p.confined.Protect)
		}},
	)
}

// digest hashes the canonical form of all members. The value of a variable that is
// passed on is no part of it: the policy names the variable, not the value.
func (p *Policy) digest() string {
	form := map[string]any{}
	for _, m := range members() {
		form[m.name] = m.value(p)
	}
	data, _ := json.Marshal(form) // as above
	if canonical, err := jsonx.Canonical(data); err == nil {
		data = canonical
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// setEnv gives the variables with a value that the policy itself names.
func (p *Policy) setEnv() map[string]string {
	env := maps.Clone(p.grant.Env)
	maps.DeleteFunc(env, func(name, _ string) bool { return p.passed[name] })
	return env
}

func levelWord(l durward.Level) any {
	if l == durward.LevelAuto {
		return "auto"
	}
	return l.Number()
}

func requireWords(list []durward.Requirement) []string {
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = r.String()
		if r.Firm {
			words[i] += " (firm)"
		}
	}
	return words
}

func viewWord(f durward.Files) string {
	if f.HostReadOnly {
		return "host-ro"
	}
	return "private"
}

func identityWord(id durward.Identity) string {
	switch {
	case id.Keep:
		return "keep"
	case id.Fixed:
		return strconv.FormatUint(uint64(id.UID), 10) + ":" + strconv.FormatUint(uint64(id.GID), 10)
	}
	return "auto"
}

// limitValue gives a limit in the unit of its name, or "unlimited".
func limitValue(row limitRow, l durward.Limits) any {
	value := *row.of(&l)
	if value <= 0 {
		return "unlimited"
	}
	if value%row.unit != 0 {
		return strconv.FormatFloat(float64(value)/float64(row.unit), 'f', -1, 64)
	}
	return value / row.unit
}

// words gives a value for a person to read.
func words(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []string:
		if len(v) == 0 {
			return "none"
		}
		return strings.Join(v, ", ")
	case map[string]string: // a value may be a secret
		return words(slices.Sorted(maps.Keys(v)))
	}
	return "?"
}
