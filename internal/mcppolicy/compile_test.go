//go:build unix

package mcppolicy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/mcppolicy"
)

const home = "version: 1\nallowedRoots: [~/code]\n"

// Each row is a document with one mistake on the standard machine, and what is said.
func TestMistakesOnThisMachine(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"version: 1\nallowedRoots: [/w, ~/none]", "p.yaml:2:20: allowedRoots[1]: ~/none (/home/ann/none) does not exist"},
		{"version: 1\nallowedRoots: [~/code/readme]", "p.yaml:2:16: allowedRoots[0]: ~/code/readme (/home/ann/code/readme) is not a directory"},
		{"version: 1\nallowedRoots: [/]", "p.yaml:2:16: allowedRoots[0]: / is the whole file system; set allowRootFilesystem: true if that is meant"},
		{"version: 1\nallowedRoots: ['C:\\x', '\\\\server\\share']", "p.yaml:2:15: allowedRoots: no entry is a path of this system"},

		{home + "writeRules: [{path: ~/code/new}]", "p.yaml:3:21: writeRules[0].path: ~/code/new (/home/ann/code/new) does not exist; set createIfMissing: true to have it made"},
		{home + "writeRules: [{path: /w}]", "p.yaml:3:21: writeRules[0].path: /w lies in no allowed root"},
		{home + "writeRules: [{path: ~/code-2, createIfMissing: true}]", "p.yaml:3:21: writeRules[0].path: ~/code-2 lies in no allowed root"},
		{home + "writeRules: [{path: ~/code/new/../../x, createIfMissing: true}]", "p.yaml:3:21: writeRules[0].path: ~/code/new/../../x (/home/ann/code/new/../../x) cannot be resolved: it holds .. behind what exists"},
		{home + "writeRules: [{path: 'C:/x', createIfMissing: true}]", "p.yaml:3:21: writeRules[0].path: C:/x is a path of another system"},

		{home + "commands: [{id: a, exec: nosuch}]", "p.yaml:3:26: commands[0].exec: there is no program nosuch on PATH"},
		{home + "commands: [{id: a, exec: notes.txt}]", "p.yaml:3:26: commands[0].exec: there is no program notes.txt on PATH"},
		{home + "commands: [{id: a, exec: /usr/bin/none}]", "p.yaml:3:26: commands[0].exec: /usr/bin/none does not exist"},
		{home + "commands: [{id: a, exec: /usr/bin/notes.txt}]", "p.yaml:3:26: commands[0].exec: /usr/bin/notes.txt is not executable"},
		{home + "commands: [{id: a, exec: /usr/bin}]", "p.yaml:3:26: commands[0].exec: /usr/bin is not a regular file"},
		{home + "commands: [{id: a, exec: /usr/bin/pipe}]", "p.yaml:3:26: commands[0].exec: /usr/bin/pipe is not a regular file"},
		{home + "commands: [{id: a, exec: 'C:\\a.exe'}]", `p.yaml:3:26: commands[0].exec: C:\a.exe is a path of another system; name the systems under platform`},
		{home + "writeRules: [{path: ~/code/scratch}]\ncommands: [{id: a, exec: /home/ann/code/scratch/tool}]", "p.yaml:4:26: commands[0].exec: /home/ann/code/scratch/tool lies where the write rule at p.yaml:3:14 lets files be written"},
		{home + "writeRules: [{path: ~/code/scratch}]\ncommands: [{id: a, exec: planted}]", "p.yaml:4:26: commands[0].exec: planted leads to /home/ann/code/scratch/tool, which lies where the write rule at p.yaml:3:14 lets files be written"},
		{home + "writeRules: [{path: ~/code/scratch}]\ncommands: [{id: a, exec: /home/ann/code/scratch/out}]", "p.yaml:4:26: commands[0].exec: /home/ann/code/scratch/out lies where the write rule at p.yaml:3:14 lets files be written"},
		{home + "commands:\n- {id: a, exec: /home/ann/code/scratch/tool}\n- {id: b, exec: git, sandbox: {mode: workspace-write, filesystem: {write: [~/code/scratch]}}}", "p.yaml:4:17: commands[0].exec: /home/ann/code/scratch/tool lies where the sandbox at p.yaml:5:31 lets files be written"},
		{home + "commands: [{id: a, exec: planted}]\nsandbox: {mode: workspace-write, filesystem: {write: [~/code/scratch]}}", "p.yaml:3:26: commands[0].exec: planted leads to /home/ann/code/scratch/tool, which lies where the sandbox at p.yaml:4:10 lets files be written"},
		{home + "commands: [{id: a, exec: /home/ann/code/scratch/tool, sandbox: {mode: workspace-write, filesystem: {write: [~/code], read: [~/code/project]}}}]", "p.yaml:3:26: commands[0].exec: /home/ann/code/scratch/tool lies where the sandbox at p.yaml:3:64 lets files be written"},
		{home + "commands: [{id: a, exec: git, sandbox: {mode: workspace-write, filesystem: {write: [/srv/data], protect: [/srv/data/log]}}}]\nlogging: {file: /srv/data/log}", "p.yaml:4:17: logging.file: /srv/data/log lies where the sandbox at p.yaml:3:40 lets files be written"},
		{home + "commands: [{id: a, exec: git, sandbox: {mode: workspace-write, filesystem: {write: [/srv/data]}}}]\nlogging: {file: /srv/data/log}", "p.yaml:4:17: logging.file: /srv/data/log lies where the sandbox at p.yaml:3:40 lets files be written"},
		{home + "commands: [{id: a, exec: git, cwdPolicy: fixed, cwd: ~/none}]", "p.yaml:3:54: commands[0].cwd: ~/none (/home/ann/none) does not exist"},
		{home + "commands: [{id: a, exec: git, cwdPolicy: fixed, cwd: ~/code/readme}]", "p.yaml:3:54: commands[0].cwd: ~/code/readme (/home/ann/code/readme) is not a directory"},
		{home + "commands: [{id: a, exec: git, sandbox: {filesystem: {read: [/none]}}}]", "p.yaml:3:61: /none does not exist; end it with ? if it may be missing"},
		{home + "sandbox: {filesystem: {read: [/none]}}", "p.yaml:3:31: /none does not exist; end it with ? if it may be missing"},
		{home + "commands: [{id: a, exec: git}, {id: b, exec: git}]\nsandbox: {filesystem: {read: [/none]}}", "p.yaml:4:31: /none does not exist; end it with ? if it may be missing"},

		{home + "writeRules: [{path: ~/code/scratch}]\nlogging: {file: ~/code/scratch/log}", "p.yaml:4:17: logging.file: ~/code/scratch/log lies where the write rule at p.yaml:3:14 lets files be written"},
		{home + "logging: {file: /srv/data}", "p.yaml:3:17: logging.file: /srv/data is a directory; name a file in it"},
		{home + "logging: {file: ~/}", "p.yaml:3:17: logging.file: ~/ is a directory; name a file in it"},
		{home + "logging: {file: /usr/bin/pipe}", "p.yaml:3:17: logging.file: /usr/bin/pipe is not a regular file"},
		{home + "logging: {file: /usr/bin/sh}", "p.yaml:3:17: logging.file: /usr/bin/sh is a symbolic link, which no log is written through"},
		{home + "logging: {file: 'C:/log'}", "p.yaml:3:17: logging.file: C:/log is a path of another system"},
	} {
		t.Run(test.text, func(t *testing.T) { wantProblems(t, load(standard().host(), test.text), test.want) })
	}
}

func TestAllMistakesOnThisMachineAreReportedAtOnce(t *testing.T) {
	wantProblems(t, load(standard().host(), "version: 1\nallowedRoots: [/none, /w]\nwriteRules: [{path: /srv/data}]\ncommands:\n- {id: a, exec: /none}\n- {id: b, exec: git, cwdPolicy: fixed, cwd: /none}\nlogging: {file: 'D:/x'}\n"),
		"p.yaml:2:16: allowedRoots[0]: /none does not exist",
		"p.yaml:3:21: writeRules[0].path: /srv/data lies in no allowed root",
		"p.yaml:5:17: commands[0].exec: /none does not exist",
		"p.yaml:6:45: commands[1].cwd: /none does not exist",
		"p.yaml:7:17: logging.file: D:/x is a path of another system",
	)
}

// A mistake in what was written hides none of what is there on this machine, and leads to
// no other one.
func TestMistakesOfBothKindsAreReportedAtOnce(t *testing.T) {
	wantProblems(t, load(standard().host(), `version: 1
allowedRoots: [src, ~/none, ~/code]
writeRules:
  - path: /etc
  - path: rel
    recursive: 7
  - path: ~/code/none
  - {}
commands:
  - {id: a, exec: /none, args: {patterns: [{type: regex, value: '('}]}}
  - {id: a, exec: bin/x, envAllowlist: [A-B, NODE_OPTIONS], sandbox: {filesystem: {read: [/none]}}}
  - {id: c, exec: git, platform: [darwin], cwdPolicy: fixed, cwd: /none}
  - {id: d, exec: git, cwdPolicy: fixed, cwd: /none, sandbox: {mode: x}}
profiles:
  - {name: p, commands: [.x, a, b]}
logging: {file: 'D:/x', level: loud}
nonsense: 1
`),
		`p.yaml:2:16: allowedRoots[0] must be an absolute path, or begin with ~/, not "src"`,
		"p.yaml:2:21: allowedRoots[1]: ~/none (/home/ann/none) does not exist",
		`p.yaml:5:11: writeRules[1].path must be an absolute path, or begin with ~/, not "rel"`,
		"p.yaml:6:16: writeRules[1].recursive must be a boolean, not an integer",
		"p.yaml:7:11: writeRules[2].path: ~/code/none (/home/ann/code/none) does not exist; set createIfMissing: true to have it made",
		"p.yaml:8:5: writeRules[3].path is missing",
		"p.yaml:10:19: commands[0].exec: /none does not exist",
		"p.yaml:10:65: commands[0].args.patterns[0].value is no pattern of RE2: missing closing ): `(`",
		`p.yaml:11:10: commands[1].id: "a" is taken (on line 10)`,
		`p.yaml:11:19: commands[1].exec must be an absolute path or a bare name, not "bin/x"`,
		`p.yaml:11:41: commands[1].envAllowlist[0] must be a name of letters, digits and underscores that begins with no digit, not "A-B"`,
		"p.yaml:11:91: /none does not exist; end it with ? if it may be missing",
		`p.yaml:12:35: commands[2].platform[0] must be one of linux, macos, windows, not "darwin"`,
		"p.yaml:13:47: commands[3].cwd: /none does not exist",
		`p.yaml:13:70: commands[3].sandbox.mode must be one of read-only, workspace-write, danger-full-access, external, not "x"`,
		`p.yaml:15:26: profiles[0].commands[0] must be 1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit, not ".x"`,
		`p.yaml:15:33: profiles[0].commands[2]: there is no command "b"`,
		"p.yaml:16:17: logging.file: D:/x is a path of another system",
		`p.yaml:16:32: logging.level must be one of trace, debug, info, warn, error, not "loud"`,
		`p.yaml:17:1: unknown field "nonsense"`,
	)
	wantProblems(t, load(standard().host(), "version: 1\nallowedRoots: [~/none, ~/code]\nwriteRules: [{path: /etc}, {path: rel}]\n"),
		"p.yaml:2:16: allowedRoots[0]: ~/none (/home/ann/none) does not exist",
		"p.yaml:3:21: writeRules[0].path: /etc lies in no allowed root",
		`p.yaml:3:35: writeRules[1].path must be an absolute path, or begin with ~/, not "rel"`,
	)
}

func TestWithoutAHomeTheTildeStandsForNothing(t *testing.T) {
	h := standard().host()
	h.Home = ""
	wantProblems(t, load(h, home), "p.yaml:2:16: allowedRoots[0]: ~/code: there is no home directory here")
}

func TestRootsArePhysical(t *testing.T) {
	p := compile(t, "version: 1\nallowedRoots: [~/link, '~', /w]\nallowRootFilesystem: true\n")
	want := []mcppolicy.Root{
		{Written: "~/link", Path: "/srv/data", Where: durward.Position{File: "p.yaml", Line: 2, Column: 16}},
		{Written: "~", Path: "/home/ann", Where: durward.Position{File: "p.yaml", Line: 2, Column: 24}},
		{Written: "/w", Path: "/w", Where: durward.Position{File: "p.yaml", Line: 2, Column: 29}},
	}
	if diff := cmp.Diff(want, p.Roots); diff != "" {
		t.Error(diff)
	}
	if p := compile(t, "version: 1\nallowedRoots: [/]\nallowRootFilesystem: true\n"); p.Roots[0].Path != "/" {
		t.Errorf("got %+v", p.Roots)
	}
}

func TestWriteRulesMayBeMissing(t *testing.T) {
	p := compile(t, home+"writeRules: [{path: ~/code/a/b, createIfMissing: true, recursive: true, maxFileBytes: 7}, {path: /home/ann/code}]\n")
	want := []mcppolicy.WriteRule{
		{Written: "~/code/a/b", Path: "/home/ann/code/a/b", Recursive: true, MaxFileBytes: 7, CreateIfMissing: true, Where: durward.Position{File: "p.yaml", Line: 3, Column: 14}},
		{Written: "/home/ann/code", Path: "/home/ann/code", MaxFileBytes: 10_000_000, Where: durward.Position{File: "p.yaml", Line: 3, Column: 91}},
	}
	if diff := cmp.Diff(want, p.WriteRules); diff != "" {
		t.Error(diff)
	}
}

func TestProgramsAreLookedUpOnce(t *testing.T) {
	there := standard()
	there["/opt"], there["/opt/git"] = dir(), link("/usr/bin/git")
	p := compileOn(t, there.host(), home+"commands: [{id: sh, exec: sh}, {id: a, exec: /opt/git, cwdPolicy: fixed}, {id: b, exec: git, cwdPolicy: fixed, cwd: ~/link}]\n")
	for id, want := range map[string][3]string{
		"sh": {"/usr/bin/sh", "/usr/bin/dash", ""},
		"a":  {"/opt/git", "/usr/bin/git", "/opt"},
		"b":  {"/usr/bin/git", "/usr/bin/git", "/srv/data"},
	} {
		if c := command(t, p, id); c.Exec != want[0] || c.Physical != want[1] || c.Dir != want[2] {
			t.Errorf("%s: got %s, %s, %s", id, c.Exec, c.Physical, c.Dir)
		}
	}
}

func TestCommandsOfOtherPlatformsAreNotLookedAt(t *testing.T) {
	text := home + "commands: [{id: dir, exec: 'C:/Windows/cmd.exe', platform: [windows]}, {id: open, exec: /usr/bin/git, platform: [macos]}, {id: ls, exec: ls, platform: [linux]}, {id: git, exec: git}]\n"
	h := standard().host()
	for goos, want := range map[string][]string{"linux": {"git", "ls"}, "darwin": {"git", "open"}} {
		h.GOOS = goos
		var ids []string
		for _, c := range compileOn(t, h, text).Commands {
			ids = append(ids, c.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s: %s", goos, diff)
		}
	}
	_, err := compile(t, text).Command("dir")
	if durward.ReasonOf(err) != durward.CommandUnknown || durward.KindOf(err) != durward.Denied {
		t.Errorf("got %v", err)
	}
}

func TestWindows(t *testing.T) {
	there := tree{}
	h := there.host()
	h.GOOS, h.Home, h.Path, h.Extensions = "windows", "C:/Users/ann", []string{"C:/bin"}, []string{".exe"}
	h.Resolve = func(path string) (string, error) { return path, nil }
	h.Stat = func(path string) (mode fileMode, err error) {
		if path == "C:/bin/rg.exe" {
			return 0, nil
		}
		return dir().mode, nil
	}
	p := compileOn(t, h, "version: 1\nallowedRoots: [/srv, '\\\\server\\share', ~/code, 'd:/x']\ncommands: [{id: rg, exec: rg, platform: [windows]}]\n")
	if len(p.Roots) != 3 || p.Roots[1].Path != "C:/Users/ann/code" || len(p.Warnings) != 1 {
		t.Errorf("got %+v, warned of %v", p.Roots, p.Warnings)
	}
	if c := command(t, p, "rg"); c.Exec != "C:/bin/rg.exe" {
		t.Errorf("got %s", c.Exec)
	}
}

// What a sandbox keeps from being changed in what it lets be written may be a program.
func TestProgramsThatASandboxKeeps(t *testing.T) {
	for _, files := range []string{
		"write: [~/code], read: [~/code/scratch]", "write: [~/code], protect: [~/code/scratch/tool]", "write: [~/code], read: [/usr], deny: [~/code/scratch]",
		"write: [~/code/project]",
	} {
		p := compile(t, home+"commands: [{id: a, exec: /home/ann/code/scratch/tool}, {id: b, exec: git, sandbox: {mode: workspace-write, filesystem: {"+files+"}}}]\n")
		if got := command(t, p, "a").Exec; got != "/home/ann/code/scratch/tool" {
			t.Errorf("%s: the program is %s", files, got)
		}
	}
}

// A directory that ".." leaves again could be exchanged for a link, and the policy read anew be another.
func TestNoWayToThePolicyLeadsThroughAWriteZone(t *testing.T) {
	there := standard()
	there["/home/ann/code/scratch/sub"], there["/home/ann/code/scratch/sub/deep"] = dir(), dir()
	for _, way := range []string{"scratch/sub/../p.yaml", "scratch/sub/../../p.yaml", "scratch/sub/deep/../../../p.yaml", "scratch/../p.yaml", "p.yaml", "scratch/sub/p.yaml", "project/../scratch/p.yaml"} {
		h := there.host()
		h.File, h.Named = "/home/ann/code/p.yaml", "/home/ann/code/"+way
		err := load(h, home+"writeRules: [{path: ~/code/scratch, recursive: true}]\n")
		if place := map[string]string{"scratch/sub/../p.yaml": "sub", "scratch/sub/../../p.yaml": "sub", "scratch/sub/deep/../../../p.yaml": "sub"}[way]; place != "" {
			wantProblems(t, err, `p.yaml:3:14: files may be written in /home/ann/code/scratch, and so may /home/ann/code/scratch/`+place+`, which the way to this policy leaves by ".."; name the policy by the file itself`)
		} else if err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// Whoever may write a place on the way to a program chooses what is run: each link of a
// chain counts, and each directory that a path goes through.
func TestNoLinkOfAProgramLiesInAWriteZone(t *testing.T) {
	there := standard()
	for path, n := range map[string]node{
		"/home/ann/code/scratch/mid": link("/usr/bin/git"), "/opt/l1": link("l2"), "/opt/l2": link("/home/ann/code/scratch/mid"),
		"/home/ann/code/scratch/bin": link("/usr/bin"), "/opt/alias": link("/home/ann/code/scratch"), "/opt/dir": link("alias/bin"),
		"/home/ann/code/scratch/sub": dir(), "/home/ann/code/project/git": program(), "/opt/near": link("/home/ann/code/project/git"),
		"/opt": dir(), "/opt/up": link("up2/git"), "/opt/up2": link("/usr/bin"),
	} {
		there[path] = n
	}
	for exec, place := range map[string]string{
		"/opt/l1":                          "/home/ann/code/scratch/mid",
		"/opt/l2":                          "/home/ann/code/scratch/mid",
		"/opt/alias/out":                   "/home/ann/code/scratch/out",
		"/opt/dir/git":                     "/home/ann/code/scratch/bin",
		"/opt/alias/tool":                  "/home/ann/code/scratch/tool",
		"/opt/near":                        "",
		"/opt/alias/sub/../../project/git": "/home/ann/code/scratch/sub",
		"/opt/up":                          "",
		"/bin/git":                         "",
	} {
		err := load(there.host(), home+"writeRules: [{path: ~/code/scratch}]\ncommands: [{id: a, exec: "+exec+"}]\n")
		if place != "" {
			wantProblems(t, err, "p.yaml:4:26: commands[0].exec: "+exec+" leads to "+place+", which lies where the write rule at p.yaml:3:14 lets files be written")
		} else if err != nil {
			t.Errorf("%s: %v", exec, err)
		}
	}
	wantProblems(t, load(there.host(), home+"writeRules: [{path: ~/code/scratch}]\nlogging: {file: /opt/dir/log}\n"),
		"p.yaml:4:17: logging.file: /opt/dir/log leads to /home/ann/code/scratch/bin, which lies where the write rule at p.yaml:3:14 lets files be written")
}

// Who may change a link on the way to the policy chooses another one.
func TestNoLinkToThePolicyLiesInAWriteZone(t *testing.T) {
	there := standard()
	for path, n := range map[string]node{
		"/opt": dir(), "/opt/p.yaml": file(), "/opt/in": link("/home/ann/code/scratch/p.yaml"), "/home/ann/code/scratch/p.yaml": link("/opt/p.yaml"),
		"/home/ann/code/scratch/dir": link("/opt"), "/home/ann/code/scratch/own.yaml": file(), "/opt/own": link("/home/ann/code/scratch/own.yaml"),
	} {
		there[path] = n
	}
	const refused = "p.yaml:3:14: files may be written in /home/ann/code/scratch, and so may /home/ann/code/scratch/%s, a link that leads to this policy; name the policy by the file itself"
	for named, link := range map[string]string{
		"": "", "/opt/p.yaml": "", "/home/ann/code/scratch/own.yaml": "", "/opt/own": "",
		"/home/ann/code/scratch/p.yaml": "p.yaml", "/opt/in": "p.yaml", "/home/ann/code/scratch/dir/p.yaml": "dir",
	} {
		h := there.host()
		h.Named = named
		err := load(h, home+"writeRules: [{path: ~/code/scratch}]\n")
		if link != "" {
			wantProblems(t, err, fmt.Sprintf(refused, link))
		} else if err != nil {
			t.Errorf("%s: %v", named, err)
		}
		err = load(h, home+"commands: [{id: a, exec: git, sandbox: {mode: workspace-write, filesystem: {write: [~/code/scratch]}}}]\n")
		if link != "" {
			wantProblems(t, err, strings.Replace(fmt.Sprintf(refused, link), "3:14", "3:40", 1))
		} else if err != nil {
			t.Errorf("%s: %v", named, err)
		}
	}
}

func TestCaseDoesNotHideAProgramFromAWriteRule(t *testing.T) {
	there := standard()
	there["/home/ann/code/SCRATCH/tool"] = program()
	there["/home/ann/code/SCRATCH"] = dir()
	h := there.host()
	text := home + "writeRules: [{path: ~/code/scratch}]\ncommands: [{id: a, exec: /home/ann/code/SCRATCH/tool}]\n"
	if err := load(h, text); err != nil {
		t.Error(err)
	}
	if h.GOOS = "darwin"; load(h, text) == nil {
		t.Error("another spelling of a directory is taken for another one")
	}
}

func TestAFileThatOthersMayWrite(t *testing.T) {
	doc, h := parse(t, base), standard().host()
	const want = "p.yaml: others than its owner may write this file; chmod go-w p.yaml"
	for _, mode := range []fileMode{0o620, 0o602, 0o666} {
		h.Mode = mode
		p, err := mcppolicy.Compile(doc, h, mcppolicy.Options{})
		if err != nil || len(p.Warnings) != 1 || p.Warnings[0].Error() != want {
			t.Errorf("%o: got %v, %v", mode, p, err)
		}
		_, err = mcppolicy.Compile(doc, h, mcppolicy.Options{Strict: true})
		wantProblems(t, err, want)
	}
	h.Mode = 0o644
	if _, err := mcppolicy.Compile(doc, h, mcppolicy.Options{Strict: true}); err != nil {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	p := compile(t, "version: 1\nallowedRoots: ['C:/x', /w]\ncommands: [{id: a, exec: git, envAllowlist: [A, NODE_OPTIONS, bash_env]}, {id: b, exec: x, platform: [windows], envAllowlist: [ENV]}]\n")
	want := config.Problems{
		{Where: durward.Position{File: "p.yaml", Line: 2, Column: 16}, Message: "allowedRoots[0]: C:/x is a path of another system and is skipped"},
		{Where: durward.Position{File: "p.yaml", Line: 3, Column: 49}, Message: "commands[0].envAllowlist[1]: whoever sets NODE_OPTIONS can make a program run something else"},
		{Where: durward.Position{File: "p.yaml", Line: 3, Column: 63}, Message: "commands[0].envAllowlist[2]: whoever sets bash_env can make a program run something else"},
		{Where: durward.Position{File: "p.yaml", Line: 3, Column: 128}, Message: "commands[1].envAllowlist[0]: whoever sets ENV can make a program run something else"},
	}
	if diff := cmp.Diff(want, p.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestProfilesNarrow(t *testing.T) {
	whole := compile(t, home+`writeRules: [{path: ~/code/scratch}]
commands: [{id: a, exec: git}, {id: b, exec: git}]
limits: {maxReadBytes: 100, maxCmdConcurrency: 9}
profiles:
  - {name: reader, commands: [b], limits: {maxReadBytes: 7}}
  - {name: writer, commands: [], writeRules: same}
`)
	reader, err := whole.Narrow("reader")
	if err != nil {
		t.Fatal(err)
	}
	limits := reader.Document.Limits
	if len(reader.Commands) != 1 || reader.Commands[0].ID != "b" || len(reader.WriteRules) != 0 || limits.MaxReadBytes.Value != 7 || limits.MaxCmdConcurrency.Value != 9 {
		t.Errorf("got %+v", reader)
	}
	if reader.Profile != "reader" || reader.Hash != whole.Hash {
		t.Errorf("got %q, %s", reader.Profile, reader.Hash)
	}
	writer, err := whole.Narrow("writer")
	if err != nil || len(writer.Commands) != 0 || len(writer.WriteRules) != 1 {
		t.Errorf("got %+v, %v", writer, err)
	}
	if len(whole.Commands) != 2 || len(whole.WriteRules) != 1 || whole.Document.Limits.MaxReadBytes.Value != 100 {
		t.Error("the whole policy has changed")
	}
	if _, err := whole.Narrow("none"); durward.ReasonOf(err) != durward.PolicyInvalid {
		t.Errorf("got %v", err)
	}
}
