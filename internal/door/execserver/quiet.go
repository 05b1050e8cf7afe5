package execserver

import (
	"context"
	"encoding/json"

	"github.com/durward/durward"
)

// quiet is the part of [durward.Events] that clients of this door do not hear of.
type quiet struct{}

func (quiet) Output(durward.Chunk)              {}
func (quiet) Progress(float64, float64, string) {}
func (quiet) Log(string, string)                {}
func (quiet) Ended(durward.Result)              {}

// Ask is refused: there is nobody to be asked.
func (quiet) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, &durward.Error{Reason: durward.NotSupported, Op: Name}
}
