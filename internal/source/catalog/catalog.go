// Package catalog offers the tools of a policy.yaml, and decides their calls by it:
//
//	fs.read    Input {"path": …}    within allowedRoots
//	fs.write   Input {"path": …}    within the zones of writeRules
//	fs.list    Input {"path": …}    within allowedRoots, where it is offered
//	cmd.run    CommandID, Argv      an entry of commands
//
// What a policy can say without looking at files is said here. Where a path leads, and so
// what an argument names, is judged by the engines.
package catalog

import (
	"context"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/toolcall"
)

// The engines that the tools name.
const (
	FileEngine    = "file"
	CommandEngine = "command"
)

// A Catalog is a [core.Source] and a [core.Policy]. It never changes and is safe for
// concurrent use.
type Catalog struct {
	tools   core.Catalogue
	policy  *mcppolicy.Policy
	entries map[string]*entry
}

// Specs are what the engines of the tools need to know. Without one of List that tool is
// not offered.
type Specs struct{ Read, Write, List, Run any }

// New makes a catalogue of a policy.
func New(p *mcppolicy.Policy, s Specs) *Catalog {
	c := &Catalog{policy: p, entries: entriesOf(p)}
	c.tools = core.Catalogue{
		{
			ID: toolcall.CommandRun, Title: "Run a command", Doc: "Runs a command of the catalogue, without a shell.",
			Effect: durward.Effect{Destructive: true, OpenWorld: true}, Engine: CommandEngine, Spec: s.Run,
		},
		{
			ID: toolcall.FSRead, Title: "Read a file", Doc: "Reads a file within the allowed roots.",
			Effect: durward.Effect{ReadOnly: true, Idempotent: true}, Engine: FileEngine, Spec: s.Read,
		},
		{
			ID: toolcall.FSWrite, Title: "Write a file", Doc: "Writes a file within the write zones, whole or not at all.",
			Effect: durward.Effect{Destructive: true}, Engine: FileEngine, Spec: s.Write,
		},
	}
	if s.List != nil {
		c.tools = slices.Insert(c.tools, 1, durward.Tool{
			ID: toolcall.FSList, Title: "List a directory", Doc: "Lists a directory within the allowed roots.",
			Effect: durward.Effect{ReadOnly: true, Idempotent: true}, Engine: FileEngine, Spec: s.List,
		})
	}
	return c
}

// Find gives the tool of that id.
func (c *Catalog) Find(ctx context.Context, id durward.ToolID) (durward.Tool, error) {
	return c.tools.Find(ctx, id)
}

// Tools lists them all.
func (c *Catalog) Tools(ctx context.Context) ([]durward.Tool, error) { return c.tools.Tools(ctx) }
