package mcppolicy

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
)

// A Command is one command of a policy on this machine. Nobody writes to it.
type Command struct {
	ID string
	// Entry is what was written about it.
	Entry *CommandEntry
	// Exec is the absolute path of the program by the name it was found under, and
	// Physical the file it led to when the policy was compiled.
	Exec, Physical string
	// Dir is the physical working directory under the cwdPolicy "fixed", else empty.
	Dir string
	// Timeout bounds one run.
	Timeout time.Duration

	policy   *Policy
	files    *durward.Files // of the sandbox of its own, when the policy was loaded
	host     Host
	allow    map[string]bool
	patterns []pattern
	meta     string // characters that are refused
	base     map[string]string
}

// Argv gives all that comes behind the name of the program.
func (c *Command) Argv(args []string) []string {
	return slices.Concat(values(c.Entry.Args.Fixed.Value), args)
}

// Keep says which end of the output is kept at its limit.
func (c *Command) Keep() durward.Keep {
	if c.policy.Document.OutputRetention.Value == keepTail {
		return durward.KeepLast
	}
	return durward.KeepFirst
}

// command compiles one entry. What it gives is of no use after a mistake.
func (c *compiler) command(name string, e *CommandEntry) *Command {
	cmd := &Command{
		ID: e.ID.Value, Entry: e, Timeout: time.Duration(e.TimeoutMs.Value) * time.Millisecond,
		policy: c.p, host: c.host, allow: map[string]bool{}, base: c.baseEnv(),
	}
	for _, t := range e.Args.Allow.Value {
		cmd.allow[t.Value] = true
	}
	for _, t := range e.Args.Patterns {
		if re, err := compilePattern(t.Value.Value); err == nil { // parsing saw to that
			cmd.patterns = append(cmd.patterns, pattern{re, admitsOptions(t.Value.Value), t.Where})
		}
	}
	c.exec(name+".exec", cmd)
	cmd.meta = metacharacters(e.Exec.Value, cmd.Exec, cmd.Physical)
	c.cwd(name+".cwd", cmd)
	return cmd
}

// exec finds the program of a command.
func (c *compiler) exec(name string, cmd *Command) {
	t := cmd.Entry.Exec
	path, ok := t.Value, true
	switch {
	case t.Value == "":
		return // was refused
	case c.foreign(t.Value):
		c.problems.Add(t.Where, "%s: %s is a path of another system; name the systems under platform", name, t.Value)
		return
	case !strings.ContainsAny(t.Value, `/\`):
		if path, ok = c.lookUp(t.Value); !ok {
			c.problems.Add(t.Where, "%s: there is no program %s on PATH", name, t.Value)
			return
		}
	}
	if wrong := c.executable(path); wrong != "" {
		c.problems.Add(t.Where, "%s: %s %s", name, t.Value, wrong)
		return
	}
	c.refuseInZone(name, t, path)
	cmd.Exec = path
	cmd.Physical, _, _ = c.physical(path) // was just found
}

// lookUp finds a bare name on PATH.
func (c *compiler) lookUp(name string) (string, bool) {
	for _, dir := range c.host.Path {
		if !filepath.IsAbs(dir) && !windowsAbs(dir) {
			continue
		}
		for _, extension := range append([]string{""}, c.host.Extensions...) {
			if path := filepath.Join(dir, name+extension); c.executable(path) == "" {
				return path, true
			}
		}
	}
	return "", false
}

// executable says why a file cannot be run, or gives "".
func (c *compiler) executable(path string) string {
	mode, err := c.host.Stat(path)
	if _, unresolved := c.host.Resolve(path); err != nil || unresolved != nil {
		return "does not exist"
	}
	switch {
	case !mode.IsRegular():
		return "is not a regular file"
	case !c.host.windows() && mode.Perm()&0o111 == 0:
		return "is not executable"
	}
	return ""
}

// cwd settles the fixed working directory.
func (c *compiler) cwd(name string, cmd *Command) {
	e := cmd.Entry
	switch {
	case e.CwdPolicy.Value != fixedCwd:
	case e.Cwd.Value != "":
		cmd.Dir, _ = c.directory(name, e.Cwd)
	case cmd.Exec != "":
		cmd.Dir, _, _ = c.physical(filepath.Dir(cmd.Exec)) // holds what was just found
	}
}

// place gives the first place that is known, and that of the command when none is.
func (c *Command) place(some ...durward.Position) durward.Position {
	for _, at := range some {
		if at != (durward.Position{}) {
			return at
		}
	}
	return c.Entry.Where
}

// rule gives the name of a member of the command, as a refusal has it.
func (c *Command) rule(member string) string { return "commands." + c.ID + "." + member }
