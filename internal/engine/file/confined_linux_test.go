package file

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/pathguard"
)

// The grant holds what the guard lets pass, and the report says so.
func TestTheGrantHolds(t *testing.T) {
	s := newShelf(t)
	for _, dir := range []string{"work", "docs", "shut", "work/.git"} {
		must(t, os.Mkdir(filepath.Join(s.dir, dir), 0o755))
	}
	for _, name := range []string{"work/a", "docs/a", "shut/a", "work/denied", "work/.git/config"} {
		s.put(t, name, "old")
	}
	must(t, os.Link(filepath.Join(s.dir, "work/a"), filepath.Join(s.dir, "work/linked")))
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(s.dir, name))
		}
		return paths
	}
	s.guard = guard(t, in("work", "docs", "shut"), pathguard.Options{Start: s.dir, Zones: []pathguard.Zone{
		{Path: s.dir + "/work", Recursive: true, CreateIfMissing: true}, {Path: s.dir + "/docs"}, {Path: s.dir + "/shut"},
	}})
	g := durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{
		Read: in("docs"), Write: in("work"), Deny: in("work/denied"), Protect: in("work/.git/config"),
	}}
	for _, tt := range []struct {
		name        string
		read, write durward.Reason
	}{
		{"work/a", "", durward.HardLink},
		{"work/new", durward.FileNotFound, ""},
		{"work/sub/new", durward.FileNotFound, ""},
		{"docs/a", "", durward.FilePermission},
		{"shut/a", durward.OutsideRoot, durward.OutsideRoot},
		{"work/denied", durward.OutsideRoot, durward.OutsideRoot},
		{"work/.git/config", "", durward.FilePermission},
	} {
		result, err := call(t, s.keeper, Spec{Guard: s.guard}, g, fmt.Sprintf(`{"path":%q}`, tt.name))
		if durward.ReasonOf(err) != tt.read {
			t.Errorf("read %s: %v, want %q", tt.name, err, tt.read)
		}
		if err == nil && (result.Report == nil || result.Report.Guarantees[durward.FSRead].Held == durward.HeldNone) {
			t.Errorf("read %s: the report is %+v", tt.name, result.Report)
		}
		_, err = call(t, s.keeper, Spec{Guard: s.guard, Does: Writes}, g, fmt.Sprintf(`{"path":%q,"data":"new","overwrite":true}`, tt.name))
		if durward.ReasonOf(err) != tt.write {
			t.Errorf("write %s: %v, want %q", tt.name, err, tt.write)
		}
	}
	g.Files.CopyOnWrite = true
	if _, err := call(t, s.keeper, Spec{Guard: s.guard}, g, `{"path":"work/a"}`); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Errorf("a copy: %v", err)
	}
}
