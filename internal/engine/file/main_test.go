//go:build linux || darwin

package file

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/sandbox/confined"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// free is a grant that confines no files.
var free = durward.Grant{Mode: durward.DangerFullAccess}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func guard(t testing.TB, roots []string, o pathguard.Options) *pathguard.Guard {
	t.Helper()
	g, err := pathguard.Open(roots, o)
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}

// call takes an input through the engine as the core does.
func call(t testing.TB, keeper *confined.Keeper, s Spec, g durward.Grant, input string) (durward.Result, error) {
	t.Helper()
	p, err := New(keeper).Prepare(t.Context(), durward.Tool{ID: "file", Spec: s}, durward.Call{Input: json.RawMessage(input)}, g)
	if err != nil {
		return durward.Result{}, err
	}
	defer func() { must(t, p.Close()) }()
	return p.Run(t.Context())
}

// snapshot maps every path below dir to what is there.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		seen[path] = st.Mode().String()
		if st.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			seen[path] += string(text)
			return err
		}
		return nil
	}))
	return seen
}

func unchanged(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the tree changed (-before +after):\n%s", diff)
	}
}

// A readAnswer is the output of read.
type readAnswer struct {
	Data      string `json:"data"`
	BytesRead int    `json:"bytesRead"`
	SHA256    string `json:"sha256"`
}
