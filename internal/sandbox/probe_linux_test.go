//go:build linux && (amd64 || arm64)

package sandbox

import "testing"

// Every containment that this host offers is seen to work; one that it does not offer
// says why.
func TestProbe(t *testing.T) {
	h := ProbeAll()
	t.Logf("user %d (host %d), user namespace: %v", h.UID, h.HostUID, h.UserNamespaceErr)
	for _, trial := range h.Trials {
		t.Logf("%s: %v", trial.Containment, trial.Err)
	}
	if h.best() == "" {
		t.Fatal("no containment works")
	}
}
