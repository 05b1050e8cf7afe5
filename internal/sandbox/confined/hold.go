package confined

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/durward/durward"
)

// A Hold is what holds one operation that its caller puts together itself, of as many steps
// as it takes. What it opens, makes and removes goes by [Hold.Do] or [Hold.Start], so that
// the kernel holds it; each place that it comes to is first shown to [Hold.Reads],
// [Hold.Writes], [Hold.Makes] or [Hold.Removes], which refuse what rules cannot hold or do
// not judge: what lies in no path set, and what the grant takes back from within one.
//
// To a reader what is refused looks as if it were not there: the reason is FileNotFound,
// and the kind Denied. To a writer it is FilePermission or OutsideRoot, whether anything is
// there or not.
//
// A Hold may be used concurrently and needs no closing. It knows what stood at the paths of
// the grant when it was made, and is to be used soon.
type Hold struct {
	access *Access
	op     string
	judge  judging
}

// Hold gives what holds an operation that begins now. changes says whether it is to change
// anything.
func (a *Access) Hold(ctx context.Context, op string, changes bool) (*Hold, error) {
	h := &Hold{access: a, op: op}
	if a.terms == nil {
		return h, nil
	}
	if err := a.keeper.begin(op); err != nil {
		return nil, err
	}
	defer a.keeper.end()
	return h, h.note(ctx, access(changes))
}

// Confines reports whether anything is held at all. Where it does not, nothing is refused.
func (h *Hold) Confines() bool { return h.access.terms != nil }

// Report is that of the [Access].
func (h *Hold) Report() durward.Report { return h.access.report }

// Do runs f under the grant, and waits for it once it runs. The end of ctx ends the wait
// before that.
func (h *Hold) Do(ctx context.Context, f func() error) error {
	if h.Confines() {
		done, err := h.Start(ctx, f)
		if err != nil {
			return err
		}
		return <-done
	}
	if err := h.access.keeper.begin(h.op); err != nil {
		return err
	}
	defer h.access.keeper.end()
	if ctx.Err() != nil {
		return durward.Ended(ctx, h.op)
	}
	return f()
}

// Start is Do for a caller who need not wait for f: what f gives comes from the channel,
// which nobody has to read. With an error f has not run, and will not.
func (h *Hold) Start(ctx context.Context, f func() error) (<-chan error, error) {
	k := h.access.keeper
	if err := k.begin(h.op); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		k.end()
		return nil, durward.Ended(ctx, h.op)
	}
	done := make(chan error, 1)
	run := func() {
		defer k.end()
		done <- caught(f)
	}
	if h.Confines() {
		if err := k.start(ctx, h.op, h.access.terms, run); err != nil {
			k.end()
			return nil, err
		}
		return done, nil
	}
	go run()
	return done, nil
}

// caught gives the error of f, which a panic is, too: nobody may be there whose it would be.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &durward.Error{Reason: durward.Defect, Op: "confine files", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return f()
}
