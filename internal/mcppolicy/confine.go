package mcppolicy

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// What a command gets that says nothing about it.
const (
	grace     = 200 * time.Millisecond
	openFiles = 256
	memory    = 4 << 30
)

// Confine gives what holds the command: the sandbox that was written for it, or for all
// commands. Without one the command reads the allowed roots, its program, its fixed working
// directory and the system, writes below the recursive write rules, has no network, and steps down to what
// the machine can hold. Of the [Command.Grounds] it gets what is there by now. A rule that is
// not recursive is not for commands, since nothing would keep them from going deeper.
//
// Confine looks paths up anew. Its error has the reason [durward.PolicyInvalid].
func (c *Command) Confine() (*policy.Policy, error) {
	p, err := c.confinement()
	if err != nil {
		return nil, err
	}
	var names []policy.Text
	for _, t := range c.Entry.EnvAllowlist.Value {
		if t.Value != "" { // what was refused is empty
			names = append(names, policy.Text{Value: t.Value, Where: t.Where})
		}
	}
	return p.AllowEnv(names...)
}

func (c *Command) confinement() (*policy.Policy, error) {
	roots := c.rootsThere()
	host := policy.Host{
		GOOS: c.host.goos(), Home: c.host.Home, Workspace: roots[0].Path, Environ: c.host.Environ,
		Resolve: c.resolve, GitDirs: c.host.GitDirs, Own: c.policy.Own(), Hidden: c.host.Hidden,
	}
	if written := c.written(); written != nil {
		doc := *written
		doc.Limits = c.limits(doc.Limits)
		p, err := policy.Compile(&doc, host)
		if err == nil && !c.unmoved(p.Grant().Files) {
			return nil, moved("what the sandbox of the command names")
		}
		return p, err
	}
	flags := policy.Flags{Limits: c.limits(durward.Limits{})}
	give := func(path string) { // what is named to be read alone would not be written, in a zone either
		if c.policy.Writable(path) {
			flags.Write = append(flags.Write, path)
		} else {
			flags.Read = append(flags.Read, path)
		}
	}
	for _, root := range roots {
		if root.Path != host.Workspace || c.policy.Writable(root.Path) {
			give(root.Path)
		}
	}
	if c.There(c.Dir) {
		give(c.Dir)
	}
	for _, rule := range c.policy.WriteRules {
		if rule.Recursive && c.There(rule.Path) {
			flags.Write = append(flags.Write, rule.Path)
		}
	}
	p, err := policy.Default(host, flags)
	if err == nil && !shows(p.Grant(), c.Physical) { // neither in a root nor of the system
		flags.Read = append(flags.Read, c.Physical)
		return policy.Default(host, flags)
	}
	return p, err
}

// unmoved reports whether a sandbox names what it did when the policy was loaded. Where the files of
// git lie may change: what is protected is where they lie now.
func (c *Command) unmoved(now durward.Files) bool {
	was := c.loaded()
	if was == nil { // it is being loaded
		return true
	}
	root := c.policy.Roots[0].Path
	git := append(policy.VCSPaths(root, c.policy.gitDirs), policy.VCSPaths(root, c.policy.gitDirsOf(root))...)
	apart := func(files durward.Files) durward.Files {
		files.Protect = slices.DeleteFunc(slices.Clone(files.Protect), func(path string) bool { return slices.Contains(git, path) })
		return files
	}
	return reflect.DeepEqual(apart(now), apart(*was))
}

// GitDirs are where the files of git lie that a ".git" file of the first root leads to. Where they are
// others, [Command.Confine] gives another confinement.
func (c *Command) GitDirs() []string { return c.policy.gitDirsOf(c.rootsThere()[0].Path) }

func (p *Policy) gitDirsOf(dir string) []string {
	if p.host.GitDirs == nil {
		return nil
	}
	return p.host.GitDirs(dir)
}

// Own lists the absolute paths that calls leave as they are, whatever they may write: what says
// how they are held, and what tells of them. A directory of the host's that a write rule lies in is
// none of them: who names a place in it means that.
func (p *Policy) Own() []string {
	list := slices.DeleteFunc(slices.Clone(p.host.Own), func(path string) bool {
		return slices.ContainsFunc(p.WriteRules, func(rule WriteRule) bool { return rule.Path != path && contains(path, rule.Path) })
	})
	return slices.DeleteFunc(append(list, p.host.File, p.LogFile), func(path string) bool { return path == "" })
}

// loaded gives what the sandbox that was written came to when the policy was loaded, or nil.
func (c *Command) loaded() *durward.Files {
	if c.Entry.Sandbox.Document != nil {
		return c.files
	}
	return c.policy.files
}

// resolve is the host's, but for paths that were physical when the policy was loaded: one
// that is no longer, because a link stands on the way, leads nowhere. What is judged is what
// is granted, whatever happens between two looks.
func (c *Command) resolve(path string) (string, error) {
	now, err := c.host.Resolve(path)
	if err == nil && now != path && c.isOurs(path) {
		return "", moved(path)
	}
	return now, err
}

// isOurs reports whether a path is one that was physical when the policy was loaded, or
// leads to one.
func (c *Command) isOurs(path string) bool {
	paths := []string{c.Dir, c.Physical}
	for _, r := range c.policy.Roots {
		paths = append(paths, r.Path)
	}
	for _, r := range c.policy.WriteRules {
		paths = append(paths, r.Path)
	}
	return slices.ContainsFunc(paths, func(p string) bool { return p != "" && contains(path, p) })
}

func moved(what string) error {
	return &durward.Error{
		Reason: durward.PolicyInvalid, Op: op, Hint: "make it what it was, or load the policy again",
		Err: fmt.Errorf("%s is not what it was when the policy was loaded", what),
	}
}

// There is [Policy.There].
func (c *Command) There(path string) bool { return c.policy.There(path) }

// rootsThere gives the roots that are there by now; when there is none, all of them.
func (c *Command) rootsThere() []Root {
	there := slices.DeleteFunc(slices.Clone(c.policy.Roots), func(r Root) bool { return !c.There(r.Path) })
	if len(there) == 0 {
		return c.policy.Roots
	}
	return there
}

// Grounds are the paths that come and go without harm: where another one of them is there,
// [Command.Confine] gives another confinement. A sandbox that was written has none.
func (c *Command) Grounds() []string {
	if c.written() != nil {
		return nil
	}
	var paths []string
	for _, r := range c.policy.Roots {
		paths = append(paths, r.Path)
	}
	for _, r := range c.policy.WriteRules {
		if r.Recursive {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// written gives the sandbox that somebody wrote for the command, or nil.
func (c *Command) written() *policy.Document {
	if own := c.Entry.Sandbox.Document; own != nil {
		return own
	}
	return c.policy.Document.Sandbox.Document
}

// limits fills in what the sandbox leaves open from what the policy says elsewhere.
func (c *Command) limits(l durward.Limits) durward.Limits {
	seconds := (c.Timeout + time.Second - 1) / time.Second
	for _, m := range []struct {
		into  *int64
		value int64
	}{
		{(*int64)(&l.Wall), int64(c.Timeout)},
		{(*int64)(&l.Grace), int64(grace)},
		{(*int64)(&l.CPU), int64((seconds + 1) * time.Second)},
		{&l.Memory, memory},
		{&l.AddressSpace, c.policy.Document.Limits.MaxAddressSpaceBytes.Value},
		{&l.OpenFiles, openFiles},
		{&l.Output, c.Entry.MaxOutputBytes.Value},
	} {
		if *m.into == 0 {
			*m.into = m.value
		}
	}
	l.Wall = stricter(l.Wall, c.Timeout)
	l.Output = c.MostOutput()
	return l
}

// MostOutput is how many bytes of output are kept of one run.
func (c *Command) MostOutput() int64 {
	written := int64(0)
	if doc := c.written(); doc != nil {
		written = doc.Limits.Output
	}
	return stricter(written, c.Entry.MaxOutputBytes.Value)
}

// stricter gives the smaller of two limits. A negative one is none, and zero is not known.
func stricter[T ~int64](written, other T) T {
	if written <= 0 || other > 0 && other < written {
		return other
	}
	return written
}

// under gives the command as part of another policy of the same machine.
func (c *Command) under(p *Policy) *Command {
	moved := *c
	moved.policy = p
	return &moved
}

// sandboxes finds the mistakes in what was written for all commands or for one.
func (c *compiler) sandboxes() {
	if len(c.p.Roots) == 0 {
		return
	}
	c.p.gitDirs = c.p.gitDirsOf(c.p.Roots[0].Path)
	c.p.files = c.confine(&Command{Entry: &CommandEntry{}, policy: c.p, host: c.host}, c.doc.Sandbox)
	for _, cmd := range c.p.Commands {
		if written := cmd.written(); written != nil {
			cmd.Timeout = stricter(written.Limits.Wall, cmd.Timeout)
		}
		cmd.files = c.confine(cmd, cmd.Entry.Sandbox)
		c.begins(cmd)
	}
}

// confine gives the paths that a sandbox which was written comes to, or nil.
func (c *compiler) confine(cmd *Command, written Sandbox) *durward.Files {
	if written.Document == nil {
		return nil
	}
	held, err := cmd.Confine()
	for _, p := range config.ProblemsOf(err) {
		c.problems.Add(p.Where, "%s", p.Message)
	}
	if err != nil {
		return nil
	}
	files := held.Grant().Files
	return &files
}

// begins refuses a fixed working directory that the command could not see.
func (c *compiler) begins(cmd *Command) {
	if cmd.Dir == "" || cmd.written() == nil {
		return
	}
	if held, err := cmd.Confine(); err == nil && !shows(held.Grant(), cmd.Dir) {
		at := cmd.place(cmd.Entry.Cwd.Where, cmd.Entry.CwdPolicy.Where)
		c.problems.Add(at, "cwd: the sandbox of the command does not show %s; name it under filesystem.read", cmd.Dir)
	}
}

// shows reports whether a directory is in the sets of a grant, or these are for every file.
func shows(g durward.Grant, dir string) bool {
	sets := slices.Concat(g.Files.Read, g.Files.Write)
	return len(sets) == 0 || slices.ContainsFunc(sets, func(set string) bool { return contains(set, dir) })
}
