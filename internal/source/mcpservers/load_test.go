package mcpservers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/smallfile"
	"github.com/durward/durward/internal/source/mcpservers"
)

// read reads a configuration, as those do who start its servers.
func read(p mcpservers.Place) (*hubconfig.Config, error) {
	text, err := smallfile.Read(p.File, config.MaxBytes, nil)
	return mcpservers.Parse(p, text, err)
}

// The one in the repository starts durward itself on the sandbox.
func TestTheConfigurationThatComesWithDurward(t *testing.T) {
	c, err := read(mcpservers.Place{File: "../../../config/mcp_servers.json", Sandbox: "/workspace"})
	must(t, err)
	if len(c.Servers) != 1 || len(c.Warnings) > 0 || c.Missing {
		t.Fatalf("%+v", c)
	}
	one := c.Servers[0]
	if diff := cmp.Diff([]string{"durward", "mcp", "--files", "/workspace"}, append([]string{one.Command}, one.Args...)); diff != "" || one.Name != "filesystem" || one.Broken != "" {
		t.Error(diff, one)
	}
}

func TestAConfigurationThatIsNotThere(t *testing.T) {
	c, err := read(mcpservers.Place{File: filepath.Join(t.TempDir(), "none.json")})
	must(t, err)
	if !c.Missing || len(c.Servers) > 0 || c.Prefix != "collisions" {
		t.Errorf("%+v", c)
	}
}

func TestAConfigurationWithMistakes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hub.json")
	must(t, os.WriteFile(file, []byte("{\"servers\": [\n{\"name\": \"a\"},\n{\"name\": \"b\"}]}"), 0o600))
	_, err := read(mcpservers.Place{File: file})
	if e := durward.AsError(err); e == nil || e.Reason != durward.ConfigInvalid || e.Where.Line != 2 || len(config.ProblemsOf(err)) != 2 {
		t.Error(err)
	}
	if _, err := read(mcpservers.Place{File: dir}); durward.ReasonOf(err) != durward.ConfigInvalid {
		t.Error(err)
	}
}

func TestPathsAreFromTheFile(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "good.env"), []byte("A=file\nB=file"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "bad.env"), []byte("A=file\ns3cret"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "hub.json"), []byte(`{"servers": {
  "good": {"command": "./bin/x", "cwd": "sub", "envFile": "good.env", "env": {"A": "own ${V}"}},
  "bad": {"command": "x", "envFile": "bad.env"},
  "none": {"command": "x", "envFile": "none.env"}
}}`), 0o600))
	t.Chdir(filepath.Dir(dir))
	c, err := read(mcpservers.Place{File: filepath.Join(filepath.Base(dir), "hub.json"), Environ: map[string]string{"V": "v"}})
	must(t, err)
	good := c.Servers[0]
	if good.Command != filepath.Join(dir, "bin/x") || good.Dir != filepath.Join(dir, "sub") || good.Broken != "" {
		t.Errorf("%+v", good)
	}
	if diff := cmp.Diff(map[string]string{"A": "own v", "B": "file"}, good.Env); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"bad.env:2: this is not NAME=value", "none.env: cannot be read: no such file or directory"} {
		if one := c.Servers[i+1]; !strings.HasPrefix(one.Broken, "envFile: ") || !strings.HasSuffix(one.Broken, want) {
			t.Errorf("%q; want %q", one.Broken, want)
		}
	}
	if len(c.Warnings) != 2 || strings.Contains(strings.Join(c.Warnings, ""), "s3cret") {
		t.Errorf("%q", c.Warnings)
	}
}
