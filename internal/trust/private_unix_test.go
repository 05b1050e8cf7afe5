//go:build unix

package trust_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward/internal/trust"
)

// The list is for this user alone.
func TestTheListIsPrivate(t *testing.T) {
	s := trust.Store{Dir: filepath.Join(folder(t), "state", "trust")}
	for _, path := range []string{"/a", "/b"} {
		noError(t, s.Add(trust.File{Path: path}, when))
	}
	dir, err := os.Stat(s.Dir)
	noError(t, err)
	file, err := os.Stat(filepath.Join(s.Dir, "trusted.json"))
	noError(t, err)
	if dir.Mode().Perm() != 0o700 || file.Mode().Perm() != 0o600 {
		t.Errorf("modes %04o and %04o", dir.Mode().Perm(), file.Mode().Perm())
	}
}
