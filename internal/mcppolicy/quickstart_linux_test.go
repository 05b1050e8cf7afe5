package mcppolicy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward/internal/mcppolicy"
)

// The root of the first steps is where the server is started.
func TestTheQuickstartIsAboutTheCheckout(t *testing.T) {
	text, err := os.ReadFile("../../examples/policy.quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(checkout)
	p := compileOn(t, mcppolicy.Host{
		Home: "/root", Path: []string{"/usr/bin", "/bin"}, Resolve: filepath.EvalSymlinks, Readlink: os.Readlink,
		Stat: func(path string) (fs.FileMode, error) {
			info, err := os.Stat(path)
			if err != nil {
				return 0, err
			}
			return info.Mode(), nil
		},
	}, string(text))
	if len(p.Roots) != 1 || p.Roots[0].Path != checkout || p.WriteRules[0].Path != filepath.Join(checkout, "tmp") || len(p.Warnings) != 0 {
		t.Errorf("got %+v, %+v, warned of %v", p.Roots, p.WriteRules, p.Warnings)
	}
	if _, err := command(t, p, "ls").Confine(); err != nil {
		t.Error(err)
	}
}
