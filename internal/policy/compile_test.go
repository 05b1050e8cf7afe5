//go:build unix

package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

func TestModesSettleWhatNobodyWrote(t *testing.T) {
	readOnly := []string{"fs.read", "fs.write", "net", "unix"}
	workspace := []string{"fs.read", "fs.write", "fs.meta", "net", "unix", "proc", "kill", "pids"}
	for _, test := range []struct {
		text    string
		level   durward.Level
		network durward.NetworkMode
		keep    bool
		require []string
	}{
		{"mode: read-only", durward.LevelAuto, durward.NetNone, false, readOnly},
		{"mode: workspace-write", durward.LevelAuto, durward.NetNone, false, workspace},
		{"mode: danger-full-access", durward.LevelNone, durward.NetFull, true, nil},
		{"mode: external", durward.LevelNone, durward.NetNone, true, nil},
		{"{mode: external, network: {mode: full}}", durward.LevelNone, durward.NetFull, true, nil},
		{"{mode: danger-full-access, network: {mode: none}}", durward.LevelAuto, durward.NetNone, true, []string{"net"}},
		{"{mode: danger-full-access, minLevel: 1}", durward.LevelRestrict, durward.NetFull, true, nil},
		{"{mode: danger-full-access, identity: auto}", durward.LevelNone, durward.NetFull, false, nil},
		{"{mode: read-only, level: 1, require: []}", durward.LevelRestrict, durward.NetNone, false, nil},
		{"{mode: read-only, require: [mem, kill!, mem!]}", durward.LevelAuto, durward.NetNone, false, []string{"kill!", "mem!"}},
	} {
		t.Run(test.text, func(t *testing.T) {
			g := grantOf(t, compile(t, test.text), call("x"))
			var require []string
			for _, r := range g.Require {
				require = append(require, r.String())
			}
			if g.Level != test.level || g.Network.Mode != test.network || g.Identity.Keep != test.keep {
				t.Errorf("level %v, network %s, keep %v", g.Level, g.Network.Mode, g.Identity.Keep)
			}
			if diff := cmp.Diff(test.require, require); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadOnlyWritesOnlyToAPrivatePlace(t *testing.T) {
	g := grantOf(t, compile(t, "mode: read-only"), call("x"))
	if diff := cmp.Diff([]string{"@tmp"}, g.Files.Write); diff != "" {
		t.Error(diff)
	}
	if len(g.Files.Protect) != 0 {
		t.Errorf("protects %v although nothing can be written", g.Files.Protect)
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{level: 1, minLevel: 2}":                                "p.yaml:1:22: minLevel 2 asks for more than level 1 gives",
		"filesystem: {write: [/srv]}":                            "p.yaml:1:22: filesystem.write has no effect in mode read-only; did you mean mode: workspace-write?",
		"{mode: danger-full-access, filesystem: {deny: [/srv]}}": "p.yaml:1:47: filesystem.deny has no effect in mode danger-full-access, which confines no files",
		"network: {allow: ['a.example:1']}":                      "p.yaml:1:18: network.allow has no effect without network.mode: allowlist",
		"network: {mode: allowlist}":                             "p.yaml:1:17: network.mode allowlist needs an entry in network.allow",
		"network: {mode: allowlist, allow: []}":                  "p.yaml:1:17: network.mode allowlist needs an entry in network.allow",
	} {
		t.Run(text, func(t *testing.T) { wantProblems(t, load(host(), text), want) })
	}
}

func TestPathsAreExpandedAndResolved(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       durward.Files
	}{
		{"home and workspace", `read: ["~/notes", "${workspace}/src"]`, durward.Files{Read: []string{"/home/ann/notes", "/home/ann/work/src"}}},
		{"a path through a link is physical", `read: ["~/link/sub", /bin]`, durward.Files{Read: []string{"/data/real/sub", "/usr/bin"}}},
		{"an optional path may be missing", `read: ["/opt/none?", "/opt/tool?"]`, durward.Files{Read: []string{"/opt/tool"}}},
		{"a path below another adds nothing", `read: [/srv, /srv/shared]`, durward.Files{Read: []string{"/srv"}}},
		{"brackets may be part of a name", `read: ["${workspace}/app/[id]"]`, durward.Files{Read: []string{"/home/ann/work/app/[id]"}}},
		{"a secret named exactly is readable", `read: ["~/.ssh", "~"]`, durward.Files{
			Read: []string{"/home/ann"}, // and .ssh with it, for it is not denied
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := grantOf(t, compile(t, "filesystem: {"+test.text+"}"), call("x")).Files
			if diff := cmp.Diff(test.want.Read, f.Read); diff != "" {
				t.Error(diff)
			}
			if contains(f.Deny, "/home/ann/.ssh") {
				t.Error("what read names is denied")
			}
		})
	}
}

func TestPathsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"read: [srv]":                 `21: "srv" is not an absolute path`,
		"read: ['']":                  `21: "" is not an absolute path`,
		"read: [/missing]":            `21: /missing does not exist; end it with ? if it may be missing`,
		"read: [~bob/x]":              `21: "~bob/x": only ~ and ${workspace} at the start of a path are expanded`,
		"read: ['${HOME}/x']":         `21: "${HOME}/x": only ~ and ${workspace} at the start of a path are expanded`,
		"read: ['/srv/${workspace}']": `21: "/srv/${workspace}": only ~ and ${workspace} at the start of a path are expanded`,
		"read: [/srv/../etc]":         `21: "/srv/../etc" holds ..; write the path it leads to`,
		`read: ["/srv/\0"]`:           `21: the path holds a NUL byte`,
		"read: ['@tmp']":              `21: filesystem.read knows no set "@tmp"; it knows @system`,
		"read: ['@sytem']":            `21: filesystem.read knows no set "@sytem"; it knows @system`,
		"write: ['@system']":          `22: filesystem.write knows no set "@system"; it knows @tmp`,
		"write: ['${workspace}/*']":   `22: filesystem.write takes no patterns; only filesystem.deny does`,
		"write: ['${workspace}/*?']":  `22: filesystem.write takes no patterns; only filesystem.deny does`,
		"write: ['${workspace}/s??']": `22: filesystem.write takes no patterns; only filesystem.deny does`,
		"read: ['/srv/[ab]']":         `21: filesystem.read takes no patterns; only filesystem.deny does`,
		"exec: ['/srv/{a,b}?']":       `21: filesystem.exec takes no patterns; only filesystem.deny does`,
		"protect: ['/srv/*']":         `24: filesystem.protect takes no patterns; only filesystem.deny does`,
		"protect: ['@git']":           `24: filesystem.protect knows no set "@git"; it knows @vcs, @agent`,
		"deny: ['@vcs']":              `21: filesystem.deny knows no set "@vcs"`,
		"deny: [/missing]":            `21: /missing does not exist; end it with ? if it may be missing`,
		"deny: ['/srv/{a,b}']":        `21: /srv/{a,b} is not a pattern: braces are not expanded; write one entry for each`,
		"deny: ['/srv/[a']":           `21: /srv/[a is not a pattern: a [ without its ]`,
		"deny: ['/srv/a*b[']":         `21: /srv/a*b[ is not a pattern: a [ without its ]`,
		"deny: ['/srv/a**']":          `21: /srv/a** is not a pattern: ** stands for whole names between two slashes`,
		"read: ['~/.ssh/config']":     `21: ~/.ssh/config lies in /home/ann/.ssh, which is denied unless filesystem.read names exactly that`,
		"write: ['~/.netrc']":         `22: ~/.netrc lies in /home/ann/.netrc, which is denied unless filesystem.read names exactly that`,
	} {
		t.Run(text, func(t *testing.T) {
			wantProblems(t, load(host(), "filesystem: {"+text+"}\nmode: workspace-write"), "p.yaml:1:"+want)
		})
	}
	wantProblems(t, load(host(), "network: {unixSockets: [/run/docker.sock]}"),
		"p.yaml:1:25: /run/docker.sock lies in /run/docker.sock, which is denied unless filesystem.read names exactly that")
}

func TestAPathThatCannotBeResolvedIsRefused(t *testing.T) {
	h := host()
	resolve := h.Resolve
	h.Resolve = func(path string) (string, error) {
		if strings.HasPrefix(path, "/locked") {
			return "", errors.New("permission denied")
		}
		return resolve(path)
	}
	for _, member := range []string{"read: ['/locked/x?']", "deny: ['/locked/x?']", "deny: ['/locked/*']", "protect: [/locked/x]"} {
		err := load(h, "filesystem: {"+member+"}")
		if durward.ReasonOf(err) != durward.PolicyInvalid || !strings.Contains(err.Error(), "cannot be resolved: permission denied") {
			t.Errorf("%s: got %v", member, err)
		}
	}
}

func TestWithoutAWorkspaceWhatNamesItIsRefused(t *testing.T) {
	h := host()
	h.Workspace, h.Home = "", ""
	wantProblems(t, load(h, "filesystem: {read: ['${workspace}', ~/x]}"),
		`p.yaml:1:21: "${workspace}": ${workspace} is not known here`, `p.yaml:1:37: "~/x": ~ is not known here`)
	h.Workspace = "/gone"
	wantProblems(t, load(h, "filesystem: {read: [/srv]}"), "p.yaml:1:1: the workspace /gone is not an existing absolute path")
}

func TestDenyKeepsPatternsForEachRun(t *testing.T) {
	tree := standard().with(map[string]string{"/home/ann/w[1]*": "/home/ann/w[1]*"})
	h := hostOf(tree)
	h.Workspace = "/home/ann/w[1]*"
	f := grantOf(t, compileOn(t, h, `filesystem: {read: [/, "~/.ssh", "~/.aws"], deny: ["${workspace}/**/.env", "~/link/*.key", "/nowhere/*?", "~/.aws?"]}`), call("x")).Files
	for _, want := range []string{"/home/ann/w[[]1][*]/**/.env", "/data/real/*.key", "/nowhere/*"} {
		if !contains(f.DenyGlobs, want) {
			t.Errorf("%s is not in %v", want, f.DenyGlobs)
		}
	}
	if !contains(f.Deny, "/home/ann/.aws") || contains(f.Deny, "/home/ann/.ssh") {
		t.Errorf("got %v", f.Deny)
	}
}

func TestADenyThatMayBeANameOrAPatternIsBoth(t *testing.T) {
	f := grantOf(t, compile(t, `filesystem: {deny: ["${workspace}/app/[id]"]}`), call("x")).Files
	if !contains(f.Deny, "/home/ann/work/app/[id]") || !contains(f.DenyGlobs, "/home/ann/work/app/[id]") {
		t.Errorf("got %v and %v", f.Deny, f.DenyGlobs)
	}
}

func TestAMissingDenyStaysDenied(t *testing.T) {
	f := grantOf(t, compile(t, `filesystem: {deny: ["~/link/later/x?"], read: ["~/link"]}`), call("x")).Files
	if !contains(f.Deny, "/data/real/later/x") {
		t.Errorf("got %v", f.Deny)
	}
}

func TestSecretsAreDeniedWhereTheyCouldBeSeen(t *testing.T) {
	f := grantOf(t, compile(t, "filesystem: {view: host-ro}"), call("x")).Files
	for _, path := range strings.Fields(`/home/ann/.ssh /home/ann/.gnupg /home/ann/.aws /home/ann/.config/gcloud /home/ann/.azure
		/home/ann/.kube /home/ann/.docker /home/ann/.netrc /home/ann/.npmrc /home/ann/.pypirc /home/ann/.config/gh
		/home/ann/.mozilla /home/ann/.local/share/keyrings /home/ann/.bash_history /run/docker.sock /etc/shadow /etc/gshadow
		/etc/sudoers /etc/ssh/ssh_host_ed25519_key`) {
		if !contains(f.Deny, path) {
			t.Errorf("%s is not denied", path)
		}
	}
	if !contains(f.DenyGlobs, "/etc/sudoers*") || !contains(f.DenyGlobs, "/etc/ssh/ssh_host_*_key") {
		t.Errorf("got %v", f.DenyGlobs)
	}
	if !f.HostReadOnly || !contains(f.Read, "/") {
		t.Errorf("got %+v", f)
	}
	private := grantOf(t, compile(t, "{}"), call("x")).Files
	if len(private.Deny)+len(private.DenyGlobs) > 0 {
		t.Errorf("denies what is out of reach anyway: %v %v", private.Deny, private.DenyGlobs)
	}
	for _, goos := range []string{"darwin", "windows"} {
		h := host()
		h.GOOS = goos
		f := grantOf(t, compileOn(t, h, "filesystem: {read: ['~']}"), call("x")).Files
		if !contains(f.Deny, "/home/ann/.ssh") {
			t.Errorf("%s: got %v", goos, f.Deny)
		}
	}
}

func TestOnlyTheExactNameOpensASecret(t *testing.T) {
	f := grantOf(t, compile(t, `filesystem: {read: ["~", "~/.netrc"]}`), call("x")).Files
	if contains(f.Deny, "/home/ann/.netrc") || !contains(f.Deny, "/home/ann/.ssh") {
		t.Errorf("got %v", f.Deny)
	}
	denied := grantOf(t, compile(t, `filesystem: {read: ["~", "~/.netrc"], deny: ["~/.netrc"]}`), call("x")).Files
	if !contains(denied.Deny, "/home/ann/.netrc") {
		t.Errorf("deny does not beat read: %v", denied.Deny)
	}
}

func TestProtectedPathsNeedNotExist(t *testing.T) {
	h := host()
	h.GitDirs = func(dir string) []string {
		if dir == "/srv/shared" {
			return []string{"/srv/main/.git/worktrees/w", "/srv/main/.git"}
		}
		return nil
	}
	f := grantOf(t, compileOn(t, h, `{mode: workspace-write, filesystem: {write: [/srv, /srv/shared, "~"], protect: ["@vcs", "@agent", "~/keep"]}}`), call("x")).Files
	for _, path := range strings.Fields(`/srv/.git/hooks /srv/.gitmodules /home/ann/.git/config /home/ann/work/.git/hooks
		/home/ann/.bashrc /home/ann/.zshenv /home/ann/.mcp.json /home/ann/work/.mcp.json /home/ann/work/.vscode /home/ann/keep
		/home/ann/work/durward-policy.yaml`) {
		if !contains(f.Protect, path) {
			t.Errorf("%s is not protected", path)
		}
	}
	h.Workspace = "/srv/shared"
	f = grantOf(t, compileOn(t, h, `{mode: workspace-write, filesystem: {write: [/srv]}}`), call("x")).Files
	for _, path := range []string{"/srv/shared/.git", "/srv/main/.git/hooks", "/srv/main/.git/worktrees/w/config.worktree", "/srv/main/.git/info/attributes"} {
		if !contains(f.Protect, path) {
			t.Errorf("%s is not protected: %v", path, f.Protect)
		}
	}
}

func TestAProtectedLinkIsProtectedAsNameAndAsFile(t *testing.T) {
	tree := standard().with(map[string]string{"/home/ann/work/.envrc": "/home/ann/work/src"})
	f := grantOf(t, compileOn(t, hostOf(tree), "mode: workspace-write"), call("x")).Files
	if !contains(f.Protect, "/home/ann/work/.envrc") || !contains(f.Protect, "/home/ann/work/src") {
		t.Errorf("got %v", f.Protect)
	}
}

func TestAWritableFileHasNothingInItToProtect(t *testing.T) {
	h := host()
	resolve := h.Resolve
	h.Resolve = func(path string) (string, error) {
		if strings.HasPrefix(path, "/opt/tool/") {
			return "", errors.New("not a directory")
		}
		return resolve(path)
	}
	f := grantOf(t, compileOn(t, h, "{mode: workspace-write, filesystem: {write: [/opt/tool]}}"), call("x")).Files
	if len(f.Protect) != 0 || !contains(f.Write, "/opt/tool") {
		t.Errorf("got %+v", f)
	}
}

func TestFullAccessNamesNoFiles(t *testing.T) {
	for _, mode := range []string{"danger-full-access", "external"} {
		g := grantOf(t, compile(t, "mode: "+mode), call("x"))
		if diff := cmp.Diff(durward.Files{}, g.Files); diff != "" {
			t.Errorf("%s: %s", mode, diff)
		}
	}
	if fields := grantOf(t, compile(t, "mode: danger-full-access"), call("x")).Asks(); slices.Contains(fields, durward.FieldFiles) || slices.Contains(fields, durward.FieldNetwork) {
		t.Errorf("asks for %v", fields)
	}
	g := grantOf(t, compile(t, "{mode: external, filesystem: {read: [/usr], write: [/srv]}}"), call("x"))
	if !contains(g.Files.Write, "/srv") || !contains(g.Files.Exec, "/usr") || len(g.Files.Protect) != 0 {
		t.Errorf("got %+v", g.Files)
	}
}

func TestProtectMayBeTurnedOff(t *testing.T) {
	f := grantOf(t, compile(t, "{mode: workspace-write, filesystem: {protect: []}}"), call("x")).Files
	if len(f.Protect) != 0 {
		t.Errorf("got %v", f.Protect)
	}
}

func TestExecFollowsReadAndWriteUnlessWritten(t *testing.T) {
	f := grantOf(t, compile(t, "{mode: workspace-write, filesystem: {read: [/usr], write: ['@tmp']}}"), call("x")).Files
	if diff := cmp.Diff([]string{"/usr", "@tmp"}, f.Exec); diff != "" {
		t.Error(diff)
	}
	f = grantOf(t, compile(t, "filesystem: {exec: []}"), call("x")).Files
	if len(f.Exec) != 0 {
		t.Errorf("got %v", f.Exec)
	}
}

func TestTheEmptySystemIsRefused(t *testing.T) {
	wantProblems(t, load(hostOf(tree{"/": "/", "/home": "/home", "/home/ann": "/home/ann", "/home/ann/work": "/home/ann/work"}), "filesystem: {read: ['@system']}"),
		"p.yaml:1:21: @system is empty on this machine")
}

func TestNetworkEntries(t *testing.T) {
	n := grantOf(t, compile(t, `network:
  mode: allowlist
  allow: ["API.Example.com.:443", "*.Example.org:443", "a.example.org:443", "10.1.2.3:5432", "[2001:DB8::0:1]:80", "münchen.de:1"]
  allowPrivate: [10.1.0.0/16, 10.1.2.0/24, "fd00::1"]
`), call("x")).Network
	want := durward.Network{
		Mode: durward.NetAllowlist, RequireSNI: true,
		Allow:        []string{"*.example.org:443", "10.1.2.3:5432", "[2001:db8::1]:80", "api.example.com:443", "xn--mnchen-3ya.de:1"},
		AllowPrivate: []string{"10.1.0.0/16", "fd00::1/128"},
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{
		"example.com", "example.com:0", "example.com:65536", "example.com:+1", "example.com:080", "exa mple.com:1", "*:443", "a.*.com:1", "*a.com:1",
		"127.1:80", "0x7f.1:80", "017700000001:80", "2130706433:80", "a..b:1", ".a:1", "ｅxample.com:1", "a/b:1", "u@h:1", "%41:1", ":80", "[::1%lo]:80",
		"[::ffff:1.2.3.4]:80", strings.Repeat("a", 64) + ".b:1", "http://a:1",
	} {
		if err := load(host(), `network: {mode: allowlist, allow: ["`+bad+`"]}`); durward.ReasonOf(err) != durward.PolicyInvalid {
			t.Errorf("%s: got %v", bad, err)
		}
	}
	for _, bad := range []string{"10.1.2.3/16", "10.0.0.0/33", "x", "10.0.0.0-10.0.0.9", "::ffff:1.2.3.4", "fe80::1%lo"} {
		if err := load(host(), `network: {mode: allowlist, allow: ["a:1"], allowPrivate: ["`+bad+`"]}`); durward.ReasonOf(err) != durward.PolicyInvalid {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestLimits(t *testing.T) {
	l := grantOf(t, compile(t, "limits: {wallMs: 0x10, graceMs: 1_500, addressSpaceBytes: 4096, pids: 1}"), call("x")).Limits
	want := durward.DefaultLimits()
	want.Wall, want.Grace, want.AddressSpace, want.Pids = 16*time.Millisecond, 1500*time.Millisecond, 4096, 1
	if l != want {
		t.Errorf("got %+v", l)
	}
}

func TestTheEnvironmentStartsEmpty(t *testing.T) {
	g := grantOf(t, compile(t, "env: {set: {LANG: de_DE.UTF-8, HOME: /h, GIT_CONFIG_GLOBAL: /g, RIPGREP_CONFIG_PATH: /r, PATH: '/usr/bin:/opt/tool'}, pass: [TERM, ABSENT]}"), call("x"))
	want := map[string]string{
		"PATH": "/usr/bin:/opt/tool", "LANG": "de_DE.UTF-8", "TERM": "xterm", "HOME": "/h", "GIT_CONFIG_GLOBAL": "/g", "RIPGREP_CONFIG_PATH": "/r",
	}
	if diff := cmp.Diff(want, g.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"TMPDIR"}, g.PrivateDir); diff != "" {
		t.Error(diff)
	}
}

func TestThePathHoldsNothingTheCommandCanWrite(t *testing.T) {
	g := grantOf(t, compile(t, "{mode: workspace-write, filesystem: {write: [/usr/bin]}}"), call("x"))
	if g.Env["PATH"] != "/usr/local/bin" { // /bin leads to /usr/bin
		t.Errorf("got %s", g.Env["PATH"])
	}
}

// dangerous are names that no request may set, one or more for each family.
var dangerous = strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH LD_ DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH BASH_ENV ENV
	BASH_FUNC_x SHELLOPTS PROMPT_COMMAND IFS PYTHONSTARTUP PYTHONPATH NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS
	GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL RIPGREP_CONFIG_PATH
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY`)

func TestReservedNamesAreRefusedAtLoad(t *testing.T) {
	for _, name := range dangerous {
		for _, spelling := range []string{name, strings.ToLower(name), name[:1] + strings.ToLower(name[1:])} {
			if err := load(host(), "env: {pass: ["+spelling+"]}"); durward.ReasonOf(err) != durward.PolicyInvalid {
				t.Errorf("pass %s: got %v", spelling, err)
			}
			settable := strings.HasPrefix(name, "GIT_CONFIG") || name == "RIPGREP_CONFIG_PATH"
			if err := load(host(), "env: {set: {"+spelling+": x}}"); (err == nil) != settable {
				t.Errorf("set %s: got %v", spelling, err)
			}
		}
	}
}

func TestVariablesAreRefusedAtLoad(t *testing.T) {
	for text, want := range map[string]string{
		"pass: [A-B]":                            `14: "A-B" is not a name of a variable`,
		"pass: ['']":                             `14: "" is not a name of a variable`,
		"pass: [PATH]":                           "14: PATH is fixed; a policy may give it a value under env.set",
		"set: {1A: x}":                           `13: "1A" is not a name of a variable`,
		`set: {A: "x\0y"}`:                       "13: the value of A holds a NUL byte",
		"set: {PATH: 'bin'}":                     "13: PATH may only hold absolute directories that the command cannot write",
		"set: {PATH: ''}":                        "13: PATH may only hold absolute directories that the command cannot write",
		"set: {PATH: '/usr/bin:'}":               "13: PATH may only hold absolute directories that the command cannot write",
		"set: {PATH: '/home/ann/work/bin:/bin'}": "13: PATH may only hold absolute directories that the command cannot write",
		"set: {LD_PRELOAD: x}":                   "13: LD_PRELOAD is refused in every environment: it can make a program run something else (LD_*)",
		"set: {http_proxy: x}":                   "13: http_proxy is refused in every environment: traffic goes where network.mode says",
	} {
		t.Run(text, func(t *testing.T) {
			wantProblems(t, load(host(), "env: {"+text+"}\nmode: workspace-write"), "p.yaml:1:"+want)
		})
	}
}

func TestPathsTellBothForms(t *testing.T) {
	p := compile(t, "filesystem: {read: ['~/link', '/none?', /bin]}")
	var got []string
	for _, path := range p.Paths() {
		if path.Member == "filesystem.read" {
			got = append(got, path.Written+" > "+path.Physical+" "+path.Where.String())
		}
	}
	want := []string{"~/link > /data/real p.yaml:1:21", "/none? >  p.yaml:1:31", "/bin > /usr/bin p.yaml:1:41"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefault(t *testing.T) {
	g := grantOf(t, defaultPolicy(t, policy.Flags{}), call("x"))
	if g.Mode != durward.ReadOnly || !g.StepDown || g.Network.Mode != durward.NetNone || g.Level != durward.LevelAuto || g.MinLevel != durward.LevelAuto {
		t.Errorf("got %+v", g)
	}
	if diff := cmp.Diff([]string{"/etc/passwd", "/etc/ssl", "/home/ann/work", "/usr"}, g.Files.Read); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(strings.Join(requirements(g), " "), "firm") {
		t.Errorf("got %v", requirements(g))
	}
}

func TestFlagsAreFirm(t *testing.T) {
	g := grantOf(t, defaultPolicy(t, policy.Flags{Write: []string{"/srv"}, AllowNet: []string{"A.example:1"}}), call("x"))
	if g.Mode != durward.WorkspaceWrite || !g.StepDown || !contains(g.Files.Write, "/srv") || !contains(g.Files.Write, "@tmp") {
		t.Errorf("got %+v", g)
	}
	if contains(g.Files.Write, "/home/ann/work") || !contains(g.Files.Read, "/home/ann/work") {
		t.Errorf("the root is writable: %+v", g.Files)
	}
	if diff := cmp.Diff([]string{"fs.read", "fs.write firm", "fs.meta", "net firm", "unix", "proc", "kill", "pids"}, requirements(g)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a.example:1"}, g.Network.Allow); diff != "" || g.Network.Mode != durward.NetAllowlist {
		t.Error(diff)
	}
	g = grantOf(t, defaultPolicy(t, policy.Flags{Read: []string{"/srv"}}), call("x"))
	if g.Mode != durward.ReadOnly || !contains(g.Files.Read, "/srv") || requirements(g)[0] != "fs.read firm" {
		t.Errorf("got %+v", g)
	}
}

func TestALevelAsksForWhatItIsMadeOf(t *testing.T) {
	for level, want := range map[durward.Level][]string{
		durward.LevelNone:     {"kill", "pids"},
		durward.LevelRestrict: {"fs.read", "fs.write", "net", "unix", "kill", "pids"},
		durward.LevelIsolate:  {"fs.read", "fs.write", "fs.meta", "net", "unix", "proc", "kill", "pids"},
	} {
		g := grantOf(t, defaultPolicy(t, policy.Flags{Level: level, Write: []string{"/srv"}}), call("x"))
		if diff := cmp.Diff(want, requirements(g)); diff != "" || g.StepDown || g.Level != level || g.MinLevel != level {
			t.Errorf("level %d: %s %+v", level.Number(), diff, g)
		}
		if protects := len(g.Files.Protect) > 0; protects != (level == durward.LevelIsolate) {
			t.Errorf("level %d protects %v", level.Number(), g.Files.Protect)
		}
	}
	g := grantOf(t, defaultPolicy(t, policy.Flags{Level: durward.LevelNone, AllowNet: []string{"a:1"}}), call("x"))
	if diff := cmp.Diff([]string{"net"}, requirements(g)); diff != "" {
		t.Error(diff)
	}
}

func TestFlagsAreTakenAsTheyStand(t *testing.T) {
	tree := standard().with(map[string]string{"/srv/~x?": "/srv/~x?"})
	p, err := policy.Default(hostOf(tree), policy.Flags{Read: []string{"/srv/~x?"}})
	if err != nil {
		t.Fatal(err)
	}
	if g := p.Grant(); !contains(g.Files.Read, "/srv/~x?") {
		t.Errorf("got %v", g.Files.Read)
	}
	_, err = policy.Default(host(), policy.Flags{
		Read: []string{"/missing", "rel", "@system", "${workspace}"}, Write: []string{"/missing*", "~/x"}, AllowNet: []string{"nowhere"},
	})
	wantProblems(t, err,
		`--allow-net: not host:port: "nowhere": no port`,
		"--read: /missing does not exist",
		`--read: "rel" is not an absolute path`,
		`--read: "@system" is not an absolute path`,
		`--read: "${workspace}" is not an absolute path`,
		"--write: /missing* does not exist",
		`--write: "~/x" is not an absolute path`,
	)
}

func TestADefaultWithoutItsRootIsRefused(t *testing.T) {
	h := host()
	h.Workspace = "/gone"
	if _, err := policy.Default(h, policy.Flags{}); durward.ReasonOf(err) != durward.PolicyInvalid {
		t.Errorf("got %v", err)
	}
}

func TestWindowsHasAnEnvironmentOfItsOwn(t *testing.T) {
	h := host()
	h.GOOS = "windows"
	h.Environ = map[string]string{"SystemRoot": `C:\W`, "PATHEXT": ".EXE", "Path": `C:\evil`}
	p := compileOn(t, h, "filesystem: {read: [/srv]}")
	want := map[string]string{"SystemRoot": `C:\W`, "PATH": `C:\W\System32;C:\W`, "LANG": "C.UTF-8", "PATHEXT": ".EXE"}
	if diff := cmp.Diff(want, p.Grant().Env); diff != "" {
		t.Error(diff)
	}
	d := p.Decide(durward.Call{Argv: []string{"x"}, Env: map[string]string{"Path": "x"}}, durward.Tool{})
	if d.Allow || d.Rule != "sandbox.env.PATH" {
		t.Errorf("got %+v", d)
	}
}

func requirements(g durward.Grant) []string {
	var list []string
	for _, r := range g.Require {
		text := r.String()
		if r.Firm {
			text += " firm"
		}
		list = append(list, text)
	}
	return list
}

func contains(list []string, item string) bool {
	for _, one := range list {
		if one == item {
			return true
		}
	}
	return false
}
