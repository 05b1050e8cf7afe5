// Package unproven judges what a command may be promised on a system on which nothing of
// the sandbox has been run: nothing.
//
// Judging is pure. What is built in for such a system is applied and named as weak, and
// no guarantee is ever reported as held. What somebody asked to be held is refused.
package unproven

import (
	"errors"
	"fmt"

	"github.com/durward/durward"
)

// Err says of a mechanism what is to be said here.
var Err = errors.New("built in, but never proven on this system")

// Hint is what a user can do about it.
const Hint = "run it on Linux (amd64 or arm64), or write mode: external in a policy where something else confines durward"

// Judge gives the report of a command that is started as id under the mechanisms applied, or
// refuses a grant that asks for something to be held. Only a built-in default, which
// steps down, and the modes that confine nothing are let pass, and both only at level 0.
//
// The error has reason SandboxUnavailable, and its rule is the member at fault.
func Judge(g durward.Grant, id durward.ReportIdentity, applied []string) (durward.Report, error) {
	if err := refuse(g); err != nil {
		return durward.Report{}, err
	}
	r := durward.Report{Mode: g.Mode, Identity: id, Guarantees: make(durward.Holding)}
	for _, guarantee := range durward.Guarantees() {
		r.Guarantees[guarantee] = held(g.Mode, guarantee)
	}
	for _, mechanism := range applied {
		r.Weak = append(r.Weak, fmt.Sprintf("%s: %s", mechanism, Err))
	}
	return r, require(g, &r)
}

// refuse refuses what level 0 and a mode that confines by itself cannot be.
func refuse(g durward.Grant) error {
	confines := g.Mode != durward.External && g.Mode != durward.DangerFullAccess
	switch {
	case g.Level > durward.LevelNone:
		return unavailable("level", "level %d is %w", g.Level.Number(), Err)
	case g.MinLevel > durward.LevelNone:
		return unavailable("minLevel", "level %d is %w", g.MinLevel.Number(), Err)
	case confines && (!g.StepDown || g.Level != durward.LevelAuto):
		return unavailable("mode", "what holds a command to mode %s is %w", g.Mode, Err)
	case g.Files.CopyOnWrite:
		return unavailable("filesystem.copyOnWrite", "a copy of what is written cannot be had")
	}
	return nil
}

// held: what lies outside of durward is the operator's word. That a tree ends, and what it
// uses, nobody outside can see to.
func held(m durward.Mode, g durward.Guarantee) durward.Held {
	if m != durward.External || g == durward.Kill || g == durward.Mem || g == durward.Pids {
		return durward.Held{Held: durward.HeldNone}
	}
	return durward.Held{Held: durward.HeldVouched}
}

// require refuses what has to be held and is not. What a built-in default asks for on its
// own is named as weak instead.
func require(g durward.Grant, r *durward.Report) error {
	for _, q := range g.Require {
		h := r.Guarantees[q.Guarantee].Held
		if h == durward.HeldVouched && !q.Kernel {
			continue
		}
		if !g.StepDown || q.Firm || q.Kernel {
			return unavailable("require", "%s is required, and what holds it is %w", q, Err)
		}
		r.Weak = append(r.Weak, fmt.Sprintf("%s: %s at level 0", q.Guarantee, h))
	}
	return nil
}

func unavailable(rule, format string, args ...any) error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "sandbox", Rule: rule, Hint: Hint, Err: fmt.Errorf(format, args...),
	}
}
