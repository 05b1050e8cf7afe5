//go:build !linux

package confined

import "context"

// judging never exists here.
type judging = *terms

// The methods of a Hold refuse nothing here: none is ever made that confines.

func (*Hold) note(context.Context, access) error { return nil }

// Judges reports that nothing is refused.
func (*Hold) Judges() bool { return false }

// Reads refuses nothing.
func (*Hold) Reads(int) error { return nil }

// Writes refuses nothing.
func (*Hold) Writes(int) error { return nil }

// Makes refuses nothing.
func (*Hold) Makes(int, ...string) error { return nil }

// Removes refuses nothing.
func (*Hold) Removes(int, string) error { return nil }

// start is never called.
func (k *Keeper) start(ctx context.Context, op string, t *terms, _ func()) error {
	return k.do(ctx, op, t, writing, nil)
}
