package confined

import (
	"context"
	"slices"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

const (
	// mostPools is how many policies have threads at once, those that were wanted last.
	mostPools = 16
	// mostThreads is how many operations of one policy go on at once, so that a file system
	// that does not answer holds up the operations on it and few others.
	mostThreads = 4
)

// A Keeper keeps restricted threads for calls that want the same again. It may be used
// concurrently.
type Keeper struct {
	calls
	stop   chan struct{} // closed when no wait is to go on
	mounts fsroot.MountTable

	accesses accesses

	shelf sync.Mutex
	kept  []*pool // guarded by shelf; the one that was wanted last comes last
}

// New gives a Keeper that has no threads yet. Close it after use.
func New() *Keeper { return &Keeper{stop: make(chan struct{})} }

// Close waits for the operations that are running, turns away those that wait and all
// that follow, and ends the threads. It may be called again.
func (k *Keeper) Close() error {
	if k.shut() {
		close(k.stop)
	}
	k.wait()
	k.shelf.Lock()
	defer k.shelf.Unlock()
	for len(k.kept) > 0 {
		k.drop(0)
	}
	k.mounts.Close()
	return nil
}

// do runs an operation on a thread that is held to the terms.
func (k *Keeper) do(ctx context.Context, op string, t *terms, to access, f func(admission) error) error {
	p := k.pool(t)
	thread, err := p.take(ctx, op, k.stop)
	if err != nil {
		return err
	}
	defer p.give(thread)
	admit, err := p.admission(ctx, op, to)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return durward.Ended(ctx, op)
	}
	return thread.Do(context.WithoutCancel(ctx), func() error { return f(admit) })
}

// hand has an operation that only opens something, and of which the rules hold all there is
// to hold, go on by itself on a thread that rests: whoever waits for it waits for one
// goroutine then, and not for one that waits for another. If it reports false there is no
// such thread. Where the thread turns out to be of no use any more, otherwise is run.
func (k *Keeper) hand(t *terms, f, otherwise func()) bool {
	if t.judged(reading) {
		return false
	}
	p := k.pool(t)
	thread, ok := p.takeRested()
	if !ok {
		return false
	}
	k.going.Add(1) // beside the operation, for it may be over before the thread is back
	begun := thread.Begin(func() {
		defer k.going.Done()
		current := thread.Current()
		if current {
			f()
		} else {
			go otherwise()
		}
		if !current || !p.keep(thread) {
			k.going.Go(func() { thread.Close() }) // which waits for this function
		}
		<-p.turns
	})
	if !begun {
		<-p.turns
		k.going.Done()
	}
	return begun
}

// ready opens a file by itself, with the rights of a thread that rests, where the rules hold all
// there is to hold and nothing has to be waited for, nobody who is to admit it included: no
// thread is woken for it then. If it reports false, the file is still to be opened.
func (k *Keeper) ready(t *terms, root *fsroot.Root, name string, rules fsroot.Rules) (*fsroot.File, bool) {
	if t.judged(reading) || rules.Admit != nil || k.begin("file.open") != nil {
		return nil, false
	}
	defer k.end()
	p := k.pool(t)
	thread, ok := p.takeRested()
	if !ok {
		return nil, false
	}
	defer p.give(thread)
	if !thread.Current() {
		return nil, false // who takes it next ends it
	}
	return root.ReadyFile(name, rules, &k.mounts, thread.Openat2)
}

// pool finds the threads of the terms, or a place for them.
func (k *Keeper) pool(t *terms) *pool {
	k.shelf.Lock()
	defer k.shelf.Unlock()
	if i := slices.IndexFunc(k.kept, func(p *pool) bool { return p.terms.key == t.key }); i >= 0 {
		p := k.kept[i]
		k.kept = append(slices.Delete(k.kept, i, i+1), p)
		return p
	}
	if len(k.kept) == mostPools {
		k.drop(0)
	}
	p := &pool{terms: t, mounts: &k.mounts, turns: make(chan struct{}, mostThreads)}
	k.kept = append(k.kept, p)
	return p
}

func (k *Keeper) drop(i int) {
	k.kept[i].drop()
	k.kept = slices.Delete(k.kept, i, i+1)
}
