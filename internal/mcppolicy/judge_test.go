//go:build unix

package mcppolicy_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcppolicy"
)

const judged = home + `commands:
  - id: c
    exec: git
    args:
      allow: [status, "a;b"]
      patterns:
        - {type: regex, value: '[\w./=-]+'}
        - {type: regex, value: '--file=.*'}
`

func nowhere(string) error  { return errors.New("outside: s3cret") }
func anywhere(string) error { return nil }

func TestARefusalNamesTheRuleItsPlaceAndTheArgument(t *testing.T) {
	c := command(t, compile(t, judged), "c")
	for _, test := range []struct {
		args  []string
		scope mcppolicy.Scope
		rule  string
		where string
		index int
		text  string
	}{
		{[]string{"status", "s3cret|"}, anywhere, "commands.c.args.allowMetacharacters", "p.yaml:7:7", 1, "cmd.run: argument 1 holds a character that means something to a shell"},
		{[]string{"s3cret!"}, anywhere, "commands.c.args.patterns", "p.yaml:9:11", 0, "cmd.run: argument 0 is neither listed nor accepted by a pattern"},
		{[]string{"-s3cret"}, anywhere, "commands.c.args.patterns", "p.yaml:9:11", 0, "cmd.run: argument 0 is an option, and no pattern whose every branch begins with a hyphen accepts it"},
		{[]string{"a", "s3cret/x"}, nowhere, "commands.c.args.pathScope", "p.yaml:7:7", 1, "cmd.run: argument 1 names a path outside the allowed roots"},
		{[]string{"s3cret\x00"}, anywhere, "commands.c.args", "p.yaml:7:7", 0, "cmd.run: argument 0 holds a NUL byte"},
		{[]string{"a", strings.Repeat("s3cret", 6000)}, anywhere, "commands.c.args", "p.yaml:7:7", 1, "cmd.run: argument 1 has 36000 bytes, more than 32768"},
		{make([]string, 257), anywhere, "commands.c.args", "p.yaml:7:7", -1, "cmd.run: 257 arguments are more than 256"},
	} {
		err := c.Judge(test.args, test.scope)
		var full *durward.Error
		var arg *mcppolicy.ArgError
		if !errors.As(err, &full) || !errors.As(err, &arg) {
			t.Fatalf("%v", err)
		}
		if full.Rule != test.rule || full.Where.String() != test.where || arg.Index != test.index || err.Error() != test.text {
			t.Errorf("%s at %s, argument %d: %s", full.Rule, full.Where, arg.Index, err)
		}
		if strings.Contains(err.Error()+full.Hint+arg.Problem, "s3cret") || full.Hint == "" {
			t.Errorf("the argument is told: %s, %s", err, full.Hint)
		}
	}
	if err := c.Judge(slices.Repeat([]string{"status"}, 256), nowhere); err != nil {
		t.Error(err)
	}
	if err := c.Judge([]string{strings.Repeat("a", 32768)}, nowhere); err != nil {
		t.Error(err)
	}
}

func TestTheLimitsSayWhatWasOver(t *testing.T) {
	c := command(t, compile(t, judged), "c")
	for reason, args := range map[durward.Reason][]string{
		durward.TooManyArgs: make([]string, 300),
		durward.ArgTooLong:  {strings.Repeat("a", 40_000)},
	} {
		err := c.Judge(args, anywhere)
		var arg *mcppolicy.ArgError
		if !errors.As(err, &arg) || durward.ReasonOf(err) != reason || durward.KindOf(err) != durward.Invalid {
			t.Fatalf("%v", err)
		}
		if limit := [2]int64{durward.DetailOf(err).Limit, durward.DetailOf(err).Actual}; limit != [2]int64{256, 300} && limit != [2]int64{32_768, 40_000} {
			t.Errorf("got %v", limit)
		}
	}
}

// The form of all arguments is judged before the first rule is.
func TestLimitsComeFirst(t *testing.T) {
	c := command(t, compile(t, judged), "c")
	if err := c.Judge([]string{"!", "a\x00"}, anywhere); durward.ReasonOf(err) != durward.ArgNUL {
		t.Errorf("got %v", err)
	}
}

func TestWhichPartOfAnArgumentIsAPath(t *testing.T) {
	c := command(t, compile(t, home+"commands: [{id: c, exec: git, args: {any: true, allow: [/listed]}}]"), "c")
	for arg, want := range map[string]string{
		"/a": "/a", "a/b": "a/b", `a\b`: `a\b`, ".": ".", "..": "..", ".git": ".git", "./x": "./x", "~/x": "~/x",
		"--file=/a": "/a", "-f=../a": "../a", "--a=b=/c": "b=/c", "--x=.": ".", "-I/usr": "-I/usr", "k=/a": "k=/a",
		"-a/b=c": "-a/b=c", "a": "", "-a": "", "--a=b": "", "": "", "a.b": "", "~": "", "/listed": "", "c:x": "",
	} {
		got := ""
		if err := c.Judge([]string{arg}, func(path string) error { got = path; return nil }); err != nil || got != want {
			t.Errorf("%q: asked about %q, want %q; %v", arg, got, want, err)
		}
	}
}

// A pattern means by itself what it means in a policy, and that of the whole argument.
func TestPatternsMatchTheWholeArgument(t *testing.T) {
	for _, test := range []struct{ pattern, accepted, refused string }{
		{`a|ab`, "ab", "abc"},
		{`ab|a`, "a", "b"},
		{`\Qa`, "a", "aa"},
		{`\Qa.b`, "a.b", "axb"},
		{`x|\Qa)`, "a)", "xa)"},
		{`\Qa\E+`, "aaa", "a+"},
		{`(?i)ab|c`, "AB", "bc"},
		{`^a$`, "a", "ab"},
		{`(?m)^a$`, "a", "a-b"},
		{`a*?`, "aaa", "b"},
		{`(?U)a+`, "aaa", ""},
		{`(?P<n>[[:alpha:]]+)\d`, "ab1", "ab"},
		{`\pL{2,3}`, "äöü", "ä"},
		{`[^a-c]`, "d", "a"},
		{`(?:)`, "", "a"},
		{`x{0,3}y?\b`, "xxy", "yx"},
	} {
		text := strings.ReplaceAll(test.pattern, "'", "''")
		c := command(t, compile(t, home+"commands: [{id: c, exec: git, args: {allowMetacharacters: true, patterns: [{type: regex, value: '"+text+"'}]}}]"), "c")
		if err := c.Judge([]string{test.accepted}, anywhere); err != nil {
			t.Errorf("%s refuses %q: %v", test.pattern, test.accepted, err)
		}
		if c.Judge([]string{test.refused}, anywhere) == nil {
			t.Errorf("%s accepts %q", test.pattern, test.refused)
		}
	}
}

func TestWhichPatternsAdmitOptions(t *testing.T) {
	for text, want := range map[string]bool{
		"-a": true, "^-a$": true, `\A-a\z`: true, "(-a)": true, "(?:-a|-b)": true, "^(--depth=[0-9]+|--sort=[a-z]+)$": true, "(?P<x>-a)": true,
		"--?a": true, "-+a": true, "(?:-a)+": true, "(?:-a){2}": true, "[-]a": true, "(?m)^-a": true, "(?i)-a": true, "-a|-b": true, "^-a|^-b": true,
		"": false, "a": false, "a|-b": false, "-?a": false, "(?:-a)*": false, "(?:-a)?b": false, "(?:-a){0,2}": false, "[-x]a": false, ".*": false, "[^a]": false,
		"(|-)a": false, "x*-a": false, `\x2da`: true, "^": false, "-a|": false, `\b-a`: false,
	} {
		text = strings.ReplaceAll(text, "'", "''")
		c := command(t, compile(t, home+"commands: [{id: c, exec: git, args: {patterns: [{type: regex, value: '"+text+"'}, {type: regex, value: '-zzz'}]}}]"), "c")
		example := option(text)
		if example == "" && !want {
			continue
		}
		steps, _ := c.Explain([]string{example}, anywhere)
		got := slices.ContainsFunc(steps, func(s durward.Step) bool { return s.Rule == "commands.c.args.patterns[0]" })
		if got != want || example == "" {
			t.Errorf("%q admits options: %v", text, got)
		}
	}
}

// option gives an option that the pattern matches, or "".
func option(text string) string {
	for _, o := range []string{"-a", "--depth=1", "-b", "--a", "-aa", "-a-a", "-A", "--"} {
		if regexp.MustCompile(`\A(?:` + text + `)\z`).MatchString(o) {
			return o
		}
	}
	return ""
}

func TestInterpretersRefuseMore(t *testing.T) {
	there := standard()
	for _, path := range []string{"bash", "dash", "zsh", "ksh", "fish", "pwsh", "PowerShell.exe", "cmd.exe", "run.bat", "x.CMD", "bash2", "shell"} {
		there["/opt/"+path] = program()
	}
	there["/opt/hidden"], there["/opt"] = link("/opt/bash"), dir()
	for name, want := range map[string]bool{
		"bash": true, "dash": true, "zsh": true, "ksh": true, "fish": true, "pwsh": true, "PowerShell.exe": true, "cmd.exe": true, "run.bat": true, "x.CMD": true, "hidden": true,
		"bash2": false, "shell": false,
	} {
		c := command(t, compileOn(t, there.host(), home+"commands: [{id: c, exec: /opt/"+name+", args: {any: true}}]"), "c")
		for _, char := range "(){}^%!\"'\\*?[]~#" {
			if err := c.Judge([]string{"a" + string(char)}, anywhere); (durward.ReasonOf(err) == durward.ArgMetachar) != want {
				t.Errorf("%s: %c: %v", name, char, err)
			}
		}
		for _, char := range ";&|<>`$\r\n" {
			if err := c.Judge([]string{"a" + string(char)}, anywhere); durward.ReasonOf(err) != durward.ArgMetachar {
				t.Errorf("%s: %q: %v", name, char, err)
			}
		}
	}
}

func TestExplainTellsEveryStep(t *testing.T) {
	c := command(t, compile(t, judged), "c")
	steps, err := c.Explain([]string{"a;b", "x/y", "word", "!", "status", "z"}, anywhere)
	if durward.ReasonOf(err) != durward.ArgNotAllowed {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range steps {
		lines = append(lines, fmt.Sprintf("%s %s [%s]: %s", s.Verdict, s.Rule, s.Where, s.Note))
	}
	want := []string{
		"ok commands.c.args [p.yaml:7:7]: 6 of at most 256 arguments",
		"ok commands.c.args.allow [p.yaml:7:14]: argument 0 is listed",
		"ok commands.c.args.patterns[0] [p.yaml:9:11]: argument 1 matches",
		"ok commands.c.args.pathScope [p.yaml:7:7]: argument 1 names a path within an allowed root",
		"ok commands.c.args.patterns[0] [p.yaml:9:11]: argument 2 matches",
		"ok commands.c.args.pathScope [p.yaml:7:7]: argument 2 names no path",
		"denied commands.c.args.patterns [p.yaml:9:11]: argument 3 is neither listed nor accepted by a pattern",
		"not reached commands.c.args [p.yaml:7:7]: argument 4",
		"not reached commands.c.args [p.yaml:7:7]: argument 5",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// Explaining decides as judging does, and what is refused stays refused whatever follows.
func TestJudgingHolds(t *testing.T) {
	c := command(t, compile(t, judged), "c")
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`-{0,2}[a-z./=;]{0,6}`), rapid.SampledFrom([]string{"status", "a;b", "--file=/x", "\x00"}), rapid.String()), 0, 6).Draw(t, "args")
		err := c.Judge(args, anywhere)
		_, explained := c.Explain(args, anywhere)
		if durward.ReasonOf(err) != durward.ReasonOf(explained) {
			t.Fatalf("%v, explained as %v", err, explained)
		}
		if err != nil && c.Judge(append(slices.Clone(args), "status"), anywhere) == nil {
			t.Fatal("a further argument mends a refusal")
		}
		if all := c.Argv(args); !slices.Equal(all, args) {
			t.Fatalf("runs with %q", all)
		}
	})
}

func FuzzJudge(f *testing.F) {
	f.Add("[a-z]+", "abc")
	f.Add("^(-a|--b=.*)$", "--b=../x")
	f.Add("(?s).*", "a\nb")
	f.Fuzz(func(t *testing.T, value, arg string) {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
		doc, err := mcppolicy.Parse("p.yaml", []byte(home+`commands: [{id: c, exec: git, args: {patterns: [{type: regex, value: "`+quoted+`"}]}}]`))
		if err != nil {
			return
		}
		p, err := mcppolicy.Compile(doc, standard().host(), mcppolicy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = command(t, p, "c").Judge([]string{arg}, anywhere)
		if err == nil && strings.ContainsAny(arg, ";&|<>`$\r\n\x00") {
			t.Errorf("%q is accepted by %q", arg, value)
		}
		if err == nil && strings.HasPrefix(arg, "-") && arg != "-" && regexp.MustCompile(`\A(?:`+doc.Commands[0].Args.Patterns[0].Value.Value+`)\z`).MatchString("a") {
			t.Errorf("the option %q is accepted by %q, which is for words too", arg, value)
		}
	})
}
