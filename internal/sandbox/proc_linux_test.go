//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A /proc of the machine that is mounted somewhere in what is given shows nothing, and
// cannot be given by itself.
func TestAnotherProcIsHidden(t *testing.T) {
	h := ProbeAll()
	if err := h.Level(durward.LevelIsolate); err != nil || os.Getuid() != 0 {
		t.Logf("level 2 as root cannot be had: %v", err)
		return
	}
	r := newTrial(t, h)
	r.confine(durward.LevelIsolate)
	proc := filepath.Join(filepath.Dir(r.marker), "jail", "proc")
	if err := os.MkdirAll(proc, 0o777); err != nil {
		t.Fatal(err)
	}
	r.shell(t, "ls "+proc+"; cat "+proc+"/1/comm; cat "+proc+"/self/status")
	if got := r.says(t); got != "" {
		t.Fatalf("an empty directory: %q", got)
	}
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(proc, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for range 3 { // in a room of its own, and in those that are kept
		if got := r.says(t); got != "" {
			t.Errorf("a /proc inside: %q", got)
		}
	}
	r.request.Grant.Files.Read = append(r.request.Grant.Files.Read, proc)
	if _, err := Compile(t.Context(), r.request, h); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Errorf("a /proc by itself: %v", err)
	}
}
