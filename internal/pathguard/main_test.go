//go:build linux || darwin

package pathguard

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/confined"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "SECRET"

// plant makes a directory with these files in it, a name that ends in "/" being a
// directory and a text that begins with "-> " a link, and gives its physical path.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range files {
		path := filepath.Join(top, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		to, isLink := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(path, 0o755))
		case isLink:
			must(t, os.Symlink(to, path))
		default:
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	return top
}

func open(t testing.TB, o Options, roots ...string) *Guard {
	t.Helper()
	g, err := Open(roots, o)
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}

// unconfined gives what carries out operations that nothing else holds.
func unconfined(t testing.TB) Files {
	t.Helper()
	keeper := confined.New()
	t.Cleanup(func() { must(t, keeper.Close()) })
	access, err := keeper.Under(durward.Grant{Mode: durward.DangerFullAccess})
	must(t, err)
	return access
}

func read(t testing.TB, g *Guard, files Files, path string) (string, error) {
	f, err := g.OpenFile(t.Context(), files, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantReason(t testing.TB, what string, err error, want ...durward.Reason) {
	t.Helper()
	for _, reason := range want {
		if err != nil && durward.ReasonOf(err) == reason {
			return
		}
	}
	t.Errorf("%s: %v (%q), want %q", what, err, durward.ReasonOf(err), want)
}

// snapshot maps every path below dir to what is there.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsPermission(err) {
			return nil // its own entry has been seen
		}
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
		t.Errorf("%s has changed (-before +after):\n%s", dir, diff)
	}
}

// descriptors counts those that are open, where that can be told.
func descriptors(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}
