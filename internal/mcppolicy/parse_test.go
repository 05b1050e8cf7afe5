//go:build unix

package mcppolicy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/mcppolicy"
)

const (
	base = "version: 1\nallowedRoots: [/w]\n"
	// The third line of a document begins with it, up to column 34.
	gitEntry = base + "commands: [{id: git, exec: git, "
)

func TestDefaultsAreFilledIn(t *testing.T) {
	doc := parse(t, base+"writeRules: [{path: /w}]\ncommands: [{id: a, exec: git}]\n")
	rule, cmd := doc.WriteRules[0], doc.Commands[0]
	for name, ok := range map[string]bool{
		"denyNetworkFS":              doc.DenyNetworkFS.Value,
		"recursive":                  !rule.Recursive.Value,
		"maxFileBytes":               rule.MaxFileBytes.Value == 10_000_000,
		"createIfMissing":            !rule.CreateIfMissing.Value,
		"args.any":                   !cmd.Args.Any.Value,
		"args.allowMetacharacters":   !cmd.Args.AllowMetacharacters.Value,
		"args.pathScope":             cmd.Args.PathScope.Value == "roots",
		"cwdPolicy":                  cmd.CwdPolicy.Value == "withinRoot",
		"timeoutMs":                  cmd.TimeoutMs.Value == 30_000,
		"maxOutputBytes":             cmd.MaxOutputBytes.Value == 1_000_000,
		"platform":                   len(cmd.Platform.Value) == 0,
		"logging.level":              doc.Logging.Level.Value == "info",
		"logging.file":               doc.Logging.File.Value == "",
		"logging.redact":             len(doc.Logging.Redact.Value) == 1 && doc.Logging.Redact.Value[0].Value == "env",
		"logging.maxBytes":           doc.Logging.MaxBytes.Value == 10_000_000,
		"logging.keep":               doc.Logging.Keep.Value == 10,
		"limits.maxReadBytes":        doc.Limits.MaxReadBytes.Value == 5_000_000,
		"limits.maxCmdConcurrency":   doc.Limits.MaxCmdConcurrency.Value == 2,
		"limits.maxAddressSpace":     doc.Limits.MaxAddressSpaceBytes.Value == 0,
		"denyHardLinks":              !doc.DenyHardLinks.Value,
		"allowRootFilesystem":        !doc.AllowRootFilesystem.Value,
		"strictVirtual":              !doc.StrictVirtual.Value,
		"outputRetention":            doc.OutputRetention.Value == "head",
		"sandbox":                    doc.Sandbox.Document == nil && cmd.Sandbox.Document == nil,
		"no place where not written": doc.DenyNetworkFS.Where == durward.Position{} && doc.Logging.Where == durward.Position{},
	} {
		if !ok {
			t.Errorf("%s has another default", name)
		}
	}
}

func TestEveryMemberKeepsItsPlace(t *testing.T) {
	doc := parse(t, "# first\nversion: 1\nallowed_roots:\n  - /w\nlogging:\n  level: warn\ncommands:\n  - id: a\n    exec: git\n    args:\n      allow: [x]\n      patterns:\n        - {type: regex, value: y}\n    env: {A: b}\n")
	cmd := doc.Commands[0]
	for want, got := range map[string]durward.Position{
		"p.yaml:2:1":   doc.Where,
		"p.yaml:2:10":  doc.Version.Where,
		"p.yaml:4:3":   doc.AllowedRoots.Where,
		"p.yaml:4:5":   doc.AllowedRoots.Value[0].Where,
		"p.yaml:6:3":   doc.Logging.Where,
		"p.yaml:6:10":  doc.Logging.Level.Where,
		"p.yaml:8:5":   cmd.Where,
		"p.yaml:9:11":  cmd.Exec.Where,
		"p.yaml:11:7":  cmd.Args.Where,
		"p.yaml:11:14": cmd.Args.Allow.Where,
		"p.yaml:13:11": cmd.Args.Patterns[0].Where,
		"p.yaml:13:32": cmd.Args.Patterns[0].Value.Where,
		"p.yaml:14:11": cmd.Env["A"].Where,
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Each row is a document with one mistake, and what is said about it.
func TestMistakesOfEveryField(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "p.yaml:1:1: the document must be a mapping, not empty"},
		{"[]", "p.yaml:1:1: the document must be a mapping, not a list"},
		{"allowedRoots: [/w]", "p.yaml:1:1: version is missing"},
		{"version: 2\nallowedRoots: [/w]", "p.yaml:1:10: version must be 1, not 2"},
		{"version: '1'\nallowedRoots: [/w]", "p.yaml:1:10: version must be an integer, not a string"},
		{"version: 1", "p.yaml:1:1: allowedRoots is missing"},
		{"version: 1\nallowedRoots: []", "p.yaml:2:15: allowedRoots must have an entry"},
		{"version: 1\nallowedRoots: /w", "p.yaml:2:15: allowedRoots must be a list, not a string"},
		{"version: 1\nallowedRoots: [src]", `p.yaml:2:16: allowedRoots[0] must be an absolute path, or begin with ~/, not "src"`},
		{"version: 1\nallowedRoots: [~bob/x]", `p.yaml:2:16: allowedRoots[0] must be an absolute path, or begin with ~/, not "~bob/x"`},
		{"version: 1\nallowedRoots: [~]", `p.yaml:2:16: allowedRoots[0] must be a string; put it in quotes: "~"`},
		{"version: 1\nallowedRoots: [\"/w\\0\"]", "p.yaml:2:16: allowedRoots[0] holds a NUL byte"},
		{base + "denyNetworkFS: 'no'", "p.yaml:3:16: denyNetworkFS must be a boolean, not a string"},
		{base + "denyNetworkFs: true", `p.yaml:3:1: unknown field "denyNetworkFs" (did you mean "denyNetworkFS"?)`},
		{base + "allowed_roots: [/w]", `p.yaml:3:1: "allowed_roots" and "allowedRoots" are one field (first on line 2); keep one`},
		{base + "version: 1", `p.yaml:3:1: duplicate field "version" (first on line 1)`},
		{base + "comands: []", `p.yaml:3:1: unknown field "comands" (did you mean "commands"?)`},
		{base + "denyHardLinks: &a true", "p.yaml:3:16: the anchor &a is not accepted"},
		{base + "writeRules: !mine []", "p.yaml:3:13: the tag !mine is not accepted"},
		{base + "---\nversion: 1", "p.yaml:3:1: a second document begins here; there may be only one"},
		{base + "allowRootFilesystem: 1", "p.yaml:3:22: allowRootFilesystem must be a boolean, not an integer"},
		{base + "strictVirtual: [x]", "p.yaml:3:16: strictVirtual must be a boolean, not a list"},
		{base + "outputRetention: both", `p.yaml:3:18: outputRetention must be one of head, tail, not "both"`},

		{base + "writeRules: {}", "p.yaml:3:13: writeRules must be a list, not a mapping"},
		{base + "writeRules: [/w]", "p.yaml:3:14: writeRules[0] must be a mapping, not a string"},
		{base + "writeRules: [{}]", "p.yaml:3:14: writeRules[0].path is missing"},
		{base + "writeRules: [{path: x}]", `p.yaml:3:21: writeRules[0].path must be an absolute path, or begin with ~/, not "x"`},
		{base + "writeRules: [{path: /w, recursive: 1}]", "p.yaml:3:36: writeRules[0].recursive must be a boolean, not an integer"},
		{base + "writeRules: [{path: /w, maxFileBytes: 0}]", "p.yaml:3:39: writeRules[0].maxFileBytes must be between 1 and 1099511627776, not 0"},
		{base + "writeRules: [{path: /w, maxFileBytes: 1_099_511_627_777}]", "p.yaml:3:39: writeRules[0].maxFileBytes must be between 1 and 1099511627776, not 1_099_511_627_777"},
		{base + "writeRules: [{path: /w, create: true}]", `p.yaml:3:25: unknown field "create"`},

		{base + "commands: [{exec: git}]", "p.yaml:3:12: commands[0].id is missing"},
		{base + "commands: [{id: git}]", "p.yaml:3:12: commands[0].exec is missing"},
		{base + "commands: [{id: .git, exec: git}]", `p.yaml:3:17: commands[0].id must be 1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit, not ".git"`},
		{base + "commands: [{id: 7, exec: git}]", `p.yaml:3:17: commands[0].id must be a string, not an integer; put it in quotes: "7"`},
		{base + "commands: [{id: a, exec: git}, {id: a, exec: git, platform: [windows]}]", `p.yaml:3:37: commands[1].id: "a" is taken (on line 3)`},
		{base + "commands: [{id: a, exec: bin/git}]", `p.yaml:3:26: commands[0].exec must be an absolute path or a bare name, not "bin/git"`},
		{base + "commands: [{id: a, exec: ~/git}]", `p.yaml:3:26: commands[0].exec must be an absolute path or a bare name, not "~/git"`},
		{base + "commands: [{id: a, exec: ''}]", `p.yaml:3:26: commands[0].exec must be an absolute path or a bare name, not ""`},
		{gitEntry + "description: [x]}]", "p.yaml:3:46: commands[0].description must be a string, not a list"},
		{gitEntry + "args: [x]}]", "p.yaml:3:39: commands[0].args must be a mapping, not a list"},
		{gitEntry + "args: {allow: [1]}}]", `p.yaml:3:48: commands[0].args.allow[0] must be a string, not an integer; put it in quotes: "1"`},
		{gitEntry + `args: {allow: ["a\0"]}}]`, "p.yaml:3:48: commands[0].args.allow[0] holds a NUL byte"},
		{gitEntry + `args: {fixed: [b, "\0"]}}]`, "p.yaml:3:51: commands[0].args.fixed[1] holds a NUL byte"},
		{gitEntry + "args: {patterns: [x]}}]", "p.yaml:3:51: commands[0].args.patterns[0] must be a mapping, not a string"},
		{gitEntry + "args: {patterns: [{value: x}]}}]", "p.yaml:3:51: commands[0].args.patterns[0].type is missing"},
		{gitEntry + "args: {patterns: [{type: glob, value: x}]}}]", `p.yaml:3:58: commands[0].args.patterns[0].type must be one of regex, not "glob"`},
		{gitEntry + "args: {patterns: [{type: regex, value: '('}]}}]", "p.yaml:3:72: commands[0].args.patterns[0].value is no pattern of RE2: missing closing ): `(`"},
		{gitEntry + "args: {patterns: [{type: regex, value: 'a)(b'}]}}]", "p.yaml:3:72: commands[0].args.patterns[0].value is no pattern of RE2: unexpected ): `a)(b`"},
		{gitEntry + `args: {patterns: [{type: regex, value: '(?=a)'}]}}]`, "p.yaml:3:72: commands[0].args.patterns[0].value is no pattern of RE2: invalid or unsupported Perl syntax: `(?=`"},
		{gitEntry + "args: {patterns: [{type: regex, value: " + strings.Repeat("a", 1001) + "}]}}]", "p.yaml:3:72: commands[0].args.patterns[0].value has 1001 bytes, more than 1000"},
		{gitEntry + "args: {any: maybe}}]", "p.yaml:3:45: commands[0].args.any must be a boolean, not a string"},
		{gitEntry + "args: {allow_any_args: true}}]", `p.yaml:3:40: unknown field "allow_any_args"`},
		{gitEntry + "args: {pathScope: cwd}}]", `p.yaml:3:51: commands[0].args.pathScope must be one of roots, none, not "cwd"`},
		{gitEntry + "cwdPolicy: within}]", `p.yaml:3:44: commands[0].cwdPolicy must be one of withinRoot, fixed, none, not "within"`},
		{gitEntry + "cwd: /w}]", "p.yaml:3:38: commands[0].cwd has no effect without cwdPolicy: fixed"},
		{gitEntry + "cwdPolicy: fixed, cwd: w}]", `p.yaml:3:56: commands[0].cwd must be an absolute path, or begin with ~/, not "w"`},
		{gitEntry + "envAllowlist: [A-B]}]", `p.yaml:3:48: commands[0].envAllowlist[0] must be a name of letters, digits and underscores that begins with no digit, not "A-B"`},
		{gitEntry + "envAllowlist: [A, LD_PRELOAD]}]", `p.yaml:3:51: commands[0].envAllowlist[1] names "LD_PRELOAD", by which a program can be made to load other code; no policy may allow that`},
		{gitEntry + "envAllowlist: [dyld_x]}]", `p.yaml:3:48: commands[0].envAllowlist[0] names "dyld_x", by which a program can be made to load other code; no policy may allow that`},
		{gitEntry + "env: [A]}]", "p.yaml:3:38: commands[0].env must be a mapping, not a list"},
		{gitEntry + "env: {1A: x}}]", `p.yaml:3:39: commands[0].env: "1A" must be a name of letters, digits and underscores that begins with no digit`},
		{gitEntry + "env: {A: 1}}]", `p.yaml:3:42: commands[0].env.A must be a string, not an integer; put it in quotes: "1"`},
		{gitEntry + `env: {A: "\0"}}]`, "p.yaml:3:42: commands[0].env.A holds a NUL byte"},
		{gitEntry + "env: {LD_AUDIT: x}}]", `p.yaml:3:39: commands[0].env names "LD_AUDIT", by which a program can be made to load other code; no policy may allow that`},
		{gitEntry + "timeoutMs: 0}]", "p.yaml:3:44: commands[0].timeoutMs must be between 1 and 3600000, not 0"},
		{gitEntry + "timeoutMs: 3_600_001}]", "p.yaml:3:44: commands[0].timeoutMs must be between 1 and 3600000, not 3_600_001"},
		{gitEntry + "timeoutMs: 1.5}]", "p.yaml:3:44: commands[0].timeoutMs must be an integer, not a number"},
		{gitEntry + "maxOutputBytes: 0}]", "p.yaml:3:49: commands[0].maxOutputBytes must be between 1 and 1073741824, not 0"},
		{gitEntry + "platform: [darwin]}]", `p.yaml:3:44: commands[0].platform[0] must be one of linux, macos, windows, not "darwin"`},
		{gitEntry + "timeoutMs: 1, timeout_ms: 1}]", `p.yaml:3:47: "timeout_ms" and "timeoutMs" are one field (first on line 3); keep one`},
		{gitEntry + "sandbox: {mode: x}}]", `p.yaml:3:49: commands[0].sandbox.mode must be one of read-only, workspace-write, danger-full-access, external, not "x"`},

		{base + "logging: {level: warning}", `p.yaml:3:18: logging.level must be one of trace, debug, info, warn, error, not "warning"`},
		{base + "logging: {file: log.jsonl}", `p.yaml:3:17: logging.file must be an absolute path, or begin with ~/, not "log.jsonl"`},
		{base + "logging: {redact: [all]}", `p.yaml:3:20: logging.redact[0] must be one of env, args, path, cwd, stdin, not "all"`},
		{base + "logging: {maxBytes: 0}", "p.yaml:3:21: logging.maxBytes must be between 1 and 1099511627776, not 0"},
		{base + "logging: {keep: 0}", "p.yaml:3:17: logging.keep must be between 1 and 10000, not 0"},
		{base + "limits: {maxReadBytes: 1073741825}", "p.yaml:3:24: limits.maxReadBytes must be between 1 and 1073741824, not 1073741825"},
		{base + "limits: {maxCmdConcurrency: 257}", "p.yaml:3:29: limits.maxCmdConcurrency must be between 1 and 256, not 257"},
		{base + "limits: {maxAddressSpaceBytes: 0}", "p.yaml:3:32: limits.maxAddressSpaceBytes must be between 1 and 9007199254740991, not 0"},
		{base + "sandbox: {level: 9}", "p.yaml:3:18: sandbox.level must be between 0 and 4, not 9"},

		{base + "profiles: [{name: p}]", "p.yaml:3:12: profiles[0].commands is missing"},
		{base + "profiles: [{commands: []}]", "p.yaml:3:12: profiles[0].name is missing"},
		{base + "profiles: [{name: p, commands: [git]}]", `p.yaml:3:33: profiles[0].commands[0]: there is no command "git"`},
		{base + "profiles: [{name: p, commands: []}, {name: p, commands: []}]", `p.yaml:3:44: profiles[1].name: "p" is taken (on line 3)`},
		{base + "profiles: [{name: p, commands: [], writeRules: all}]", `p.yaml:3:48: profiles[0].writeRules must be one of none, same, not "all"`},
		{base + "profiles: [{name: p, commands: [], limits: {maxCmdConcurrency: 3}}]", "p.yaml:3:64: profiles[0].limits.maxCmdConcurrency is above the 2 of the policy; a profile can only narrow"},
	} {
		t.Run(test.text, func(t *testing.T) { wantProblems(t, load(standard().host(), test.text), test.want) })
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	wantProblems(t, load(standard().host(), `
version: 3
alowed_roots: ["~/code"]
write_rules:
  - {path: code, recursive: "yes"}
commands:
  - id: a
    exec: git
    args: {patterns: [{type: regex, value: "["}], patern: []}
    sandbox: {mode: off, limits: {pids: 0}}
  - id: a
    timeoutMs: 1_0_0
`),
		"p.yaml:2:1: allowedRoots is missing",
		"p.yaml:2:10: version must be 1, not 3",
		`p.yaml:3:1: unknown field "alowed_roots" (did you mean "allowed_roots"?)`,
		`p.yaml:5:12: write_rules[0].path must be an absolute path, or begin with ~/, not "code"`,
		"p.yaml:5:29: write_rules[0].recursive must be a boolean, not a string",
		"p.yaml:9:44: commands[0].args.patterns[0].value is no pattern of RE2: missing closing ]: `[`",
		`p.yaml:9:51: unknown field "patern" (did you mean "patterns"?)`,
		`p.yaml:10:21: commands[0].sandbox.mode must be one of read-only, workspace-write, danger-full-access, external, not "off"`,
		"p.yaml:10:41: commands[0].sandbox.limits.pids must be between 1 and 9007199254740991, not 0",
		"p.yaml:11:5: commands[1].exec is missing",
		`p.yaml:11:9: commands[1].id: "a" is taken (on line 7)`,
	)
}

func TestTheFileIsAtMostAMebibyte(t *testing.T) {
	wantProblems(t, load(standard().host(), base+strings.Repeat("#", config.MaxBytes)), "p.yaml: the document is over 1048576 bytes")
}

func TestVeryLongPolicies(t *testing.T) {
	text := base + "commands:\n" + strings.Repeat("- {}\n", 20_000)
	if err := load(standard().host(), text); len(config.ProblemsOf(err)) != 100 {
		t.Errorf("%d mistakes are told", len(config.ProblemsOf(err)))
	}
	var many strings.Builder
	many.WriteString(base + "writeRules:\n")
	for range 70_000 {
		many.WriteString("- path: /w\n")
	}
	if err := load(standard().host(), many.String()); err == nil || !strings.HasPrefix(err.Error(), "p.yaml:1:1: the policy is too large: ") {
		t.Errorf("got %v", err)
	}
}

func TestTheSeedsExampleLoads(t *testing.T) {
	text, err := os.ReadFile("../../examples/policy.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := compile(t, string(text))
	var ids []string
	for _, c := range p.Commands {
		ids = append(ids, c.ID+" "+c.Exec)
	}
	if diff := cmp.Diff([]string{"git /usr/bin/git", "ls /bin/ls", "rg /usr/bin/rg"}, ids); diff != "" {
		t.Error(diff)
	}
	if len(p.Roots) != 1 || p.Roots[0].Path != "/home/ann/code" || p.LogFile != "/home/ann/.mcp/mdmcpsrvr.log.jsonl" {
		t.Errorf("got %+v, %s", p.Roots, p.LogFile)
	}
	if len(p.Warnings) != 1 || !strings.HasSuffix(p.Warnings[0].Error(), "allowedRoots[1]: C:/Users/martin/Projects is a path of another system and is skipped") {
		t.Errorf("warned of %v", p.Warnings)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(gitEntry + "args: {patterns: [{type: regex, value: '^(-a|-b)'}], any: true}, env: {A: b}, cwdPolicy: fixed, cwd: /w}]\nprofiles: [{name: p, commands: [git]}]\n"))
	f.Add([]byte(base + "sandbox: {limits: {pids: 0x10}, require: [mem!]}\nlogging: {redact: []}\nlimits: {maxReadBytes: 1_0}\n"))
	f.Add([]byte(`{"version": 1, "allowed_roots": ["~", "C:\\x", "\\\\s\\t"], "write_rules": [{"path": "/w/../x", "create_if_missing": true}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := mcppolicy.Parse("p.yaml", data)
		if err == nil {
			again, _ := mcppolicy.Parse("p.yaml", append([]byte("# again\n"), data...))
			if again != nil && again.Hash() != doc.Hash() {
				t.Errorf("a comment changes the hash of %q", data)
			}
		}
		found := config.ProblemsOf(err)
		if doc != nil {
			_, err = mcppolicy.Compile(doc, standard().host(), mcppolicy.Options{})
		}
		for _, p := range found {
			if all := config.ProblemsOf(err); len(all) < 100 && !slices.Contains(all, p) {
				t.Errorf("a mistake is lost: %v", p)
			}
		}
		if err == nil {
			return
		}
		if durward.ReasonOf(err) != durward.PolicyInvalid || len(config.ProblemsOf(err)) == 0 {
			t.Fatalf("got %v", err)
		}
		for _, p := range config.ProblemsOf(err) {
			if p.Message == "" || len(data) <= config.MaxBytes && (p.Where.File == "" || p.Where.Line < 1) {
				t.Errorf("no place or message: %v", p)
			}
		}
	})
}
