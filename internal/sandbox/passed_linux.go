//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/durward/durward"
)

// PassedLevels says of each level above that of a plan, the highest first, why the plan is
// not at it. r and h are those that p was compiled from. Nothing is run.
func (p Plan) PassedLevels(ctx context.Context, r Request, h Host) []PassedLevel {
	var list []PassedLevel
	for at := durward.LevelIsolate; at > p.shape.at; at-- {
		list = append(list, PassedLevel{Level: at, Why: passedOver(ctx, at, r, h)})
	}
	return list
}

func passedOver(ctx context.Context, at durward.Level, r Request, h Host) error {
	g := r.Grant
	if g.Mode.Confines() {
		if g.Level != durward.LevelAuto {
			return fmt.Errorf("level %d is asked for", g.Level.Number())
		}
		if err := h.offers(at); err != nil {
			return err
		}
	}
	if _, err := compileAt(ctx, at, r, h); err != nil {
		return err
	}
	return errors.New("what stood in its way has gone meanwhile")
}
