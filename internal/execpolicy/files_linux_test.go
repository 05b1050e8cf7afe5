package execpolicy_test

import (
	"os"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/execpolicy"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/confined"
)

// TestFileOperationsGetTheSame opens and writes files under the grants that their calls get.
func TestFileOperationsGetTheSame(t *testing.T) {
	const reads, writes = "r", "w"
	for _, tt := range []struct {
		name   string
		o      execpolicy.Options
		object string
		try    map[string]string // of a path: what is possible
	}{
		{"no confinement", execpolicy.Options{}, `null`, map[string]string{"ws/a.txt": "rw", "out/secret.txt": "rw", "ws/.git/config": "rw", "ws/new": "w"}},
		{"reading everything", execpolicy.Options{}, readOnly, map[string]string{"ws/a.txt": "r", "out/secret.txt": "r", "ws/new": ""}},
		{"a workspace", execpolicy.Options{}, workspace, map[string]string{
			"ws/a.txt": "rw", "ws/new": "w", "out/secret.txt": "r", "out/new": "", "ws/.git/config": "r", "ws/.git/new": "", "ws/.codex": "", "ws/.agents": "", "ws/dirlink/new": "", "ws/dirlink/secret.txt": "r",
		}},
		{"little", execpolicy.Options{}, little, map[string]string{"ws/a.txt": "r", "out/secret.txt": "", "ws/dirlink/secret.txt": ""}},
		{"entries in entries", execpolicy.Options{}, holding(entry("write", "$T/ws"), entry("read", "$T/ws/sub"), entry("deny", "$T/ws/a.txt"), denyGlob("**/n*")), map[string]string{
			"ws/a.txt": "", "ws/sub/b.txt": "r", "ws/sub/new": "", "ws/new": "", "ws/made": "w",
		}},
		{"a root", execpolicy.Options{Root: "$T/ws"}, `null`, map[string]string{"ws/a.txt": "rw", "out/secret.txt": "", "out/new": ""}},
		{"a root for reading", execpolicy.Options{Root: "$T/ws", Sandbox: durward.ReadOnly}, workspace, map[string]string{"ws/a.txt": "r", "out/secret.txt": "", "ws/new": ""}},
		{"reading only", execpolicy.Options{Sandbox: durward.ReadOnly}, disabled, map[string]string{"ws/a.txt": "r", "out/secret.txt": "r", "ws/new": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			keeper := confined.New()
			defer func() { must(t, keeper.Close()) }()
			tt.o.Root = w.path(tt.o.Root)
			c := durward.Call{Tool: "fs/readFile", Input: []byte(`{}`), Ask: durward.Ask{Confinement: w.confinement(tt.object, "ws")}}
			d := w.policy(tt.o).Decide(c, durward.Tool{ID: c.Tool})
			if !d.Allow || d.Grant.Env != nil {
				t.Fatalf("%+v", d)
			}
			a, err := keeper.Under(d.Grant)
			must(t, err)
			root, err := fsroot.Open("/")
			must(t, err)
			defer root.Close()
			for path, can := range tt.try {
				got := ""
				if f, err := a.OpenFile(t.Context(), root, w.at(path)[1:], fsroot.Rules{AllowNetworkFS: true}); err == nil {
					got += reads
					f.Close()
				}
				if err := a.WriteFile(t.Context(), root, w.at(path)[1:], []byte("x"), fsroot.WriteOptions{Rules: fsroot.Rules{AllowNetworkFS: true}, Overwrite: true}); err == nil {
					got += writes
				}
				if got != can {
					t.Errorf("%s: %q, want %q", path, got, can)
				}
				if _, err := os.Lstat(w.at(path)); can == "" && err == nil && w.holds(path) == "x" {
					t.Errorf("%s was made", path)
				}
			}
		})
	}
}
