//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/durward/durward/internal/dirlock"
)

// What an engine left that was killed is removed by the next one, and that of one that lives is
// not.
func TestRemains(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	make := func(name string) string {
		dir := filepath.Join(tmp, scratchPrefix+name)
		must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "a", "b", "c"), nil, 0o400))
		old := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(dir, old, old))
		return dir
	}
	dead, used := make("1"), make("2")
	lock, err := dirlock.Lock(used)
	must(t, err)
	defer lock.Close()
	h := started(t, entry("a"))
	h.until(t, "a", func(Status) bool {
		_, err := os.Stat(dead)
		return os.IsNotExist(err)
	})
	if _, err := os.Stat(filepath.Join(used, "a", "b", "c")); err != nil {
		t.Error("what is in use was removed")
	}
	if taken, err := dirlock.Lock(h.scratch); err == nil {
		t.Error("our own may be taken")
		taken.Close()
	}
	h.works(t, "a")
	must(t, h.Close())
	if left, _ := filepath.Glob(filepath.Join(tmp, scratchPrefix+"*")); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}
