//go:build !linux && !darwin

package denyglob

import (
	"context"
	"errors"
	"runtime"

	"github.com/durward/durward"
)

// expand refuses: there is no way here to walk a tree that somebody else may change.
func expand(context.Context, []string, []string, limits) ([]string, error) {
	return nil, &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "expand deny", Rule: "filesystem.deny", Hint: "deny paths without wildcards",
		Err: errors.New("patterns are not searched for on " + runtime.GOOS),
	}
}
