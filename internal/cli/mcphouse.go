package cli

import (
	"context"
	"errors"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/engine/command"
	"github.com/durward/durward/internal/engine/file"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/sandbox/confined"
	"github.com/durward/durward/internal/source/catalog"
)

// mcpEngines are what calls run by. They stay when the policy is exchanged.
type mcpEngines struct {
	keeper   *confined.Keeper
	programs *process.Engine
	slots    *command.Slots
}

func newMCPEngines(policy *mcppolicy.Policy) mcpEngines {
	return mcpEngines{confined.New(), process.New(process.Options{Warm: true}), command.NewSlots(slotsOf(policy))}
}

// slotsOf is how many commands may run at once.
func slotsOf(p *mcppolicy.Policy) int64 { return p.Document.Limits.MaxCmdConcurrency.Value }

func (e mcpEngines) close() error { return errors.Join(e.programs.Close(), e.keeper.Close()) }

// An mcpHouse is a runtime under a policy.yaml. It uses engines and a log, and owns
// neither.
type mcpHouse struct {
	*core.Runtime
	policy *mcppolicy.Policy
	tools  *catalog.Catalog
	guard  *pathguard.Guard
	slots  *command.Slots
}

// openMCP builds the house of a policy, or of the one folder in it.
func (p *program) openMCP(policy *mcppolicy.Policy, folder bool, engines mcpEngines, recorder core.Recorder) (*mcpHouse, error) {
	start, err := p.dir()
	if err != nil {
		return nil, err
	}
	if folder {
		start = policy.Roots[0].Path
	}
	guard, err := pathguard.Open(rootsOf(policy), guardOptions(policy, start))
	if err != nil {
		return nil, err
	}
	h := &mcpHouse{policy: policy, guard: guard, slots: engines.slots}
	specs := catalog.Specs{
		Read:  file.Spec{Guard: guard, Whole: folder, MaxReadBytes: policy.Document.Limits.MaxReadBytes.Value},
		Write: file.Spec{Guard: guard, Whole: folder, Does: file.Writes},
		Run: command.Spec{
			Guard: guard, Find: func(id string) (command.Command, error) { return commandOf(policy, id) },
			Slots: h.slots,
		},
	}
	if folder {
		specs.List = file.Spec{Guard: guard, Does: file.Lists}
	}
	h.tools = catalog.New(policy, specs)
	h.Runtime, err = core.New(core.Options{
		Source: h.tools, Policy: h.tools, Recorder: recorder, MaxConcurrent: mostMCPCalls, MaxQueue: mostMCPCalls,
		Engines: map[string]core.Engine{
			catalog.FileEngine: file.New(engines.keeper), catalog.CommandEngine: &command.Engine{Programs: engines.programs},
		},
	})
	if err != nil {
		return nil, errors.Join(err, guard.Close())
	}
	return h, nil
}

// mostMCPCalls bounds the calls at once; commands have slots of their own beside.
const mostMCPCalls = 1024

// Expect keeps the place of a command among those that wait for a slot.
func (h *mcpHouse) Expect(c durward.Call) (forget func()) { return h.slots.Expect(c.Arrived) }

// close waits for the calls in flight and frees what is the house's own.
func (h *mcpHouse) close() error {
	h.Shutdown(context.Background())
	return h.guard.Close()
}

func rootsOf(p *mcppolicy.Policy) []string {
	roots := make([]string, len(p.Roots))
	for i, r := range p.Roots {
		roots[i] = r.Path
	}
	return roots
}

func guardOptions(p *mcppolicy.Policy, start string) pathguard.Options {
	o := pathguard.Options{
		Home: machine.Home(), Start: start, AllowRootFilesystem: p.Document.AllowRootFilesystem.Value,
		Rules: fsroot.Rules{
			AllowNetworkFS: !p.Document.DenyNetworkFS.Value, StrictVirtual: p.Document.StrictVirtual.Value,
			DenyHardLinks: p.Document.DenyHardLinks.Value,
		},
		Kept: p.Own(),
	}
	for _, r := range p.WriteRules {
		o.Zones = append(o.Zones, pathguard.Zone{
			Path: r.Path, Recursive: r.Recursive, MaxFileBytes: r.MaxFileBytes, CreateIfMissing: r.CreateIfMissing,
		})
	}
	return o
}

// commandOf gives a command as its engine takes it. What is run is the file that was
// judged when the policy was loaded, found anew by its physical path: a package that is
// updated may put another one there, and nobody else can, as no place on the way to it
// lies in a write zone.
func commandOf(p *mcppolicy.Policy, id string) (command.Command, error) {
	known, err := p.Command(id)
	if err != nil {
		return command.Command{}, err
	}
	return command.Command{
		Program: known.Physical, Name: known.Exec, Timeout: known.Timeout, Argv: known.Argv,
		Dir:   command.Directory{Within: known.Entry.CwdPolicy.Value == "withinRoot", Fixed: known.Dir},
		Judge: func(args []string, scope func(string) error) error { return known.Judge(args, scope) },
		Explain: func(args []string, scope func(string) error) ([]durward.Step, error) {
			return known.Explain(args, scope)
		},
	}, nil
}

// surfaceOf is what clients are shown of a policy.
func surfaceOf(p *mcppolicy.Policy) mcp.Surface {
	s := mcp.Surface{
		PolicyHash: p.Hash, Summary: p.Summary(),
		MaxReadBytes: p.Document.Limits.MaxReadBytes.Value, MaxCommands: p.Document.Limits.MaxCmdConcurrency.Value,
	}
	for _, c := range p.Commands {
		shown := mcp.Command{
			ID: c.ID, Description: c.Entry.Description.Value, CWDPolicy: c.Entry.CwdPolicy.Value,
			TimeoutMs: c.Timeout.Milliseconds(), MaxOutputBytes: c.MostOutput(),
		}
		for _, t := range c.Entry.Args.Allow.Value {
			shown.Allow = append(shown.Allow, t.Value)
		}
		for _, pattern := range c.Entry.Args.Patterns {
			shown.Patterns = append(shown.Patterns, pattern.Value.Value)
		}
		s.Commands = append(s.Commands, shown)
	}
	return s
}
