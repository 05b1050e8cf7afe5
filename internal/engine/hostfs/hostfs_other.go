//go:build !linux

package hostfs

import (
	"context"
	"errors"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// handles never exist here.
type handles struct{}

func (*handles) close() error { return nil }

// prepare refuses: files cannot be led to by descriptor alone on this system.
func (r *request) prepare(context.Context, Work) (core.Prepared, error) {
	return nil, &durward.Error{
		Reason: durward.SandboxUnavailable, Op: r.op, Hint: "use Linux",
		Err: errors.New("files cannot be changed by descriptor alone on this system"),
	}
}
