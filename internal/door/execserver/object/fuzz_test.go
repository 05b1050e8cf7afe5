package object

import (
	"encoding/json"
	"path"
	"slices"
	"testing"

	"github.com/durward/durward"
)

// FuzzParse holds whatever is understood to what a policy relies on: clean absolute paths,
// patterns that only deny, and a mode that is no wider than its entries.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `{"sandboxPolicy":{"type":"danger-full-access"}}`,
		`{"sandboxPolicy":{"type":"workspace-write","writable_roots":["/a","file:///b%2Fc"],"read_only_access":{"type":"restricted","readable_roots":["/d"]}},"additionalPermissions":{"network":{"enabled":true},"file_system":{"read":["/r"],"write":["/w"]}}}`,
		`{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`,
		entries(kind(`"project_roots"`, "write"), `"workspaceRoots":["/a"],"policyContext":{"cwd":"/d"},"temporaryDirectories":["/t"]`),
		entries(glob("**/[!a]*.env") + "," + kind(`"minimal"`, "read") + "," + kind(`"tmpdir"`, "none")),
		entries(`{"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},"access":"read","missing_path_behavior":"skip"}`),
	} {
		f.Add(seed, "/cwd", "/tmp/x")
	}
	f.Fuzz(func(t *testing.T, object, cwd, tmp string) {
		c, err := Parse(json.RawMessage(object), Environment{Cwd: cwd, ServerCwd: "/srv", TmpDir: tmp})
		if err != nil {
			if c != nil || durward.KindOf(err) != durward.Invalid {
				t.Fatalf("%v with %v", c, err)
			}
			return
		}
		if c == nil {
			if object != "" && object != "null" {
				t.Fatal("no confinement of an object")
			}
			return
		}
		check(t, *c)
	})
}

func check(t *testing.T, c durward.Confinement) {
	writes := slices.ContainsFunc(c.Entries, func(e durward.Entry) bool { return e.Access == durward.AccessWrite })
	switch c.Mode {
	case durward.DangerFullAccess, durward.External:
		if len(c.Entries) > 0 {
			t.Fatalf("%v with entries", c)
		}
	case durward.ReadOnly, durward.WorkspaceWrite:
		if (c.Mode == durward.WorkspaceWrite) != writes {
			t.Fatalf("%v", c)
		}
	default:
		t.Fatalf("mode %q", c.Mode)
	}
	if c.Network != durward.NetNone && c.Network != durward.NetFull {
		t.Fatalf("network %q", c.Network)
	}
	for _, e := range c.Entries {
		if e.Platform != (e.Path == "") || e.Path != "" && (!path.IsAbs(e.Path) || path.Clean(e.Path) != e.Path) {
			t.Fatalf("%+v", e)
		}
		if e.Pattern != "" && (e.Access != durward.AccessDeny || path.Clean(e.Pattern) != e.Pattern || path.IsAbs(e.Pattern)) {
			t.Fatalf("%+v", e)
		}
		if e.Access == durward.AccessWrite && !slices.ContainsFunc(c.Entries, func(p durward.Entry) bool {
			return p.Access == durward.AccessProtect && p.Path == path.Join(e.Path, ".git")
		}) {
			t.Fatalf("%+v is not protected", e)
		}
	}
}
