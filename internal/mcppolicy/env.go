package mcppolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// Environ gives the complete environment of the command: a constant base, what the policy
// sets, and what the request may set. Nothing else comes from the server's own.
//
// The error is a [*durward.Error] with the reason BadEnvName or EnvDenied; it holds the
// name and never the value.
func (c *Command) Environ(request map[string]string) (map[string]string, error) {
	names := slices.Sorted(maps.Keys(request))
	for _, name := range names {
		if err := c.wellFormed(name, request[name]); err != nil {
			return nil, err
		}
	}
	env := maps.Clone(c.base)
	for name, t := range c.Entry.Env {
		c.set(env, name, t.Value)
	}
	for _, name := range names {
		if err := c.mayName(name); err != nil {
			return nil, err
		}
		c.set(env, name, request[name])
	}
	return env, nil
}

func (c *Command) wellFormed(name, value string) error {
	problem := fmt.Sprintf("%.64q is not a name of a variable", name)
	switch {
	case !envForm.matches(name):
	case strings.ContainsRune(value, 0):
		problem = fmt.Sprintf("the value of %.64s holds a NUL byte", name)
	default:
		return nil
	}
	return &durward.Error{
		Reason: durward.BadEnvName, Op: op, Rule: c.rule("envAllowlist"), Where: c.place(c.Entry.EnvAllowlist.Where),
		Hint: "change the variable or leave it out", Err: errors.New(problem),
	}
}

// mayName refuses a variable that is not the request's to set.
func (c *Command) mayName(name string) error {
	for fixed, t := range c.Entry.Env {
		if c.same(fixed, name) {
			return c.denied("env", t.Where, fmt.Sprintf("%.64s is fixed by the policy", name), "leave the variable out")
		}
	}
	for _, t := range c.Entry.EnvAllowlist.Value {
		if c.same(t.Value, name) {
			return nil
		}
	}
	at := c.place(c.Entry.EnvAllowlist.Where)
	return c.denied("envAllowlist", at, fmt.Sprintf("%.64s is not among the variables that a request may set", name),
		fmt.Sprintf("leave the variable out, or list it under envAllowlist at %s", at))
}

func (c *Command) denied(member string, at durward.Position, problem, hint string) error {
	return &durward.Error{
		Reason: durward.EnvDenied, Op: op, Rule: c.rule(member), Where: at, Hint: hint, Err: errors.New(problem),
	}
}

// set gives a variable its value, whatever spelling an earlier one has.
func (c *Command) set(env map[string]string, name, value string) {
	maps.DeleteFunc(env, func(other, _ string) bool { return c.same(other, name) })
	env[name] = value
}

// same reports whether two names are one variable on this system.
func (c *Command) same(a, b string) bool {
	return a == b || c.host.windows() && strings.EqualFold(a, b)
}

// baseEnv gives the environment that every command has.
func (c *compiler) baseEnv() map[string]string {
	if !c.host.windows() {
		return map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
	}
	base := map[string]string{}
	for _, name := range []string{"SystemRoot", "SystemDrive", "PATHEXT", "TEMP"} {
		for own, value := range c.host.Environ {
			if strings.EqualFold(own, name) {
				base[name] = value
			}
		}
	}
	return base
}
