package catalog

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/toolcall"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// load gives the catalogue of a policy of a fresh directory, which stands for $ROOT.
func load(t *testing.T, text string) (c *Catalog, root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(root, "zone"), 0o755))
	doc, err := mcppolicy.Parse("policy.yaml", []byte(strings.ReplaceAll(text, "$ROOT", root)))
	must(t, err)
	p, err := mcppolicy.Compile(doc, machine.MCPHost(0o600), mcppolicy.Options{})
	must(t, err)
	return New(p, Specs{Read: "reads", Write: "writes", Run: "runs"}), root
}

const sample = `version: 1
allowedRoots: [$ROOT]
writeRules:
  - path: $ROOT/zone
    recursive: true
  - path: $ROOT/later/on
    createIfMissing: true
commands:
  - id: list
    exec: /bin/ls
    args: {allow: [-l]}
    env: {LC_ALL: C}
    envAllowlist: [TERM]
    timeoutMs: 4000
    maxOutputBytes: 1234
`

func TestSource(t *testing.T) {
	coretest.Source(t, func(t *testing.T) core.Source {
		c, _ := load(t, sample)
		return c
	})
}

// Files are read within the roots, and written within the zones, or where a zone is to be.
func TestFileGrants(t *testing.T) {
	c, root := load(t, sample)
	for _, tt := range []struct {
		id     durward.ToolID
		mode   durward.Mode
		writes []string
		rule   string
	}{
		{toolcall.FSRead, durward.ReadOnly, nil, "allowedRoots"},
		{toolcall.FSWrite, durward.WorkspaceWrite, []string{root + "/zone", root}, "writeRules"},
	} {
		tool, err := c.Find(t.Context(), tt.id)
		must(t, err)
		d := c.Decide(durward.Call{Tool: tt.id, Input: []byte(`{}`)}, tool)
		g := d.Grant
		if !d.Allow || d.Rule != tt.rule || d.PolicyHash != c.policy.Hash || g.Mode != tt.mode || !reflect.DeepEqual(g.Files.Read, []string{root}) || !reflect.DeepEqual(g.Files.Write, tt.writes) {
			t.Errorf("%s: %+v", tt.id, d)
		}
	}
}

// A command gets its own environment and limits; what the caller asks for narrows.
func TestCommandGrants(t *testing.T) {
	c, root := load(t, sample)
	tool, err := c.Find(t.Context(), toolcall.CommandRun)
	must(t, err)
	call := durward.Call{Tool: toolcall.CommandRun, CommandID: "list", Argv: []string{"list", "-l"}, Env: map[string]string{"TERM": "vt100"}, Dir: "/usr"}
	call.Ask.Limits.Wall = time.Hour
	d := c.Decide(call, tool)
	g := d.Grant
	want := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C", "TERM": "vt100"}
	if !d.Allow || d.Rule != "commands.list" || d.Where.Line != 9 || d.PolicyHash != c.policy.Hash {
		t.Errorf("%+v", d)
	}
	if !reflect.DeepEqual(g.Env, want) || g.Keep != durward.KeepFirst || g.Limits.Output != 1234 || g.Limits.Wall != 8*time.Second || g.Limits.Grace != 200*time.Millisecond {
		t.Errorf("%+v", g)
	}
	if g.Network.Mode != durward.NetNone || !reflect.DeepEqual(g.Files.Write[:1], []string{root + "/zone"}) {
		t.Errorf("%+v", g)
	}
}

// Arguments that cannot be read are refused in the words of who reads them.
func TestUnreadableArguments(t *testing.T) {
	c, _ := load(t, sample)
	tool, err := c.Find(t.Context(), toolcall.CommandRun)
	must(t, err)
	for input, reason := range map[string]durward.Reason{`{}`: durward.MissingField, `{"commandId":"list","argz":[]}`: durward.UnknownField, `{"commandId":7}`: durward.WrongType} {
		d := c.Decide(durward.Call{Tool: toolcall.CommandRun, Input: []byte(input)}, tool)
		if d.Allow || d.Code != reason || d.PolicyHash != c.policy.Hash {
			t.Errorf("%s: %+v", input, d)
		}
	}
}

// What is refused says why, by which rule and where, and holds no value.
func TestDenials(t *testing.T) {
	c, _ := load(t, sample)
	tool, err := c.Find(t.Context(), toolcall.CommandRun)
	must(t, err)
	for _, tt := range []struct {
		id     string
		env    map[string]string
		reason durward.Reason
	}{
		{"unlisted", nil, durward.CommandUnknown},
		{"list", map[string]string{"OTHER": "secret-value"}, durward.EnvDenied},
		{"list", map[string]string{"LC_ALL": "secret-value"}, durward.EnvDenied},
		{"list", map[string]string{"a b": "secret-value"}, durward.BadEnvName},
	} {
		d := c.Decide(durward.Call{Tool: toolcall.CommandRun, CommandID: tt.id, Argv: []string{tt.id}, Env: tt.env}, tool)
		if d.Allow || d.Code != tt.reason || d.Rule == "" || d.Where.Line == 0 || d.PolicyHash != c.policy.Hash || strings.Contains(d.Reason, "secret") {
			t.Errorf("%+v: %+v", tt, d)
		}
	}
}
