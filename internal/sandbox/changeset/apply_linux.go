package changeset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Apply makes all changes of all sets in their workspaces, or none.
//
// The kernel holds it to the workspaces meanwhile, by Landlock: where it cannot, nothing is
// done, and the reason is SandboxUnavailable. What rules say of file systems is asked of
// that of each workspace.
//
// files are those of the grant that the command ran under. Before anything is done, each
// change is judged: what is refused whatever the grant says ([Change].Refused), what is
// outside of files.Write, and what is in, at or around a path that is denied or protected.
// What stands in the workspace has to be what Read found: the same files, with the same
// content and rights, and nothing else in a directory that goes. An error has the reason of
// the first refusal, names its path, and counts the others; for the last it is
// ChangedMeanwhile.
//
// Then all that is new is written beside its place and made to last. It gets the owner that it
// would have without a copy, where this process may say so, else its user is, and the
// permission bits that it has in upper; it loses extended attributes. At last each change is made by a rename that replaces nothing but what was judged, and what was set
// aside is deleted.
//
// When something fails on the way, as on a full disk, or ctx ends, all is taken back, and
// the error is that of the failure: nothing was changed. If that fails in turn, or what was
// set aside cannot be deleted, the reason is PartlyApplied and the cause a [*Partial]. What
// somebody puts in the place of what lies beside its place is left as it is, and named there:
// nothing is made in it, and it is neither given to anybody nor deleted. The
// sets stay good in either case, and Apply can be called again: it does what is left. Should
// this process be killed meanwhile, names that begin with ".durward-" may remain, and what
// was replaced is among them.
func Apply(ctx context.Context, files durward.Files, rules fsroot.Rules, sets ...*Set) error {
	for _, s := range sets {
		if err := s.admit(rules); err != nil {
			return err
		}
	}
	return held(ctx, sets, func() error { return apply(ctx, files, sets) })
}

func apply(ctx context.Context, files durward.Files, sets []*Set) error {
	units, err := judged(ctx, files, sets)
	if err != nil {
		return err
	}
	err = each(ctx, units, (*unit).widen, (*unit).stage, (*unit).rename)
	if err != nil {
		return undo(units, err)
	}
	return finish(units)
}

// judged gives what there is to do, if all of it may be done.
func judged(ctx context.Context, files durward.Files, sets []*Set) ([]*unit, error) {
	g, err := groundsOf(files)
	if err != nil {
		return nil, err
	}
	var units []*unit
	var r refusals
	for _, s := range sets {
		for _, u := range s.units() {
			for _, c := range u.all {
				r.add(u.judge(g, c))
			}
			units = append(units, u)
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	for _, u := range units {
		if err := u.verify(ctx); err != nil {
			if durward.ReasonOf(err) != durward.ChangedMeanwhile {
				return nil, err
			}
			r.add(err)
		}
	}
	return units, r.err()
}

func (u *unit) judge(g *grounds, c *change) error {
	if c.Refused != "" {
		return refusal(opApply, c.Refused, "filesystem.copyOnWrite", "let the command not make it, or run it without copyOnWrite", u.full(c), "%s", c.Refused.Summary())
	}
	return g.judge(u.set, c)
}

// refusals keep the first and count the others.
type refusals struct {
	first  error
	others int
}

func (r *refusals) add(err error) {
	switch {
	case err == nil:
	case r.first == nil:
		r.first = err
	default:
		r.others++
	}
}

func (r *refusals) err() error {
	if r.others == 0 {
		return r.first
	}
	e := *durward.AsError(r.first)
	e.Err = fmt.Errorf("%w (and %d more refused)", e.Err, r.others)
	return &e
}

// each takes all units through one step after the other.
func each(ctx context.Context, units []*unit, steps ...func(*unit, context.Context) error) error {
	for _, step := range steps {
		for _, u := range units {
			if ctx.Err() != nil {
				return durward.Ended(ctx, opApply)
			}
			if err := step(u, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// undo takes everything back, last things first.
func undo(units []*unit, cause error) error {
	p := &Partial{}
	for _, u := range slices.Backward(units) {
		err := u.takeBack()
		if err == nil {
			continue
		}
		p.Err = errors.Join(p.Err, u.fail(u.top(), err))
		if u.placed {
			u.setDone()
		}
		p.Remains = append(p.Remains, u.remains()...)
	}
	if p.Err == nil {
		return cause
	}
	p.Err = errors.Join(cause, p.Err)
	return p.tell(units)
}

// finish deletes what was set aside, and gives directories that stay their permissions,
// those within others first.
func finish(units []*unit) error {
	p := &Partial{}
	for _, u := range slices.Backward(units) {
		if err := u.finish(); err != nil {
			p.Err = errors.Join(p.Err, u.fail(u.top(), err))
			p.Remains = append(p.Remains, u.remains()...)
		}
	}
	if p.Err == nil {
		return nil
	}
	return p.tell(units)
}

// tell lists what became of each change.
func (p *Partial) tell(units []*unit) error {
	for _, u := range units {
		for _, c := range u.all {
			if c.done {
				p.Applied = append(p.Applied, u.full(c))
			} else {
				p.Left = append(p.Left, u.full(c))
			}
		}
	}
	return &durward.Error{
		Reason: durward.PartlyApplied, Op: opApply, Rule: "filesystem.copyOnWrite",
		Hint: "remove what is in the way and apply again, or look at each path that is named", Err: p,
	}
}
