package execserver

import (
	"maps"
	"slices"
	"strings"

	"github.com/durward/durward/execserver/protocol"
)

// coreNames are the variables that "core" inherits, beside LC_*.
var coreNames = []string{
	"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
}

// secretNames match variables that are left out unless a policy takes them.
var secretNames = []string{"*KEY*", "*SECRET*", "*TOKEN*"}

// environment is the whole environment of a process: what its policy takes of the server's,
// and the client's own on top.
func environment(p protocol.StartParams, environ []string) map[string]string {
	env := map[string]string{}
	if p.EnvPolicy != nil {
		env = inherited(*p.EnvPolicy, environ)
	}
	maps.Copy(env, p.Env)
	return env
}

func inherited(p protocol.EnvPolicy, environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && inherits(p.Inherit, name) {
			env[name] = value
		}
	}
	drop := func(patterns []string) {
		maps.DeleteFunc(env, func(name, _ string) bool { return matchesAny(patterns, name) })
	}
	if !p.IgnoreDefaultExcludes {
		drop(secretNames)
	}
	drop(p.Exclude)
	maps.Copy(env, p.Set)
	if len(p.IncludeOnly) > 0 {
		maps.DeleteFunc(env, func(name, _ string) bool { return !matchesAny(p.IncludeOnly, name) })
	}
	return env
}

// withoutLoader leaves out of the server's variables what would have a program load other
// code. In a sandbox that is refused, and nobody asked for what the server happens to have.
func withoutLoader(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "LD_") })
}

func inherits(from protocol.Inherit, name string) bool {
	switch from {
	case protocol.InheritAll:
		return true
	case protocol.InheritCore:
		return slices.Contains(coreNames, strings.ToUpper(name)) || strings.HasPrefix(strings.ToUpper(name), "LC_")
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(strings.ToUpper(p), strings.ToUpper(name)) })
}

// matches reports whether a name fits a pattern, in which * stands for any text, ? for one
// character, and [ab-d] or [!ab-d] for one of these or one of the others.
func matches(pattern, name string) bool {
	star, from := -1, 0 // the last * so far, and what it stands for up to now
	p, n := 0, 0
	for n < len(name) {
		width, fits := one(pattern[p:], name[n])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case fits:
			p += width
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// one reports whether a pattern begins with what stands for a character, and how long that is.
func one(pattern string, c byte) (width int, fits bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '[':
		return class(pattern, c)
	}
	return 1, pattern[0] == '?' || pattern[0] == c
}

// class is one for a pattern that begins with [. Where no ] ends it that stands for itself.
func class(pattern string, c byte) (width int, fits bool) {
	i, negated, in := 1, false, false
	if strings.HasPrefix(pattern[i:], "!") || strings.HasPrefix(pattern[i:], "^") {
		i, negated = i+1, true
	}
	for first := i; i < len(pattern); i++ {
		if pattern[i] == ']' && i > first {
			return i + 1, in != negated
		}
		low, high := pattern[i], pattern[i]
		if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
			high = pattern[i+2]
			i += 2
		}
		in = in || low <= c && c <= high
	}
	return 1, c == '['
}
