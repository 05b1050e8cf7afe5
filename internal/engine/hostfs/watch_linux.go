package hostfs

import (
	"context"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

func (r *request) watchMissing(context.Context) (core.Prepared, error) {
	return nil, &durward.Error{Reason: durward.NotSupported, Op: r.op}
}
