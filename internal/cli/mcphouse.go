package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/durward/durward/internal/audit"
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

// An mcpHouse is a runtime under a policy.yaml, with all that stands behind it.
type mcpHouse struct {
	*core.Runtime
	guard    *pathguard.Guard
	keeper   *confined.Keeper
	programs *process.Engine
	log      *audit.Log
	program  *program
}

// openMCP builds the house of a policy, with the log that it names.
func (p *program) openMCP(policy *mcppolicy.Policy, logger *slog.Logger) (*mcpHouse, error) {
	start, err := p.dir()
	if err != nil {
		return nil, err
	}
	h := &mcpHouse{program: p, keeper: confined.New(), programs: process.New(process.Options{Warm: true})}
	h.guard, err = pathguard.Open(rootsOf(policy), guardOptions(policy, start))
	if err == nil {
		h.log, err = p.openPolicyLog(policy, logger)
	}
	if err == nil {
		err = h.build(policy)
	}
	if err != nil {
		return nil, errors.Join(err, h.free())
	}
	return h, nil
}

func (h *mcpHouse) build(policy *mcppolicy.Policy) error {
	tools := catalog.New(policy, catalog.Specs{
		Read:  file.Spec{Guard: h.guard, MaxReadBytes: policy.Document.Limits.MaxReadBytes.Value},
		Write: file.Spec{Guard: h.guard, Writes: true},
		Run: command.Spec{
			Guard: h.guard, Find: func(id string) (command.Command, error) { return commandOf(policy, id) },
			Slots: command.NewSlots(policy.Document.Limits.MaxCmdConcurrency.Value),
		},
	})
	var err error
	h.Runtime, err = core.New(core.Options{
		Source: tools, Policy: tools, Recorder: h.log, MaxConcurrent: mostMCPCalls, MaxQueue: mostMCPCalls,
		Engines: map[string]core.Engine{
			catalog.FileEngine: file.New(h.keeper), catalog.CommandEngine: &command.Engine{Programs: h.programs},
		},
	})
	return err
}

// mostMCPCalls bounds the calls at once; commands have slots of their own beside.
const mostMCPCalls = 1024

// close waits for the calls in flight and frees everything.
func (h *mcpHouse) close() error {
	h.Shutdown(context.Background())
	h.program.idle = true
	return h.free()
}

func (h *mcpHouse) free() error {
	err := errors.Join(h.programs.Close(), h.keeper.Close())
	if h.guard != nil {
		err = errors.Join(err, h.guard.Close())
	}
	if h.log != nil {
		err = errors.Join(err, h.log.Close())
	}
	return err
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
	}
	for _, r := range p.WriteRules {
		o.Zones = append(o.Zones, pathguard.Zone{
			Path: r.Path, Recursive: r.Recursive, MaxFileBytes: r.MaxFileBytes, CreateIfMissing: r.CreateIfMissing,
		})
	}
	return o
}

// commandOf gives a command as its engine takes it.
func commandOf(p *mcppolicy.Policy, id string) (command.Command, error) {
	known, err := p.Command(id)
	if err != nil {
		return command.Command{}, err
	}
	return command.Command{
		Program: known.Exec, Timeout: known.Timeout, Argv: known.Argv,
		Dir:   command.Directory{Within: known.Entry.CwdPolicy.Value == "withinRoot", Fixed: known.Dir},
		Judge: func(args []string, scope func(string) error) error { return known.Judge(args, scope) },
	}, nil
}

// surfaceOf is what clients are shown of a policy.
func surfaceOf(p *mcppolicy.Policy, dotted bool) mcp.Surface {
	s := mcp.Surface{PolicyHash: p.Hash, Dotted: dotted}
	for _, c := range p.Commands {
		shown := mcp.Command{
			ID: c.ID, Description: c.Entry.Description.Value, CWDPolicy: c.Entry.CwdPolicy.Value,
			TimeoutMs: c.Entry.TimeoutMs.Value, MaxOutputBytes: c.Entry.MaxOutputBytes.Value,
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
