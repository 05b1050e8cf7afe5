//go:build !linux

package confined

import (
	"testing"

	"github.com/durward/durward"
)

// Where no thread can be held, what is to be confined is refused.
func TestRefuses(t *testing.T) {
	k := New()
	defer k.Close()
	for _, mode := range []durward.Mode{durward.ReadOnly, durward.WorkspaceWrite} {
		_, err := k.Under(durward.Grant{Mode: mode, StepDown: true})
		if e := durward.AsError(err); durward.ReasonOf(err) != durward.SandboxUnavailable || e.Hint == "" {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if _, err := k.Under(durward.Grant{Mode: durward.DangerFullAccess}); err != nil {
		t.Error(err)
	}
}
