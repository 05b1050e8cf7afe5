//go:build !linux

package confined

import (
	"context"
	"runtime"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A Keeper has no threads here: this system confines whole processes or nothing.
type Keeper struct{ calls }

// New gives a Keeper.
func New() *Keeper { return new(Keeper) }

// Close waits for the operations in progress and lets no other begin.
func (k *Keeper) Close() error {
	k.shut()
	k.wait()
	return nil
}

// confine refuses: no thread can be held to rules.
func (*Keeper) confine(g durward.Grant) (*Access, error) {
	return nil, unavailable("sandbox.mode", "run durward on Linux, or use mode danger-full-access",
		"mode %s holds file operations by the kernel, and %s cannot hold a thread", g.Mode, runtime.GOOS)
}

// terms never exist here.
type terms struct{}

// do is never called.
func (*Keeper) do(context.Context, string, *terms, access, func(admission) error) error {
	return unavailable("sandbox.mode", "run durward on Linux", "%s cannot hold a thread", runtime.GOOS)
}

// hand is never called.
func (*Keeper) hand(*terms, func(), func()) bool { return false }

// ready is never called.
func (*Keeper) ready(*terms, *fsroot.Root, string, fsroot.Rules) (*fsroot.File, bool) {
	return nil, false
}
