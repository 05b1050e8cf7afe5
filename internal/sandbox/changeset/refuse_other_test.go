//go:build !linux

package changeset

import (
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Where there are no overlays, nothing is read and nothing is applied.
func TestRefuses(t *testing.T) {
	_, err := Read(t.Context(), Layers{}, 0)
	for _, err := range []error{err, Apply(t.Context(), durward.Files{}, fsroot.Rules{})} {
		if e := durward.AsError(err); durward.ReasonOf(err) != durward.SandboxUnavailable || e.Hint == "" {
			t.Error(err)
		}
	}
}
