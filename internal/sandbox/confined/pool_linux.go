package confined

import (
	"context"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// A pool is the threads of one policy.
type pool struct {
	terms  *terms
	mounts *fsroot.MountTable
	turns  chan struct{} // full when as many threads as there may be are in use

	mu      sync.Mutex
	idle    []thread // guarded by mu; the one that was used last comes last
	dropped bool     // guarded by mu; threads that come back are ended

	noting sync.Mutex // held while files are looked at, as mu never is
	first  *noted     // guarded by noting; what was found when the policy was first used
}

// A thread is held to the rules of a policy. It is of no use once the mounts have changed:
// its rules for a file system are gone when that is unmounted.
type thread struct {
	*landlock.Thread
	mounts uint64 // the version that it was made under
}

// take gives a thread that is held to the rules, for the files that have their names now.
// Whoever takes it gives it back.
func (p *pool) take(ctx context.Context, op string, stop <-chan struct{}) (thread, error) {
	select {
	case p.turns <- struct{}{}:
	case <-stop:
		return thread{}, closed(op)
	case <-ctx.Done():
		return thread{}, durward.Ended(ctx, op)
	}
	mounts := p.mounts.Version()
	for t, ok := p.rested(); ok; t, ok = p.rested() {
		if t.mounts == mounts && t.Current() {
			return t, nil
		}
		t.Close()
	}
	opened, err := landlock.OpenThread(p.terms.rules)
	if err != nil {
		<-p.turns
	}
	return thread{opened, mounts}, err
}

// takeRested gives a thread that was made under the mounts of now, if there is one at once.
// Whether it is current is still to be asked; no file system is asked anything here.
func (p *pool) takeRested() (thread, bool) {
	select {
	case p.turns <- struct{}{}:
	default:
		return thread{}, false
	}
	t, ok := p.rested()
	if ok && t.mounts != p.mounts.Version() {
		ok = false
		t.Close()
	}
	if !ok {
		<-p.turns
	}
	return t, ok
}

// rested gives a thread that nobody uses, if there is one.
func (p *pool) rested() (thread, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return thread{}, false
	}
	t := p.idle[last]
	p.idle = p.idle[:last]
	return t, true
}

func (p *pool) give(t thread) {
	if !p.keep(t) {
		t.Close()
	}
	<-p.turns
}

func (p *pool) keep(t thread) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dropped {
		p.idle = append(p.idle, t)
	}
	return !p.dropped
}

// drop ends the threads that nobody uses; the others are ended when they come back.
func (p *pool) drop() {
	p.mu.Lock()
	p.dropped = true
	p.mu.Unlock()
	for t, ok := p.rested(); ok; t, ok = p.rested() {
		t.Close()
	}
}

// admission gives what is to be asked about each place that an operation comes to; nil
// where the kernel holds all that there is to hold.
func (p *pool) admission(ctx context.Context, op string, to access) (admission, error) {
	if !p.terms.judged(to) {
		return nil, nil
	}
	j, err := p.judge(ctx, op, to)
	if err != nil {
		return nil, err
	}
	return j.admit, nil
}

// judge gives who judges the places of one operation.
func (p *pool) judge(ctx context.Context, op string, to access) (*judge, error) {
	first, err := p.noteFirst()
	if err != nil {
		return nil, err
	}
	now, err := p.terms.note()
	if err != nil {
		return nil, err
	}
	if err := p.terms.search(ctx, op, now); err != nil {
		return nil, err
	}
	return &judge{op: op, to: to, terms: p.terms, noted: [2]*noted{first, now}}, nil
}

// noteFirst notes what stands at the paths of the terms, once.
func (p *pool) noteFirst() (*noted, error) {
	p.noting.Lock()
	defer p.noting.Unlock()
	if p.first != nil {
		return p.first, nil
	}
	var err error
	p.first, err = p.terms.note()
	return p.first, err
}
