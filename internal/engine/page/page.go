// Package page carries out the commands that pages allow: it expands the variables that
// their authors placed in them, gives built-in ones to engines of their own, and all
// else to the one that runs programs.
package page

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
)

// A Spec is what a tool of this engine holds.
type Spec interface {
	// Carry gives a call as it is carried out: expanded, and in its directory.
	Carry(c durward.Call) (durward.Call, error)
	// RootDir is the directory that a program named by a path must lie in.
	RootDir() string
}

// An Engine is a [core.Engine] for tools whose Spec is a [Spec].
type Engine struct {
	// Programs runs everything that is no built-in command.
	Programs core.Engine
	// BuiltIn holds the engines of the built-in commands by their names.
	BuiltIn map[string]core.Engine
}

// Enforces lists what the engine for programs can hold. What an engine of a built-in
// command cannot is asked when it is to be used.
func (e *Engine) Enforces() []durward.GrantField { return e.Programs.Enforces() }

// Prepare hands the call on. What is wrong with an expanded one is told without its
// words: the caller has not seen them.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	spec, ok := t.Spec.(Spec)
	if !ok {
		return nil, fmt.Errorf("tool %q is no page", t.ID)
	}
	carried, err := spec.Carry(c)
	if err != nil {
		return nil, err
	}
	p, err := e.prepare(ctx, t, carried, g, spec.RootDir())
	if slices.Equal(carried.Argv, c.Argv) {
		return p, err
	}
	if err != nil {
		return nil, discreet(err)
	}
	return expanded{p}, nil
}

func (e *Engine) prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant, root string) (core.Prepared, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, &durward.Error{Reason: durward.ArgvEmpty, Op: "prepare", Hint: "name a program"}
	}
	if builtIn, ok := e.BuiltIn[c.Argv[0]]; ok {
		if err := core.Holds(builtIn, g); err != nil {
			return nil, err
		}
		return builtIn.Prepare(ctx, t, c, g)
	}
	if !strings.ContainsAny(c.Argv[0], separators) {
		return e.Programs.Prepare(ctx, t, c, g)
	}
	return e.prepareInside(ctx, t, c, g, root)
}

// Opened is a prepared call that holds its program open.
type Opened interface {
	// Program is the physical path of the program.
	Program() string
}

// separators are what makes a program's name a path.
const separators = "/" + string(filepath.Separator)

// prepareInside refuses a program that is named by a path and lies outside the root,
// wherever links lead. What was opened is judged, where the engine opens it.
func (e *Engine) prepareInside(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant, root string) (core.Prepared, error) {
	path := filepath.FromSlash(c.Argv[0])
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	if _, ok := fsroot.Below(root, path); !ok {
		return nil, outside(c.Argv[0])
	}
	p, err := e.Programs.Prepare(ctx, t, c, g)
	if err != nil {
		return nil, err
	}
	if opened, ok := p.(Opened); ok {
		path = opened.Program()
	} else if physical, err := filepath.EvalSymlinks(path); err == nil { // what is not there is missed by who runs it
		path = physical
	}
	if _, ok := fsroot.Below(root, path); !ok {
		return nil, errors.Join(outside(c.Argv[0]), p.Close())
	}
	return p, nil
}

// An expanded call holds values of variables.
type expanded struct{ core.Prepared }

// Run runs it.
func (x expanded) Run(ctx context.Context) (durward.Result, error) {
	result, err := x.Prepared.Run(ctx)
	return result, discreet(err)
}

// OnRefused passes it on.
func (x expanded) OnRefused(tell func(to durward.Contact)) {
	if refuser, ok := x.Prepared.(core.Refuser); ok {
		refuser.OnRefused(tell)
	}
}

// discreet gives an error without its cause, which may name what the call holds.
func discreet(err error) error {
	e := durward.AsError(err)
	if e == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	silent := *e
	silent.Kind, silent.Reason, silent.Err = durward.KindOf(err), durward.ReasonOf(err), nil
	return &silent
}

func outside(program string) error {
	return &durward.Error{
		Reason: durward.OutsideRoot, Op: "prepare", Rule: "program", Hint: "name a program by its bare name, or one below the site",
		Err: fmt.Errorf("%s is outside the site", program),
	}
}
