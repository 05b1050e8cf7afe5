// Package confined carries out file operations under a grant, held to it by the kernel.
//
// The code is ours, but the names come from a caller, and what they lead to may change at
// any moment. So three things hold an operation, each by itself:
//
//   - fsroot leads a name from a root and never out of it, and judges what was opened;
//   - whoever does it has the Landlock rules that commands of the grant get, without the
//     devices that those take for granted. It is a thread that carries them or, to open a
//     file, one that borrows its credentials: what no rule gives cannot be opened, made,
//     moved or removed so;
//   - what the grant takes back from within what it gives, and rules cannot, is judged by
//     us where it was opened: denied paths and patterns, protected paths, and what is only
//     to be read inside what can be written. A refusal comes before anything is made.
//
// The last of these is judged by what was opened, not by how it was named. Its path is the
// one by which the kernel knows its descriptor; the directories around it are found by
// going up from there, and known, as it is itself, by device, inode and time of birth. A
// denied or protected path stands for whatever has that path now, for what stood there
// when its policy was first used and when the operation began, and where that was a
// symlink, for what it leads to. So it makes no difference whether it is reached by another
// name, by a link, over a bind mount of it, in another case, or after a directory above it was
// moved or replaced. Where nothing stands, the names are compared with those of what is to
// be made, letters of any case alike.
//
// Not held is what a hard link gives: a file that lies in a denied directory and has
// another name outside of it can be read by that name, as a command can. A denied file is
// known by any name, and no file of several names is written to. The same goes for a bind
// mount of something beneath a denied or protected directory. Neither is it hidden
// whether something exists at a denied path, nor noticed when another process moves a
// directory into a protected one between the last look and the rename that follows it.
package confined

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// An Access carries out file operations under one grant. It may be used concurrently and
// needs no closing; it works until its Keeper is closed.
//
// Where the mode confines files an operation waits for one of few threads. The end of ctx
// ends that wait with the reason of its cause, as it ends an operation that opens
// something: what is still opened then is closed again. A write that has begun is waited
// for, so that it is known what became of it; it looks at ctx between chunks.
type Access struct {
	keeper *Keeper
	terms  *terms // nil where the mode confines no files
	report durward.Report
}

// Under gives the operations of a grant. Modes read-only and workspace-write are held to
// its path sets, whatever level it names: an error with reason SandboxUnavailable says
// what of that cannot be had here, and nothing is ever done without it. There is no
// private temporary directory for a file operation, so [durward.PrivateTmp] gives nothing.
// The other modes confine no files; a grant of theirs that has path sets is refused, as
// nothing would hold them.
func (k *Keeper) Under(g durward.Grant) (*Access, error) {
	if g.Files.CopyOnWrite {
		return nil, unavailable("filesystem.copyOnWrite", "take it out of the policy", "a copy of what is written cannot be had")
	}
	switch g.Mode {
	case durward.ReadOnly, durward.WorkspaceWrite:
		return k.confine(g)
	case durward.DangerFullAccess, durward.External:
		return k.free(g)
	}
	return nil, unavailable("sandbox.mode", "name one of the modes", "there is no mode %q", g.Mode)
}

// free gives the operations of a mode that confines no files.
func (k *Keeper) free(g durward.Grant) (*Access, error) {
	g.Files.Links = nil // they give no right
	if sets := (durward.Grant{Mode: g.Mode, Files: g.Files}).Asks(); len(sets) > 0 {
		return nil, unavailable("filesystem", "take the path sets out of the policy, or use mode read-only or workspace-write",
			"mode %s confines no files, so nothing would hold the path sets that are with it", g.Mode)
	}
	r := newReport(g.Mode, durward.LevelNone)
	held := durward.Held{Held: durward.HeldNone}
	if g.Mode == durward.External {
		held.Held = durward.HeldVouched
	}
	for _, guarantee := range aboutFiles {
		r.Guarantees[guarantee] = held
	}
	r.Weak = append(r.Weak, fmt.Sprintf("mode %s: file operations are not confined", g.Mode))
	if err := require(g, &r); err != nil {
		return nil, err
	}
	return &Access{keeper: k, report: r}, nil
}

// Report says what holds an operation that was carried out. No program runs, so of the
// guarantees it has those about files alone. It may be kept, and is not to be changed.
func (a *Access) Report() durward.Report { return a.report }

// OpenFile is [fsroot.Root.OpenFile] under the grant. Where nothing has to be waited for it
// is done by the caller's thread, with no more rights than one that is held to the grant.
func (a *Access) OpenFile(ctx context.Context, root *fsroot.Root, name string, rules fsroot.Rules) (*fsroot.File, error) {
	if ctx.Err() == nil && a.terms != nil {
		if f, ok := a.keeper.ready(a.terms, root, name, rules); ok {
			return f, nil
		}
	}
	return open(ctx, a, "file.open", root, rules, func(r fsroot.Rules) (*fsroot.File, error) { return root.OpenFile(name, r) })
}

// OpenDir is [fsroot.Root.OpenDir] under the grant. Beneath the descriptor it gives
// nothing is confined: it is for the names in it.
func (a *Access) OpenDir(ctx context.Context, root *fsroot.Root, name string, rules fsroot.Rules) (*os.File, error) {
	return open(ctx, a, "dir.open", root, rules, func(r fsroot.Rules) (*os.File, error) { return root.OpenDir(name, r) })
}

// WriteFile is [fsroot.Root.WriteFile] under the grant, for content that is there: nobody
// holds up a thread by being slow to send it. It takes the right to write the directory: a
// file that is given without it cannot be replaced.
func (a *Access) WriteFile(ctx context.Context, root *fsroot.Root, name string, content []byte, o fsroot.WriteOptions) error {
	const op = "file.write"
	if err := a.keeper.begin(op); err != nil {
		return err
	}
	defer a.keeper.end()
	return a.do(ctx, op, writing, func(admit admission) error {
		o.Admit = both(o.Admit, admit)
		_, err := root.WriteFile(ctx, name, bytes.NewReader(content), o)
		return a.seen(op, root, err)
	})
}

// open carries out an operation that opens something, and leaves it to itself when ctx
// ends first. A panic of it is the caller's who waits.
func open[T io.Closer](ctx context.Context, a *Access, op string, root *fsroot.Root, rules fsroot.Rules, f func(fsroot.Rules) (T, error)) (T, error) {
	type answer struct {
		opened   T
		err      error
		panicked any
	}
	if err := a.keeper.begin(op); err != nil {
		return *new(T), err
	}
	answers := make(chan answer)
	carry := func(do func(func(admission) error) error) {
		defer a.keeper.end()
		var got answer
		func() {
			defer func() { got.panicked = recover() }()
			got.err = do(func(admit admission) (err error) {
				rules.Admit = both(rules.Admit, admit)
				got.opened, err = f(rules)
				return a.seen(op, root, err)
			})
		}()
		select {
		case answers <- got:
		case <-ctx.Done():
			if got.err == nil && got.panicked == nil {
				got.opened.Close()
			}
		}
	}
	there := func() { carry(func(f func(admission) error) error { return f(nil) }) }
	beside := func() { carry(func(f func(admission) error) error { return a.do(ctx, op, reading, f) }) }
	if a.terms == nil || ctx.Err() != nil || !a.keeper.hand(a.terms, there, beside) {
		go beside()
	}
	select {
	case got := <-answers:
		if got.panicked != nil {
			panic(got.panicked)
		}
		return got.opened, got.err
	case <-ctx.Done():
		return *new(T), durward.Ended(ctx, op)
	}
}

// An access is what an operation does to what it comes to.
type access bool

const (
	reading access = false
	writing access = true
)

// An admission is asked about each place that an operation comes to. It may be nil.
type admission func(fsroot.Place) error

// do runs an operation where its mode has it run.
func (a *Access) do(ctx context.Context, op string, to access, f func(admission) error) error {
	switch {
	case ctx.Err() != nil:
		return durward.Ended(ctx, op)
	case a.terms == nil:
		return f(nil)
	}
	return a.keeper.do(ctx, op, a.terms, to, f)
}

// seen gives the error of an operation as its caller may see it. Rules hide no names: of
// a root that they do not give, all that is found is answered alike.
func (a *Access) seen(op string, root *fsroot.Root, err error) error {
	if err == nil || a.terms == nil || durward.ReasonOf(err) == durward.MaxFileBytes {
		return err
	}
	switch durward.KindOf(err) {
	case durward.Cancelled, durward.Timeout, durward.Unavailable:
		return err
	}
	dir, closed := root.OpenDir(".", fsroot.Rules{AllowNetworkFS: true})
	if closed == nil {
		dir.Close()
	}
	if durward.ReasonOf(closed) != durward.FilePermission {
		return err
	}
	return refused(op, durward.OutsideRoot, "filesystem.read", "name a directory that holds it in filesystem.read or filesystem.write")
}

func both(first, second admission) func(fsroot.Place) error {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(p fsroot.Place) error {
		if err := first(p); err != nil {
			return err
		}
		return second(p)
	}
}
