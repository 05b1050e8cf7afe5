package confined

import (
	"context"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// judging says of places what the rules do not; nil where they leave nothing to say.
type judging = *judge

// note looks at what stands at the paths of the grant.
func (h *Hold) note(ctx context.Context, to access) (err error) {
	t := h.access.terms
	if t.judged(to) {
		h.judge, err = h.access.keeper.pool(t).judge(ctx, h.op, to)
	}
	return err
}

// Judges reports whether anything may be refused beneath a place that was not. If not, what
// lies beneath it need not be shown.
func (h *Hold) Judges() bool { return h.judge != nil }

// Reads refuses what was opened, perhaps as a place only, unless it may be read.
func (h *Hold) Reads(fd int) error {
	l, err := h.find(fsroot.Place{FD: fd})
	if l == nil || err != nil {
		return err
	}
	if !h.gives(l.path(len(l.names)), landlock.Read|landlock.Device) {
		return h.absent("filesystem.read", "name it in filesystem.read")
	}
	if h.judge != nil && h.judge.verdict(l, reading) != nil {
		return h.absent("filesystem.deny", "use another path; the policy denies this one")
	}
	return nil
}

// Writes refuses a file that was opened as a place, unless its content may be changed.
func (h *Hold) Writes(fd int) error { return h.changes(fsroot.Place{FD: fd}) }

// Makes refuses names, each in the one before and the first in an open directory, unless
// they may be made, replaced or removed.
func (h *Hold) Makes(dir int, names ...string) error {
	return h.changes(fsroot.Place{FD: dir, Names: names})
}

// Removes is Makes for a name that may be that of a directory: beneath it there may be
// nothing either that the grant takes back.
func (h *Hold) Removes(dir int, name string) error {
	l, err := h.find(fsroot.Place{FD: dir, Names: []string{name}})
	if l == nil || err != nil {
		return err
	}
	if err := h.judgeChange(l, 1); err != nil {
		return err
	}
	target := l.path(len(l.names))
	for path, stands := range h.access.terms.said {
		if stands&(denied|protected|readable) != 0 && fsroot.Contains(target, path) {
			return refused(h.op, durward.FilePermission, "filesystem.protect", "remove what lies beside it; the policy keeps something in it")
		}
	}
	return nil
}

func (h *Hold) changes(p fsroot.Place) error {
	l, err := h.find(p)
	if l == nil || err != nil {
		return err
	}
	return h.judgeChange(l, len(p.Names))
}

// judgeChange judges a place of which the last names are still to be made, or to go.
func (h *Hold) judgeChange(l *lineage, names int) error {
	at := l.path(len(l.names) - names)
	switch {
	case !h.gives(at, landlock.Write) && h.gives(at, landlock.Read):
		return refused(h.op, durward.FilePermission, "filesystem.write", "write in a directory that the policy names for it")
	case !h.gives(at, landlock.Write):
		return refused(h.op, durward.OutsideRoot, "filesystem.write", "write in a directory that the policy names for it")
	case h.judge != nil:
		return h.judge.verdict(l, writing)
	}
	return nil
}

// find finds out where a place is; nil where nothing is held.
func (h *Hold) find(p fsroot.Place) (*lineage, error) {
	if !h.Confines() {
		return nil, nil
	}
	l, err := lineageOf(p)
	if err != nil {
		return nil, untold(h.op, err)
	}
	return l, nil
}

// gives reports whether the rules give one of the rights to a path.
func (h *Hold) gives(path string, rights landlock.Right) bool {
	for _, rule := range h.access.terms.rules.Paths {
		if rule.Rights&rights != 0 && fsroot.Contains(rule.Path, path) {
			return true
		}
	}
	return false
}

func (h *Hold) absent(rule, hint string) error {
	return &durward.Error{Kind: durward.Denied, Reason: durward.FileNotFound, Op: h.op, Rule: rule, Hint: hint}
}

// start runs f on a thread that is held to the terms, once there is one.
func (k *Keeper) start(ctx context.Context, op string, t *terms, f func()) error {
	p := k.pool(t)
	thread, err := p.take(ctx, op, k.stop)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		p.give(thread)
		return durward.Ended(ctx, op)
	}
	k.going.Add(1) // beside the operation, for it may be over before the thread is back
	begun := thread.Begin(func() {
		f()
		if !p.keep(thread) {
			k.going.Go(func() { thread.Close() }) // which waits for this function
		}
		<-p.turns
		k.going.Done()
	})
	if !begun {
		k.going.Done()
		p.give(thread)
		return closed(op)
	}
	return nil
}
