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
	path := t.Value
	switch {
	case t.Value == "":
		return // was refused
	case c.foreign(t.Value):
		c.problems.Add(t.Where, "%s: %s is a path of another system; name the systems under platform", name, t.Value)
		return
	case !strings.ContainsAny(t.Value, `/\`):
		found, passed := c.lookUp(t.Value)
		switch {
		case found == "" && passed != "":
			c.problems.Add(t.Where, "%s: %s is on PATH only in %s, where everybody may put one of that name; chmod o-w %[3]s, or name another one", name, t.Value, passed)
			return
		case found == "":
			c.problems.Add(t.Where, "%s: there is no program %s on PATH", name, t.Value)
			return
		}
		path = found
	}
	if wrong := c.executable(path); wrong != "" {
		c.problems.Add(t.Where, "%s: %s %s", name, t.Value, wrong)
		return
	}
	c.refuseInZone(name, t, path, c.p.ruleZones())
	cmd.Exec = path
	cmd.Physical, _, _ = c.physical(path) // was just found
}

// lookUp finds a bare name on PATH, though not where everybody could put a program of that name; it
// gives the first such directory that has one, too.
func (c *compiler) lookUp(name string) (path, passed string) {
	for _, dir := range c.host.Path {
		if !filepath.IsAbs(dir) && !windowsAbs(dir) {
			continue
		}
		for _, extension := range append([]string{""}, c.host.Extensions...) {
			path := filepath.Join(dir, name+extension)
			switch {
			case c.executable(path) != "":
			case !c.everybodys(dir):
				return path, passed
			case passed == "":
				passed = dir
			}
		}
	}
	return "", passed
}

// everybodys reports whether everybody may write to a directory.
func (c *compiler) everybodys(dir string) bool {
	mode, err := c.host.Stat(dir)
	return err == nil && !c.host.windows() && mode.Perm()&0o002 != 0
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
