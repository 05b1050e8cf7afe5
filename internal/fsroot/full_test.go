//go:build linux || darwin

package fsroot

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward"
)

// failToFill writes more than there is room for, over an old file and as a new one,
// and asks that nothing is left of it.
func failToFill(t testing.TB, dir string, want durward.Reason) {
	must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o644))
	before := snapshot(t, dir)
	r, err := Open(dir)
	must(t, err)
	for _, name := range []string{"old", "new", "p/q/new"} {
		much := bytes.NewReader(make([]byte, 1<<20))
		_, err := r.WriteFile(t.Context(), name, much, WriteOptions{Overwrite: true, CreateParents: true})
		wantReason(t, err, want)
		unchanged(t, dir, before)
	}
	must(t, r.Close())
}

func TestFileSizeLimitLeavesNothing(t *testing.T) {
	if out, err := again(t, "file-size-limit", nil, t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
