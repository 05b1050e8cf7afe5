//go:build unix

package policy_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

const workspacePolicy = `sandbox:
  mode: workspace-write
  level: 2
  limits:
    wallMs: 5000
  network:
    mode: allowlist
    allow: ["a.example:1"]
  env: {set: {STAGE: prod}, pass: [TERM]}
`

func TestDecideRefuses(t *testing.T) {
	limits := func(l durward.Limits) durward.Ask { return durward.Ask{Limits: l} }
	for _, test := range []struct {
		name string
		call durward.Call
		code durward.Reason
		rule string
		at   string
		fix  string
	}{
		{"no arguments", durward.Call{}, durward.ArgvEmpty, "call.argv", "", "name the program as the first argument"},
		{"an empty list", durward.Call{Argv: []string{}}, durward.ArgvEmpty, "call.argv", "", "name the program as the first argument"},
		{"an empty program", call(""), durward.ArgvEmpty, "call.argv", "", "name the program as the first argument"},
		{"both forms", durward.Call{Argv: []string{"x"}, Input: json.RawMessage("{}")}, durward.BadCall, "call.argv", "", "send one of the two"},
		{"a NUL byte", call("x", "a\x00b"), durward.ArgNUL, "call.argv", "", "remove it: no program could receive it"},
		{"bytes that are no text", call("x", "\xff"), durward.ArgNotUTF8, "call.argv", "", "encode it as UTF-8"},
		{"1025 arguments", call(slices.Repeat([]string{"x"}, 1025)...), durward.TooManyArgs, "call.argv", "", "pass long lists through standard input or a file"},
		{"a long argument", call("x", strings.Repeat("x", 128<<10+1)), durward.ArgTooLong, "call.argv", "", "pass long data through standard input or a file"},
		{"a bad name", withEnv("A-B", "x"), durward.BadEnvName, "call.env", "", "use letters, digits and _ and begin with no digit"},
		{"an empty name", withEnv("", "x"), durward.BadEnvName, "call.env", "", "use letters, digits and _ and begin with no digit"},
		{"a name and its value", withEnv("A=B", "x"), durward.BadEnvName, "call.env", "", "use letters, digits and _ and begin with no digit"},
		{"a name on two lines", withEnv("A\n", "x"), durward.BadEnvName, "call.env", "", "use letters, digits and _ and begin with no digit"},
		{"a NUL value", withEnv("A", "x\x00"), durward.BadEnvName, "call.env", "", "change the value or leave it out"},
		{"a value that is no text", withEnv("A", "\xff"), durward.BadEnvName, "call.env", "", "change the value or leave it out"},
		{"a long value", withEnv("A", strings.Repeat("x", 128<<10+1)), durward.BadEnvName, "call.env", "", "change the value or leave it out"},
		{"a flat terminal", durward.Call{Argv: []string{"x"}, Terminal: &durward.WindowSize{Cols: 80}}, durward.BadCall, "call.terminal", "", "ask for at least one of each"},
		{
			"a wider mode", asking(durward.Ask{Mode: durward.DangerFullAccess}), durward.ModeDenied, "sandbox.mode", "p.yaml:2:9",
			"ask for workspace-write or less, or set mode to danger-full-access at p.yaml:2:9",
		},
		{
			"another's sandbox", asking(durward.Ask{Mode: durward.External}), durward.ModeDenied, "sandbox.mode", "p.yaml:2:9",
			"ask for workspace-write or less, or set mode to external at p.yaml:2:9",
		},
		{
			"a mode that does not exist", asking(durward.Ask{Mode: "none"}), durward.ModeDenied, "sandbox.mode", "p.yaml:2:9",
			"ask for workspace-write or less, or set mode to none at p.yaml:2:9",
		},
		{
			"a higher level than the fixed one", asking(durward.Ask{MinLevel: durward.LevelContainer}), durward.ModeDenied, "sandbox.level", "p.yaml:3:10",
			"ask for at least level 2, or set level to auto at p.yaml:3:10",
		},
		{"a level that does not exist", asking(durward.Ask{MinLevel: 99}), durward.ModeDenied, "sandbox.minLevel", "p.yaml:2:3", "ask for a level from 0 to 4"},
		{"a negative level", asking(durward.Ask{MinLevel: -1}), durward.ModeDenied, "sandbox.minLevel", "p.yaml:2:3", "ask for a level from 0 to 4"},
		{
			"more network", asking(durward.Ask{Network: durward.NetFull}), durward.NetworkDenied, "sandbox.network.mode", "p.yaml:7:11",
			"ask for allowlist or less, or set network.mode to full at p.yaml:7:11",
		},
		{
			"more time", asking(limits(durward.Limits{Wall: 5001 * time.Millisecond})), durward.LimitDenied, "sandbox.limits.wallMs", "p.yaml:5:13",
			"ask for at most 5000, or set limits.wallMs to 5001 at p.yaml:5:13",
		},
		{
			"more than a default", asking(limits(durward.Limits{Pids: 257})), durward.LimitDenied, "sandbox.limits.pids", "p.yaml:2:3",
			"ask for at most 256, or add limits.pids: 257 to the sandbox at p.yaml:2:3",
		},
		{
			"no limit at all", asking(limits(durward.Limits{Memory: durward.Unlimited})), durward.LimitDenied, "sandbox.limits.memoryBytes", "p.yaml:2:3",
			"ask for at most 2147483648, or add limits.memoryBytes: unlimited to the sandbox at p.yaml:2:3",
		},
		{
			"less than nothing", asking(limits(durward.Limits{AddressSpace: -2})), durward.LimitDenied, "sandbox.limits.addressSpaceBytes", "p.yaml:2:3",
			"ask for at most unlimited, or add limits.addressSpaceBytes: -2 to the sandbox at p.yaml:2:3",
		},
		{
			"too much input",
			durward.Call{Argv: []string{"x"}, Stdin: make([]byte, 1<<20+1)},
			durward.StdinTooLarge, "sandbox.limits.stdinBytes", "p.yaml:2:3",
			"send less, or add limits.stdinBytes: 1048577 to the sandbox at p.yaml:2:3",
		},
		{
			"more input than it asked for",
			durward.Call{Argv: []string{"x"}, Stdin: make([]byte, 11), Ask: limits(durward.Limits{Stdin: 10})},
			durward.StdinTooLarge, "sandbox.limits.stdinBytes", "p.yaml:2:3", "send less, or add limits.stdinBytes: 11 to the sandbox at p.yaml:2:3",
		},
		{"a reserved name", withEnv("LD_PRELOAD", "/x.so"), durward.EnvDenied, "sandbox.env", "p.yaml:9:8", "leave it out"},
		{
			"a name only the policy may set", withEnv("RIPGREP_CONFIG_PATH", "/dev/null"), durward.EnvDenied, "sandbox.env", "p.yaml:9:8",
			"leave it out, or set env.set to {RIPGREP_CONFIG_PATH: …} at p.yaml:9:14",
		},
		{"another PATH", withEnv("PATH", "/tmp"), durward.EnvDenied, "sandbox.env.PATH", "p.yaml:2:3", "leave PATH out, or add env.set.PATH: another value to the sandbox at p.yaml:2:3"},
		{"what the policy set", withEnv("STAGE", "test"), durward.EnvDenied, "sandbox.env.STAGE", "p.yaml:9:15", "leave STAGE out, or set env.set.STAGE to another value at p.yaml:9:15"},
		{"what the policy passes", withEnv("TERM", "dumb"), durward.EnvDenied, "sandbox.env.TERM", "p.yaml:9:36", "leave TERM out, or set env.set.TERM to another value at p.yaml:9:36"},
		{"a directory outside", within("/srv"), durward.DirDenied, "sandbox.filesystem", "p.yaml:2:3", "work inside the root, or choose another root with --root"},
		{"a sibling of the root", within("/home/ann/workshop"), durward.DirDenied, "sandbox.filesystem", "p.yaml:2:3", "work inside the root, or choose another root with --root"},
		{"a way out", within("/home/ann/work/../notes"), durward.DirDenied, "sandbox.filesystem", "p.yaml:2:3", "write out the path it leads to"},
		{"a relative directory", within("src"), durward.DirDenied, "sandbox.filesystem", "p.yaml:2:3", "write out the path it leads to"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := compile(t, workspacePolicy).Decide(test.call, durward.Tool{})
			if d.Allow || d.Code != test.code || d.Rule != test.rule || d.Remedy != test.fix || d.Reason == "" {
				t.Errorf("got %+v", d)
			}
			if d.Where.String() != test.at {
				t.Errorf("at %q, want %q", d.Where, test.at)
			}
			if diff := cmp.Diff(durward.Grant{}, d.Grant); diff != "" {
				t.Errorf("a denial carries a grant: %s", diff)
			}
			if durward.KindOf(d.Err("exec")) != test.code.Kind() {
				t.Errorf("got %v", d.Err("exec"))
			}
		})
	}
}

func withEnv(name, value string) durward.Call {
	return durward.Call{Argv: []string{"x"}, Env: map[string]string{name: value}}
}

func asking(a durward.Ask) durward.Call { return durward.Call{Argv: []string{"x"}, Ask: a} }

func within(dir string) durward.Call { return durward.Call{Argv: []string{"x"}, Dir: dir} }

func TestDecideAllowsWhatIsAtTheLimit(t *testing.T) {
	p := compile(t, workspacePolicy)
	for name, c := range map[string]durward.Call{
		"1024 arguments":       call(slices.Repeat([]string{"x"}, 1024)...),
		"a 128 KiB argument":   call("x", strings.Repeat("x", 128<<10)),
		"empty arguments":      call("x", "", ""),
		"structured input":     {Input: json.RawMessage("{}")},
		"all the time":         asking(durward.Ask{Limits: durward.Limits{Wall: 5 * time.Second}}),
		"the same mode":        asking(durward.Ask{Mode: durward.WorkspaceWrite, Network: durward.NetAllowlist, MinLevel: durward.LevelIsolate}),
		"a lower level":        asking(durward.Ask{MinLevel: durward.LevelNone}),
		"all the input":        {Argv: []string{"x"}, Stdin: make([]byte, 1<<20)},
		"the root":             within("/home/ann/work"),
		"the root with a stop": within("/home/ann/work/"),
		"below the root":       within("/home/ann/work/src/deep"),
		"the same value":       withEnv("STAGE", "prod"),
		"git without a file":   withEnv("GIT_CONFIG_GLOBAL", "/dev/null"),
		"a small terminal":     {Argv: []string{"x"}, Terminal: &durward.WindowSize{Rows: 1, Cols: 1}},
	} {
		if d := p.Decide(c, durward.Tool{}); !d.Allow || d.Rule != "sandbox.mode" || d.Where.String() != "p.yaml:2:9" || d.PolicyHash != p.Hash() {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

func TestADefaultDecidesByDefault(t *testing.T) {
	p := defaultPolicy(t, policy.Flags{})
	if d := p.Decide(call("x"), durward.Tool{}); !d.Allow || d.Rule != "default" || d.Where != (durward.Position{}) {
		t.Errorf("got %+v", d)
	}
	d := p.Decide(asking(durward.Ask{Limits: durward.Limits{Wall: time.Hour}}), durward.Tool{})
	if d.Where != (durward.Position{}) || d.Remedy != "ask for at most 30000, or run under a policy with limits.wallMs: 3600000 (--policy FILE)" {
		t.Errorf("got %+v", d)
	}
	p = defaultPolicy(t, policy.Flags{AllowNet: []string{"a:1"}})
	d = p.Decide(asking(durward.Ask{Network: durward.NetFull}), durward.Tool{})
	if d.Where.String() != "--allow-net" || d.Remedy != "ask for allowlist or less, or change --allow-net" {
		t.Errorf("got %+v", d)
	}
}

func TestAnAskNarrows(t *testing.T) {
	p := compile(t, workspacePolicy)
	g := grantOf(t, p, asking(durward.Ask{
		Mode: durward.ReadOnly, Network: durward.NetNone, MinLevel: durward.LevelRestrict,
		Limits: durward.Limits{Wall: time.Second, AddressSpace: 1 << 30},
	}))
	if g.Mode != durward.ReadOnly || g.Network.Mode != durward.NetNone || len(g.Network.Allow) != 0 || g.Level != durward.LevelIsolate {
		t.Errorf("got %+v", g)
	}
	if g.Limits.Wall != time.Second || g.Limits.AddressSpace != 1<<30 || g.Limits.Pids != 256 {
		t.Errorf("got %+v", g.Limits)
	}
	if diff := cmp.Diff([]string{"@tmp"}, g.Files.Write); diff != "" || !contains(g.Files.Read, "/home/ann/work") {
		t.Errorf("got %+v", g.Files)
	}
	if diff := cmp.Diff(p.Grant(), grantOf(t, p, call("x"))); diff != "" {
		t.Errorf("the policy has changed: %s", diff)
	}
}

func TestFullAccessMayBeNarrowedToAConfinedMode(t *testing.T) {
	g := grantOf(t, compile(t, "mode: danger-full-access"), asking(durward.Ask{Mode: durward.WorkspaceWrite}))
	if g.Level != durward.LevelAuto || g.Identity.Keep || !contains(g.Files.Write, "/") || g.Network.Mode != durward.NetFull {
		t.Errorf("got %+v", g)
	}
	if !contains(g.Files.Deny, "/home/ann/.ssh") || !contains(g.Files.Protect, "/home/ann/work/.git/hooks") || !contains(g.Files.Protect, "/.git/hooks") {
		t.Errorf("got %+v", g.Files)
	}
	if !slices.Contains(requirements(g), "fs.meta") {
		t.Errorf("got %v", g.Require)
	}
	kept := grantOf(t, compile(t, "{mode: danger-full-access, identity: keep}"), asking(durward.Ask{Mode: durward.ReadOnly}))
	if !kept.Identity.Keep || !contains(kept.Files.Read, "/") || !contains(kept.Files.Write, "@tmp") {
		t.Errorf("got %+v", kept)
	}
}

func TestWhatACallerAsksForIsFirm(t *testing.T) {
	g := grantOf(t, defaultPolicy(t, policy.Flags{Write: []string{"/srv"}}), asking(durward.Ask{Mode: durward.ReadOnly}))
	if diff := cmp.Diff([]string{"fs.read firm", "fs.write firm", "fs.meta", "net firm", "unix firm", "proc", "kill", "pids"}, requirements(g)); diff != "" || !g.StepDown {
		t.Error(diff)
	}
}

func TestRequestsAddVariables(t *testing.T) {
	g := grantOf(t, compile(t, workspacePolicy), durward.Call{Argv: []string{"x"}, Env: map[string]string{"A": "1", "HOME": "/h", "LANG": "fr_FR.UTF-8"}})
	want := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "fr_FR.UTF-8", "STAGE": "prod", "TERM": "xterm", "A": "1", "HOME": "/h"}
	if diff := cmp.Diff(want, g.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"TMPDIR"}, g.PrivateDir); diff != "" {
		t.Error(diff)
	}
}

func TestReservedNamesAreRefusedInAnySpelling(t *testing.T) {
	p := compile(t, workspacePolicy)
	for _, name := range dangerous {
		for _, spelling := range []string{name, strings.ToLower(name), name[:1] + strings.ToLower(name[1:])} {
			if d := p.Decide(withEnv(spelling, "x"), durward.Tool{}); d.Allow || d.Code != durward.EnvDenied {
				t.Errorf("%s: got %+v", spelling, d)
			}
		}
	}
}

func TestListedNamesMayBeSet(t *testing.T) {
	p, err := compile(t, workspacePolicy).AllowEnv(policy.Text{Value: "GIT_PAGER"}, policy.Text{Value: "PATH"}, policy.Text{Value: "A"})
	if err != nil {
		t.Fatal(err)
	}
	g := grantOf(t, p, durward.Call{Argv: []string{"x"}, Env: map[string]string{"GIT_PAGER": "cat", "PATH": "/opt"}})
	if g.Env["GIT_PAGER"] != "cat" || g.Env["PATH"] != "/opt" {
		t.Errorf("got %v", g.Env)
	}
	if d := p.Decide(withEnv("git_pager", "x"), durward.Tool{}); d.Allow {
		t.Error("another spelling is not what was listed")
	}
	if d := compile(t, workspacePolicy).Decide(withEnv("GIT_PAGER", "cat"), durward.Tool{}); d.Allow {
		t.Error("the first policy has changed")
	}
	at := durward.Position{File: "d.yaml", Line: 3, Column: 4}
	_, err = p.AllowEnv(policy.Text{Value: "ld_preload", Where: at}, policy.Text{Value: "x-y", Where: at})
	wantProblems(t, err, "d.yaml:3:4: ld_preload can never be allowed: it can make a program run something else (LD_*)", `d.yaml:3:4: "x-y" is not a name of a variable`)
}

func TestTheDirectoryHasToBeVisible(t *testing.T) {
	p := compile(t, "filesystem: {read: ['@system', '${workspace}/src'], deny: ['${workspace}/src/secret?']}")
	for dir, rule := range map[string]string{
		"/home/ann/work":            "sandbox.filesystem.read",
		"/home/ann/work/app":        "sandbox.filesystem.read",
		"/home/ann/work/src/secret": "sandbox.filesystem.deny",
	} {
		if d := p.Decide(within(dir), durward.Tool{}); d.Allow || d.Rule != rule || d.Code != durward.DirDenied {
			t.Errorf("%s: got %+v", dir, d)
		}
	}
	grantOf(t, p, within("/home/ann/work/src"))
}

func TestTheRootMayBeNamedByALink(t *testing.T) {
	h := host()
	h.Workspace = "/home/ann/link"
	p := compileOn(t, h, "{}")
	for _, dir := range []string{"/home/ann/link", "/home/ann/link/sub", "/data/real/sub"} {
		grantOf(t, p, within(dir))
	}
	if d := p.Decide(within("/data"), durward.Tool{}); d.Allow {
		t.Error("above the root")
	}
}

func TestGrantsShareNothing(t *testing.T) {
	p := compile(t, string(example(t)))
	want := p.Grant()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			g := p.Decide(call("x"), durward.Tool{}).Grant
			g.Env["PATH"], g.Files.Write[0], g.Require[0].Kernel = "/evil", "/", true
			g.Files.Protect[0], g.Files.Exec[0], g.PrivateDir[0] = "x", "x", "x"
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, p.Grant()); diff != "" {
		t.Error(diff)
	}
}

func TestKeepIsTheDoorsChoice(t *testing.T) {
	p := compile(t, "{}")
	if g := p.Keep(durward.KeepRefuse).Grant(); g.Keep != durward.KeepRefuse {
		t.Errorf("got %s", g.Keep)
	}
	if p.Grant().Keep != durward.KeepHeadTail || p.Hash() == p.Keep(durward.KeepHead).Hash() {
		t.Error("the policy has changed, or its hash has not")
	}
}

func FuzzDecide(f *testing.F) {
	policies := []*policy.Policy{
		compile(f, workspacePolicy), compile(f, "mode: danger-full-access"), compile(f, string(example(f))), defaultPolicy(f, policy.Flags{}),
	}
	f.Add(uint8(0), "x", "LD_PRELOAD", "/x", "/home/ann/work", "read-only", "none", int64(1), int64(0), 2)
	f.Add(uint8(1), "x", "git_config_global", "/dev/null", "/", "external", "full", int64(-1), int64(-2), -1)
	f.Add(uint8(2), "\x00", "http_Proxy", "\xff", "/home/ann/work/..", "", "", int64(1)<<62, int64(3), 9)
	f.Fuzz(func(t *testing.T, which uint8, arg, name, value, dir, mode, network string, wall, pids int64, level int) {
		p := policies[int(which)%len(policies)]
		c := durward.Call{
			Argv: []string{"x", arg}, Env: map[string]string{name: value}, Dir: dir,
			Ask: durward.Ask{
				Mode: durward.Mode(mode), Network: durward.NetworkMode(network), MinLevel: durward.Level(level),
				Limits: durward.Limits{Wall: time.Duration(wall), Pids: pids},
			},
		}
		d := p.Decide(c, durward.Tool{})
		if diff := cmp.Diff(d, p.Explain(c, durward.Tool{}).Decision); diff != "" {
			t.Errorf("explained differently: %s", diff)
		}
		if !d.Allow {
			if d.Code == "" || d.Rule == "" || d.Reason == "" || d.Remedy == "" {
				t.Errorf("an incomplete denial: %+v", d)
			}
			return
		}
		checkEnv(t, p.Grant().Env, d.Grant.Env)
		if wider := widerIn(d.Grant, p.Grant()); len(wider) > 0 {
			t.Errorf("wider in %v", wider)
		}
		if strings.Contains(arg, "\x00") || strings.Contains(value, "\x00") || !filepath.IsAbs(dir) && dir != "" {
			t.Errorf("allowed %+v", c)
		}
	})
}

// checkEnv looks for reserved names among those that a request brought.
func checkEnv(t *testing.T, given, got map[string]string) {
	t.Helper()
	for name, value := range got {
		if _, ok := given[name]; ok {
			continue
		}
		upper := strings.ToUpper(name)
		for _, prefix := range []string{"LD_", "DYLD_", "BASH_", "GIT_SSH", "PYTHONPATH", "NODE_OPTIONS", "GIT_EXTERNAL", "GIT_PAGER", "RIPGREP_CONFIG_PATH"} {
			if strings.HasPrefix(upper, prefix) && (prefix != "BASH_" || upper == "BASH_ENV" || strings.HasPrefix(upper, "BASH_FUNC_")) &&
				(len(upper) == len(prefix) || strings.HasSuffix(prefix, "_") || strings.HasPrefix(prefix, "GIT_SSH")) {
				t.Errorf("a request set %s", name)
			}
		}
		if strings.HasSuffix(upper, "_PROXY") || upper == "IFS" || upper == "ENV" || strings.HasPrefix(upper, "GIT_CONFIG") && value != "/dev/null" {
			t.Errorf("a request set %s", name)
		}
	}
	for name, value := range given {
		if name != "LANG" && got[name] != value {
			t.Errorf("a request changed %s", name)
		}
	}
}
