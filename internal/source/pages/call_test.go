package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func spec(t *testing.T, line string) ToolSpec {
	t.Helper()
	f, err := ParseFrontmatter("p.md", []byte(yamlPage("tools:", "  - "+line)))
	if err != nil {
		t.Fatal(err)
	}
	return f.Tools[0]
}

func TestGuard(t *testing.T) {
	s := spec(t, `[grep, {}, ../data, {regex: "^/srv/[a-z]+$"}, {regex: "x"}]`)
	with := func(i int, word string) []string {
		command := []string{"grep", "w", "../data", "/srv/a", "x"}
		if i == len(command) {
			return append(command, word)
		}
		command[i] = word
		return command
	}
	for word, refused := range map[string]bool{
		"/etc/passwd": true, "~": true, "~root/x": true, "~/x": true, `C:\x`: true, "c:/x": true, `\\host\share`: true,
		"..": true, "../x": true, "a/../b": true, "a/..": true, `a\..\b`: true,
		"--file=/etc/passwd": true, "--file=../x": true, "-o=~/x": true, "-f/etc/passwd": true, "-I../x": true, "-Ia/../x": true,
		"file:///etc/passwd": true, "--url=file:///etc/passwd": true, "-x=a=/b": false,
		"": false, "a": false, "a..b": false, "HEAD~2..HEAD": false, "...": false, "a/b": false, "./a": false, "-la": false, "-": false, "--": false,
		"https://example.org/../x": false, "s3://bucket/x": false, "--url=http://x/../y": true, "--url=http://x/y": false, "a/...": false, "--depth=2": false, "-n5": false, "x~": false,
	} {
		for _, i := range []int{1, 4, 5} {
			if err := s.guard(with(i, word), false); (err != nil) != refused || err != nil && durward.ReasonOf(err) != durward.ArgDenied {
				t.Errorf("%q at %d: %v; want refused: %t", word, i, err, refused)
			}
		}
	}
	if err := s.guard(with(3, "/srv/b"), false); err != nil {
		t.Errorf("what an anchored pattern allows is refused: %v", err)
	}
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "1", "DB": "no", "DB_NAME": "$A", "_x": "u"}
	for text, want := range map[string]string{
		"": "", "$A": "1", "$A$A": "11", "x$A.y": "x1.y", "$DB_NAME": "$A", "$DB-": "no-", "$NONE": "$NONE", "$": "$", "$$A": "$1",
		"${A}": "${A}", "$1": "$1", "$_x": "u", "a$": "a$", "é$Aé": "é1é", "Bearer $A": "Bearer 1",
	} {
		if got := Expand(text, vars); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

// A caller never has a variable of the server expanded: only the author's own literals
// are.
func TestOnlyLiteralsExpand(t *testing.T) {
	page := &Page{Dir: "/", vars: map[string]string{"SECRET": "s", "MINE": "server"}}
	page.frontmatter, page.refused = ParseFrontmatter("p.md", []byte(yamlPage(`tools: [[echo, $SECRET, {}, {regex: "^.SE"}, "${SECRET}", $THEIRS, $MINE]]`)))
	call := durward.Call{
		Argv: []string{"echo", "$SECRET", "$SECRET", "$SECRET", "${SECRET}", "$THEIRS", "$MINE", "$SECRET"},
		Env:  map[string]string{"THEIRS": "$SECRET", "MINE": "caller", "LD_PRELOAD": "x"},
	}
	carried, err := page.Carry(call)
	if want := []string{"echo", "s", "$SECRET", "$SECRET", "${SECRET}", "$SECRET", "server", "$SECRET"}; err != nil || !slices.Equal(carried.Argv, want) {
		t.Errorf("got %q, %v; want %q", carried.Argv, err, want)
	}
	if call.Argv[1] != "$SECRET" {
		t.Error("the words of the call itself were changed")
	}
}

func TestRequestedVariables(t *testing.T) {
	for name, want := range map[string]string{
		"MINE": "kept", "PATH": "dropped", "HOME": "dropped", "LC_ALL": "dropped", "AWS_SECRET_ACCESS_KEY": "dropped", "LD_PRELOAD": "dropped",
		"DYLD_X": "dropped", "_LAMBDA_X": "dropped", "_HANDLER": "dropped", "STATESPACE_SCRATCH": "dropped",
		"BASH_ENV": "refused", "PYTHONPATH": "refused", "GIT_SSH_COMMAND": "refused", "http_proxy": "refused", "HTTPS_PROXY": "refused", "PGHOST": "refused",
		"TAR_OPTIONS": "refused", "MAVEN_OPTS": "refused", "MAKEFLAGS": "refused", "LUA_INIT_5_4": "refused", "XDG_CONFIG_HOME": "refused", "PSQLRC": "refused",
		"PSQL_PAGER": "refused", "SUDO_ASKPASS": "refused", "npm_config_script_shell": "refused", "OPTIONS": "kept", "GOAL": "kept", "REGION": "kept", "EDITOR_NAME": "kept",
		"NODE_OPTIONS": "refused", "IFS": "refused", "BASH_FUNC_x": "refused", "Git_Pager": "refused", "PGUSER": "kept", "PAGER2": "kept", "LANGUAGE": "kept",
	} {
		got := "kept"
		kept, err := requested(map[string]string{name: "x"}, []string{"PGUSER"})
		switch {
		case durward.ReasonOf(err) == durward.EnvDenied:
			got = "refused"
		case len(kept) == 0:
			got = "dropped"
		}
		if got != want {
			t.Errorf("%s is %s (%v); want %s", name, got, err, want)
		}
	}
}

// operator allows everything, with an environment of its own.
type operator struct{}

func (operator) Decide(c durward.Call, _ durward.Tool) durward.Decision {
	if len(c.Env) > 0 {
		return durward.Decision{Code: durward.EnvDenied, Reason: "the operator sees variables of a request"}
	}
	return durward.Decision{Allow: true, PolicyHash: "sha256:op", Grant: durward.Grant{
		Env: map[string]string{"PATH": "/op", "OP": "1", "MINE": "op"}, PrivateDir: []string{"HOME"}, Keep: durward.KeepRefuse,
	}}
}

func decide(t *testing.T, r Rules, document string, c durward.Call) durward.Decision {
	t.Helper()
	p := parse("p.md", []byte(document))
	page := &Page{Path: "p.md", Dir: "/srv", frontmatter: p.frontmatter, refused: p.refused, components: p.components, hash: p.hash, vars: r.Env}
	r.Operator = operator{}
	return r.Decide(c, durward.Tool{Spec: page})
}

func TestDecide(t *testing.T) {
	document := yamlPage("tools:", "  - [ls]", "  - [cat, {}, \";\"]", "env: [PAGER]")
	for _, test := range []struct {
		name string
		argv []string
		env  map[string]string
		code durward.Reason
		rule string
	}{
		{"the first spec", []string{"ls", "-l"}, nil, "", "tools[0]"},
		{"the second spec", []string{"cat", "x"}, map[string]string{"PAGER": "less"}, "", "tools[1]"},
		{"locked", []string{"cat", "x", "y"}, nil, durward.CommandNotAllowed, "tools"},
		{"not listed", []string{"rm", "x"}, nil, durward.CommandNotAllowed, "tools"},
		{"leads out", []string{"cat", "/etc/passwd"}, nil, durward.ArgDenied, "argument_guard"},
		{"a reserved variable", []string{"ls"}, map[string]string{"EDITOR": "x"}, durward.EnvDenied, "env.EDITOR"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := decide(t, Rules{}, document, durward.Call{Argv: test.argv, Env: test.env})
			if d.Code != test.code || d.Allow != (test.code == "") || d.Rule != test.rule {
				t.Errorf("%+v", d)
			}
			if d.Allow && (d.Where.File != "p.md" || d.Where.Line == 0 || !strings.HasPrefix(d.PolicyHash, "sha256:")) {
				t.Errorf("%+v", d)
			}
		})
	}
	for document, code := range map[string]durward.Reason{"# no": durward.NoFrontmatter, yamlPage("tools: x"): durward.BadFrontmatter} {
		if d := decide(t, Rules{}, document, durward.Call{Argv: []string{"ls"}}); d.Allow || d.Code != code {
			t.Errorf("%q: %+v", document, d)
		}
	}
	if d := decide(t, Rules{NoGuard: true}, document, durward.Call{Argv: []string{"cat", "/etc/passwd"}}); !d.Allow {
		t.Errorf("without the guard: %+v", d)
	}
}

func TestEnvironmentOfACommand(t *testing.T) {
	r := Rules{Env: map[string]string{"MINE": "server", "HOME": "/server"}}
	d := decide(t, r, yamlPage("tools: [[ls]]"), durward.Call{Argv: []string{"ls"}, Env: map[string]string{"MINE": "caller", "THEIRS": "1", "OP": "caller", "PATH": "/evil"}})
	want := map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "MINE": "server", "THEIRS": "1", "OP": "1",
	}
	if !maps.Equal(d.Grant.Env, want) || len(d.Grant.PrivateDir) > 0 {
		t.Errorf("got %v, %v", d.Grant.Env, d.Grant.PrivateDir)
	}
	r.Path = "/opt/bin"
	if d = decide(t, r, yamlPage("tools: [[ls]]"), durward.Call{Argv: []string{"ls"}}); d.Grant.Env["PATH"] != "/opt/bin" {
		t.Errorf("PATH is %q", d.Grant.Env["PATH"])
	}
}

func TestPolicyHashFollowsThePage(t *testing.T) {
	seen := map[string]bool{}
	for _, tools := range []string{"tools: [[ls]]", "tools: [[ls], [cat]]", "tools: [[ls, \";\"]]"} {
		d := decide(t, Rules{}, yamlPage(tools), durward.Call{Argv: []string{"ls"}})
		if !d.Allow || seen[d.PolicyHash] {
			t.Errorf("%s: %+v", tools, d)
		}
		seen[d.PolicyHash] = true
	}
}

func TestComponentsRunOnlyAsTheyAreWritten(t *testing.T) {
	document := yamlPage("tools: []", "env: [Q]") + "```component\necho hi\n```\n"
	call := durward.Call{Surface: ComponentSurface, Argv: []string{"sh", "-c", "echo hi"}, Env: map[string]string{"Q": "1", "OTHER": "2", "EDITOR": "x"}}
	d := decide(t, Rules{Components: true}, document, call)
	if !d.Allow || d.Rule != "components" || d.Grant.Keep != durward.KeepHead || d.Grant.Env["Q"] != "1" || d.Grant.Env["OTHER"] != "" || d.Grant.Env["EDITOR"] != "" {
		t.Errorf("%+v", d)
	}
	if d := decide(t, Rules{}, document, call); d.Allow {
		t.Error("components are off, and one runs")
	}
	call.Argv[2] = "echo other"
	if d := decide(t, Rules{Components: true}, document, call); d.Allow {
		t.Error("what is no component of the page runs")
	}
	call.Argv[2], call.Surface = "echo hi", ""
	if d := decide(t, Rules{Components: true}, document, call); d.Allow {
		t.Error("a caller runs a component's code")
	}
}

func TestComponents(t *testing.T) {
	for _, test := range []struct {
		name, document string
		codes          []string
	}{
		{"one", "a\n```component\nls\n```\nb", []string{"ls"}},
		{"blanks around the word", "```  component\t\nls\n\n```", []string{"ls"}},
		{"two", "```component\na\n```\n```component\nb\nc\n```", []string{"a", "b\nc"}},
		{"empty", "```component\n```", []string{""}},
		{"CRLF", "```component\r\nls\r\n```\r\n", []string{"ls"}},
		{"closed by a longer line", "```component\nls\n```` x", []string{"ls"}},
		{"not closed", "```component\nls\n", nil},
		{"another word", "```components\nls\n```\n```sh\nls\n```\n", nil},
		{"indented", " ```component\nls\n ```\n", nil},
		{"a longer fence", "````component\nls\n````\n", nil},
		{"an example in a longer fence", "````md\n```component\nls\n```\n````\n```component\nb\n```\n", []string{"b"}},
		{"an example between tildes", "~~~\n```component\nls\n```\n~~~\n", nil},
		{"inside another block", "```md\n```component\nls\n```\n", nil},
		{"commented out", "a\n <!-- off\n```component\nls\n```\n-->\n```component\nb\n```\n", []string{"b"}},
		{"in a comment that is not closed", "<!--\n```component\nls\n```\n", nil},
		{"behind a comment of one line", "<!-- a -->\n```component\nb\n```\n", []string{"b"}},
		{"behind an example of a comment", "```html\n<!--\n```\n    <!--\n```component\nb\n```\n", []string{"b"}},
		{"not UTF-8", "```component\nls\n```\n\xff", nil},
		{"in frontmatter", "---\nx: |\n  a\n```component\nls\n```\n---\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var codes []string
			for _, c := range Components([]byte(test.document)) {
				codes = append(codes, c.Code)
			}
			if !slices.Equal(codes, test.codes) {
				t.Errorf("got %q; want %q", codes, test.codes)
			}
		})
	}
}

func TestAComponentEndsBeforeItsNewline(t *testing.T) {
	document := "a\n```component\nls\n```\nb"
	c := Components([]byte(document))[0]
	if got := document[:c.Start] + "X" + document[c.End:]; got != "a\nX\nb" {
		t.Errorf("got %q", got)
	}
}
