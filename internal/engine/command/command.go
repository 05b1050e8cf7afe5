// Package command carries out the commands of a catalogue. A call names one and says what
// to add to it:
//
//	CommandID   git
//	Argv        [git status -s]      the id, and what comes behind the fixed arguments
//	Dir         ~/code/project       as the caller wrote it
//
// The engine finds the working directory, judges the arguments, waits for a slot, and
// hands what is to be executed to the engine that runs programs.
package command

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/pathguard"
)

// A Spec is what a tool of this engine holds.
type Spec struct {
	// Guard finds working directories, and judges arguments that name paths.
	Guard *pathguard.Guard
	// Find gives the command called id. Its error is of reason CommandUnknown.
	Find func(id string) (Command, error)
	// Slots are shared by all calls of the tool.
	Slots *Slots
}

// A Command is an entry of the catalogue.
type Command struct {
	// Program is the absolute path of what is executed, Name what the program is told
	// that it is called: several do by it what they do.
	Program, Name string
	// Dir is where it begins: a directory of its own, or a rule.
	Dir Directory
	// Judge tells whether it may be run with these arguments. It asks scope about those
	// that name paths.
	Judge func(args []string, scope func(path string) error) error
	// Explain judges in the same way and gives all of the steps.
	Explain func(args []string, scope func(path string) error) ([]durward.Step, error)
	// Argv gives all that comes behind the name of the program.
	Argv func(args []string) []string
	// Timeout is how long it may run, and how long it may wait for a slot before.
	Timeout time.Duration
}

// A Directory says where a command begins.
type Directory struct {
	// Within lets the caller choose, within the roots of the guard; the first of them is
	// where it begins otherwise.
	Within bool
	// Fixed is the one directory, where it is not empty. Without it, and without Within,
	// the command begins in the root of the file system.
	Fixed string
}

// An Engine is a [core.Engine] for tools whose Spec is a [Spec].
type Engine struct {
	// Programs runs what came of a call.
	Programs core.Engine
}

// Enforces lists what the engine for programs can hold.
func (e *Engine) Enforces() []durward.GrantField { return e.Programs.Enforces() }

// Prepare judges what the caller adds to the command, and has it prepared.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	s, ok := t.Spec.(Spec)
	if !ok {
		return nil, fmt.Errorf("tool %q runs no commands", t.ID)
	}
	if len(c.Argv) == 0 {
		return nil, &durward.Error{Reason: durward.ArgvEmpty, Op: "prepare", Hint: "name a command"}
	}
	cmd, err := s.Find(c.CommandID)
	if err != nil {
		return nil, err
	}
	s.Guard = s.Guard.Explaining(c.Explain)
	dir, err := s.open(ctx, cmd.Dir, c.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	args := c.Argv[1:]
	if err := cmd.judge(args, s.scope(ctx, dir), c.Explain); err != nil {
		return nil, err
	}
	c.Argv = slices.Concat([]string{cmd.Name}, cmd.Argv(args))
	t.Spec = program(cmd.Program)
	c.Dir = handle(dir)
	if asked := c.Ask.Limits.Wall; asked > 0 {
		cmd.Timeout = min(cmd.Timeout, asked)
	}
	g.Limits.Wall = cmd.Timeout
	p, err := e.Programs.Prepare(ctx, t, c, g)
	if err != nil {
		return nil, err
	}
	return prepared{Prepared: p, slots: s.Slots, arrived: c.Arrived, timeout: cmd.Timeout}, nil
}

// A program is the path of one, as a tool of the engine for programs holds it.
type program string

// Program is the path.
func (p program) Program() string { return string(p) }

// judge tells its steps, too, where somebody wants to hear them.
func (c Command) judge(args []string, scope func(string) error, tell func(durward.Step)) error {
	if tell == nil {
		return c.Judge(args, scope)
	}
	steps, err := c.Explain(args, scope)
	for _, s := range steps {
		tell(s)
	}
	return err
}

// scope judges an argument that names a path from the working directory.
func (s Spec) scope(ctx context.Context, dir *os.File) func(string) error {
	return func(path string) error {
		from, err := fsroot.PhysicalPath(dir)
		if err != nil {
			return err
		}
		return s.Guard.JudgeArgument(ctx, from, path)
	}
}
