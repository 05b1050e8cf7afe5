package mcppolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// Options change what compiling accepts. The zero value suits whoever only wants to
// know.
type Options struct {
	// Strict refuses a policy file that others may write, in place of a warning.
	Strict bool
}

// Compile makes a policy out of a document for this machine. Paths are expanded and
// resolved and programs looked up, once; the policy does not follow later changes.
//
// The error has the reason [durward.PolicyInvalid] and names every mistake with its
// place, those that [Parse] found in the document included.
func Compile(doc *Document, host Host, o Options) (*Policy, error) {
	c := &compiler{doc: doc, host: host, p: &Policy{Document: doc, Hash: doc.Hash(), host: host}}
	c.problems = slices.Clone(doc.mistakes)
	c.mode(o)
	c.roots()
	c.writeRules()
	c.keepWay(c.p.ruleZones())
	c.log()
	c.commands()
	c.sandboxes()
	c.keepFromSandboxes()
	if err := c.problems.Err(); err != nil {
		return nil, policy.Invalid(err)
	}
	c.p.Warnings = config.ProblemsOf(c.p.Warnings.Err()) // in the order of their places
	return c.p, nil
}

// A compiler puts one policy together.
type compiler struct {
	doc      *Document
	host     Host
	p        *Policy
	problems config.Problems
}

func (c *compiler) warn(at durward.Position, format string, args ...any) {
	c.p.Warnings.Add(at, format, args...)
}

// mode judges who may write the policy.
func (c *compiler) mode(o Options) {
	if c.host.windows() || c.host.Mode.Perm()&0o022 == 0 {
		return
	}
	note := c.warn
	if o.Strict {
		note = c.problems.Add
	}
	note(durward.Position{File: c.doc.Where.File}, "others than its owner may write this file; chmod go-w %s", c.doc.Where.File)
}

func (c *compiler) roots() {
	skipped := 0
	for i, t := range c.doc.AllowedRoots.Value {
		name := fmt.Sprintf("allowedRoots[%d]", i)
		if t.Value == "" {
			continue // was refused
		}
		if c.foreign(t.Value) {
			c.warn(t.Where, "%s: %s is a path of another system and is skipped", name, t.Value)
			skipped++
			continue
		}
		path, ok := c.directory(name, t)
		if !ok {
			continue
		}
		if isTop(path) && !c.doc.AllowRootFilesystem.Value {
			c.problems.Add(t.Where, "%s: %s is the whole file system; set allowRootFilesystem: true if that is meant", name, t.Value)
			continue
		}
		c.p.Roots = append(c.p.Roots, Root{Written: t.Value, Path: path, Where: t.Where})
	}
	if skipped > 0 && skipped == len(c.doc.AllowedRoots.Value) {
		c.problems.Add(c.doc.AllowedRoots.Where, "allowedRoots: no entry is a path of this system")
	}
}

func (c *compiler) writeRules() {
	for i, e := range c.doc.WriteRules {
		if e.Path.Value == "" {
			continue // was refused
		}
		name := fmt.Sprintf("writeRules[%d].path", i)
		path, exists, ok := c.resolve(name, e.Path)
		switch {
		case !ok:
			continue
		case !exists && !e.CreateIfMissing.Value:
			c.problems.Add(e.Path.Where, "%s: %s does not exist; set createIfMissing: true to have it made", name, c.shown(e.Path))
		case c.rootsKnown() && !c.inRoots(path):
			c.problems.Add(e.Path.Where, "%s: %s lies in no allowed root", name, e.Path.Value)
		}
		c.p.WriteRules = append(c.p.WriteRules, WriteRule{
			Written: e.Path.Value, Path: path, Recursive: e.Recursive.Value,
			MaxFileBytes: e.MaxFileBytes.Value, CreateIfMissing: e.CreateIfMissing.Value, Where: e.Where,
		})
	}
}

func (c *compiler) log() {
	t := c.doc.Logging.File
	if t.Value == "" {
		return
	}
	path, ok := c.expand("logging.file", t)
	if !ok {
		return
	}
	c.refuseInZone("logging.file", t, path, c.p.ruleZones())
	if _, err := c.host.Readlink(path); err == nil {
		c.problems.Add(t.Where, "logging.file: %s is a symbolic link, which no log is written through", t.Value)
	} else if mode, err := c.host.Stat(path); err == nil && mode.IsDir() {
		c.problems.Add(t.Where, "logging.file: %s is a directory; name a file in it", t.Value)
	} else if err == nil && !mode.IsRegular() {
		c.problems.Add(t.Where, "logging.file: %s is not a regular file", t.Value)
	}
	c.p.LogFile = path
}

func (c *compiler) commands() {
	for i := range c.doc.Commands {
		e := &c.doc.Commands[i]
		name := fmt.Sprintf("commands[%d]", i)
		c.warnOfVariables(name, e)
		if here := values(e.Platform.Value); len(here) == 0 || slices.Contains(here, c.host.platform()) {
			c.p.Commands = append(c.p.Commands, c.command(name, e))
		}
	}
	slices.SortFunc(c.p.Commands, func(a, b *Command) int { return strings.Compare(a.ID, b.ID) })
}

func (c *compiler) warnOfVariables(name string, e *CommandEntry) {
	for i, t := range e.EnvAllowlist.Value {
		if plants(t.Value) {
			c.warn(t.Where, "%s.envAllowlist[%d]: whoever sets %s can make a program run something else", name, i, t.Value)
		}
	}
}
