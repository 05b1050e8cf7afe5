//go:build !linux

package changeset

import (
	"context"
	"errors"
	"io"
	"runtime"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A Set never exists here.
type Set struct{}

// Read refuses: there are no overlays here.
func Read(context.Context, Layers, int64) (*Set, error) { return nil, unavailable(opRead) }

// Apply refuses.
func Apply(context.Context, durward.Files, fsroot.Rules, ...*Set) error { return unavailable(opApply) }

// Changes gives nothing.
func (*Set) Changes() []Change { return nil }

// Show refuses.
func (*Set) Show(io.Writer) error { return unavailable("changes.show") }

// Whole is never so.
func (*Set) Whole() bool { return false }

func unavailable(op string) error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: op, Rule: "filesystem.copyOnWrite", Hint: "take it out of the policy",
		Err: errors.New("a copy of what is written cannot be had on " + runtime.GOOS),
	}
}
