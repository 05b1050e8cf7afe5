//go:build unix

package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

func example(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheExampleSaysWhatItSays(t *testing.T) {
	g := grantOf(t, compile(t, string(example(t))), call("true"))
	want := durward.Grant{
		Mode: durward.WorkspaceWrite, MinLevel: durward.LevelIsolate,
		Require: []durward.Requirement{
			{Guarantee: durward.FSRead},
			{Guarantee: durward.FSWrite},
			{Guarantee: durward.FSMeta},
			{Guarantee: durward.Net},
			{Guarantee: durward.Unix},
			{Guarantee: durward.Proc},
			{Guarantee: durward.Kill},
			{Guarantee: durward.Mem},
			{Guarantee: durward.Pids},
		},
		Files: durward.Files{
			Read:  []string{"/etc/passwd", "/etc/ssl", "/usr"},
			Write: []string{"/home/ann/work", "@tmp"},
			Deny:  []string{"/home/ann/work/.env"},
			Protect: []string{
				"/home/ann/work/.envrc", "/home/ann/work/.git/commondir", "/home/ann/work/.git/config", "/home/ann/work/.git/config.worktree",
				"/home/ann/work/.git/hooks", "/home/ann/work/.git/info/attributes", "/home/ann/work/.gitmodules",
				"/home/ann/work/.idea", "/home/ann/work/.mcp.json", "/home/ann/work/.vscode", "/home/ann/work/durward-policy.yaml",
			},
			Exec:  []string{"/etc/passwd", "/etc/ssl", "/home/ann/work", "/usr"},
			Links: []durward.Link{{Path: "/bin", To: "/usr/bin"}, {Path: "/lib", To: "/usr/lib"}},
		},
		Network:    durward.Network{Mode: durward.NetNone},
		Env:        map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm"},
		PrivateDir: []string{"HOME", "TMPDIR"},
		Limits:     durward.DefaultLimits(),
		Keep:       durward.KeepHeadTail,
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyMappingIsTheNarrowestPolicy(t *testing.T) {
	for _, text := range []string{"{}", "sandbox: {}"} {
		g := grantOf(t, compile(t, text), call("true"))
		if g.Mode != durward.ReadOnly || g.Network.Mode != durward.NetNone || g.StepDown {
			t.Errorf("got %+v", g)
		}
		if diff := cmp.Diff([]string{"@tmp"}, g.Files.Write); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheBareMappingMeansTheSame(t *testing.T) {
	bare := compile(t, "mode: workspace-write\nlimits: {pids: 7}\n")
	named := compile(t, "sandbox:\n  limits:\n    pids: 7\n  mode: workspace-write # here\n")
	if bare.Hash() != named.Hash() {
		t.Error("the hashes differ")
	}
}

func TestDocumentsMayBeJSON(t *testing.T) {
	doc, err := policy.Parse("p.json", []byte(`{"sandbox": {"limits": {"wallMs": 1500}, "level": 2, "identity": "7:8"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if doc.Limits.Wall != 1500*time.Millisecond || doc.Level != durward.LevelIsolate || doc.Identity != (durward.Identity{Fixed: true, UID: 7, GID: 8}) {
		t.Errorf("got %+v", doc)
	}
	if at, ok := doc.Place("limits.wallMs"); !ok || at.String() != "p.json:1:35" {
		t.Errorf("got %v, %v", at, ok)
	}
	if at, ok := doc.Place("limits.pids"); ok {
		t.Errorf("got %v for what is not there", at)
	}
}

func TestUnknownMembersAreRefusedEverywhere(t *testing.T) {
	for text, want := range map[string]string{
		"sandbx: {}":                        `p.yaml:1:1: unknown field "sandbx" (did you mean "sandbox"?)`,
		"sandbox: {}\nmode: read-only":      `p.yaml:2:1: unknown field "mode"`,
		"sandbox: {sandbox: {}}":            `p.yaml:1:11: unknown field "sandbox"`,
		"sandbox: {mod: read-only}":         `p.yaml:1:11: unknown field "mod" (did you mean "mode"?)`,
		"minlevel: 1":                       `p.yaml:1:1: unknown field "minlevel" (did you mean "minLevel"?)`,
		"filesystem: {reed: []}":            `p.yaml:1:14: unknown field "reed" (did you mean "read"?)`,
		"filesystem: {copy_on_write: true}": `p.yaml:1:14: unknown field "copy_on_write" (did you mean "copyOnWrite"?)`,
		"network: {requireSni: true}":       `p.yaml:1:11: unknown field "requireSni" (did you mean "requireSNI"?)`,
		"limits: {wallSeconds: 1}":          `p.yaml:1:10: unknown field "wallSeconds"`,
		"limits: {memorybytes: 1}":          `p.yaml:1:10: unknown field "memorybytes" (did you mean "memoryBytes"?)`,
		"env: {sett: {}}":                   `p.yaml:1:7: unknown field "sett" (did you mean "set"?)`,
		"env: {inherit: true}":              `p.yaml:1:7: unknown field "inherit"`,
		"stepDown: true":                    `p.yaml:1:1: unknown field "stepDown"`,
	} {
		t.Run(text, func(t *testing.T) { wantProblems(t, load(host(), text), want) })
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	wantProblems(t, load(host(), `
sandbox:
  mode: readonly
  level: 5
  minLevel: auto
  require: [fs.read, fs.exec, "net!", mem!]
  filesystem:
    read: ["@system", 7]
    view: host
    copyOnWrite: "yes"
  network:
    mode: proxy
  limits:
    wallMs: 0
    pids: -1
    tmpBytes: 1e6
    memoryBytes: 9_007_199_254_740_992
    graceMs: 1_000
  env:
    set: {A: 1, B: true, A: x}
    pass: TERM
  identity: root
`), strings.Split(`p.yaml:3:9: sandbox.mode must be one of read-only, workspace-write, danger-full-access, external, not "readonly" (did you mean "read-only"?)
p.yaml:4:10: sandbox.level must be between 0 and 4, not 5
p.yaml:5:13: sandbox.minLevel must be an integer, not a string
p.yaml:6:22: sandbox.require[1] must be one of fs.read, fs.write, fs.meta, net, unix, proc, ipc, kill, mem, pids, priv, syscalls, mem!, pids!, kill!, not "fs.exec"
p.yaml:6:31: sandbox.require[2] must be one of fs.read, fs.write, fs.meta, net, unix, proc, ipc, kill, mem, pids, priv, syscalls, mem!, pids!, kill!, not "net!" (did you mean "net"?)
p.yaml:8:23: sandbox.filesystem.read[1] must be a string, not an integer; put it in quotes: "7"
p.yaml:9:11: sandbox.filesystem.view must be one of private, host-ro, not "host"
p.yaml:10:18: sandbox.filesystem.copyOnWrite must be a boolean, not a string
p.yaml:12:11: sandbox.network.mode must be one of none, loopback, allowlist, full, not "proxy"
p.yaml:14:13: sandbox.limits.wallMs must be between 1 and 31622400000, not 0
p.yaml:15:11: sandbox.limits.pids must be between 1 and 9007199254740991, not -1
p.yaml:16:15: sandbox.limits.tmpBytes must be an integer, not a number
p.yaml:17:18: sandbox.limits.memoryBytes must be between 1 and 9007199254740991, not 9_007_199_254_740_992
p.yaml:20:14: sandbox.env.set.A must be a string, not an integer; put it in quotes: "1"
p.yaml:20:20: sandbox.env.set.B must be a string, not a boolean; put it in quotes: "true"
p.yaml:20:26: duplicate field "A" (first on line 20)
p.yaml:21:11: sandbox.env.pass must be a list, not a string
p.yaml:22:13: identity must be auto, keep or UID:GID, not "root"`, "\n")...)
}

func TestIdentities(t *testing.T) {
	for text, want := range map[string]durward.Identity{
		"auto": {}, "keep": {Keep: true}, "1000:1000": {Fixed: true, UID: 1000, GID: 1000}, "1:0": {Fixed: true, UID: 1},
	} {
		doc, err := policy.Parse("p.yaml", []byte("identity: "+text))
		if err != nil || doc.Identity != want {
			t.Errorf("%s: got %+v, %v", text, doc, err)
		}
	}
	for text, want := range map[string]string{
		"0:0":          "identity: a command never runs as user 0",
		"0:5":          "identity: a command never runs as user 0",
		"00:5":         "identity: a command never runs as user 0",
		"4294967295:1": `identity must be auto, keep or UID:GID, not "4294967295:1"`,
		"1:4294967295": `identity must be auto, keep or UID:GID, not "1:4294967295"`,
		`"-1:1"`:       `identity must be auto, keep or UID:GID, not "-1:1"`,
		`"5"`:          `identity must be auto, keep or UID:GID, not "5"`,
	} {
		wantProblems(t, load(host(), "identity: "+text), "p.yaml:1:11: "+want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("p.yaml", example(f))
	f.Add("p.yaml", []byte("mode: external\nnetwork: {mode: allowlist, allow: [\"*.a:1\"]}\nenv: {set: {PATH: /bin}, pass: [HOME]}"))
	f.Add("p.json", []byte(`{"sandbox":{"level":0,"filesystem":{"deny":["/a/*?","~/x"],"protect":["@vcs"]}}}`))
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		doc, err := policy.Parse(file, data)
		if err == nil {
			_, err = policy.Compile(doc, host())
		}
		if err == nil {
			return
		}
		if durward.ReasonOf(err) != durward.PolicyInvalid || len(config.ProblemsOf(err)) == 0 {
			t.Fatalf("got %v", err)
		}
		for _, p := range config.ProblemsOf(err) {
			if p.Where.File != file || p.Message == "" || len(data) <= config.MaxBytes && (p.Where.Line < 1 || p.Where.Column < 1) {
				t.Errorf("no place or message: %v", p)
			}
		}
	})
}
