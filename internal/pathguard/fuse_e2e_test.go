//go:build linux && e2e

package pathguard

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A FUSE mount within a root is refused by what it is, and used where the policy allows it.
// It needs root and bindfs, which shows one directory at another place.
func TestNetworkFileSystem(t *testing.T) {
	top := plant(t, map[string]string{"root/far/": "", "root/near": "near", "outside/a": "far", "outside/sub/": ""})
	if out, err := exec.Command("bindfs", top+"/outside", top+"/root/far").CombinedOutput(); err != nil {
		t.Fatalf("bindfs: %v\n%s", err, out)
	}
	t.Cleanup(func() { must(t, unix.Unmount(top+"/root/far", unix.MNT_DETACH)) })
	zones := []Zone{{Path: top + "/root", Recursive: true}}
	files := unconfined(t)
	strict, lax := open(t, Options{Zones: zones}, top+"/root"), open(t, Options{Zones: zones, Rules: fsroot.Rules{AllowNetworkFS: true}}, top+"/root")

	before := snapshot(t, top+"/outside")
	_, err := read(t, strict, files, top+"/root/far/a")
	wantReason(t, "read", err, durward.NetworkFS)
	_, err = strict.OpenDir(t.Context(), files, top+"/root/far/sub")
	wantReason(t, "directory", err, durward.NetworkFS)
	wantReason(t, "judged write", strict.JudgeWrite(t.Context(), files, top+"/root/far/new", 1, WriteOptions{}), durward.NetworkFS)
	wantReason(t, "write", strict.WriteFile(t.Context(), files, top+"/root/far/new", []byte("x"), WriteOptions{}), durward.NetworkFS)
	unchanged(t, top+"/outside", before)
	if text, err := read(t, strict, files, top+"/root/near"); text != "near" {
		t.Errorf("beside the mount: %q, %v", text, err)
	}

	if text, err := read(t, lax, files, top+"/root/far/a"); text != "far" {
		t.Errorf("where it is allowed: %q, %v", text, err)
	}
	must(t, lax.WriteFile(t.Context(), files, top+"/root/far/new", []byte("x"), WriteOptions{}))
	dir, err := lax.OpenDir(t.Context(), files, top+"/root/far/sub")
	must(t, err)
	must(t, dir.Close())
}
