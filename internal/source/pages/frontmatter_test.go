package pages

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func yamlPage(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\n# Page\n" }

// TestMistakesAreNamed: one bad spec closes the page, and the error says which one, why
// and where.
func TestMistakesAreNamed(t *testing.T) {
	for _, test := range []struct{ name, document, want string }{
		{"number", yamlPage("tools:", "  - [ls]", "  - [head, -n, 5]"), `p.md:4:16: tools[1][2] is an integer, not a word; put it in quotes: "5"`},
		{"boolean", yamlPage("tools:", "  - [set, True]"), `tools[0][1] is a boolean`},
		{"null", yamlPage("tools:", "  - [set, ~]"), `tools[0][1] is empty`},
		{"empty item", yamlPage("tools:", "  - [set, ]", "  - - ls", "    -"), `tools[1][1] is empty`},
		{"float", yamlPage("tools: [[sleep, .5]]"), `tools[0][1] is a number`},
		{"unquoted name", yamlPage("tools: [[cat, {path}]]"), `a name in braces goes in quotes: "{path}"`},
		{"regex of a number", yamlPage("tools: [[cat, {regex: 5}]]"), `tools[0][1] must be {} or {regex: "…"}`},
		{"look-around", yamlPage(`tools: [[cat, {regex: "a(?!b)"}]]`), "look-around such as (?! is not supported"},
		{"look-behind", yamlPage(`tools: [[cat, {regex: "(?<=a)b"}]]`), "look-around such as (?<= is not supported"},
		{"large patterns", yamlPage(`tools: [[cat, {regex: "(a{1000}){1}` + strings.Repeat("b{1000}", 66) + `"}]]`), "tools[0][1].regex: the patterns of the page are too large together"},
		{"bad pattern", yamlPage(`tools: [[cat, {regex: "("}]]`), "missing closing )"},
		{"long pattern", yamlPage(`tools: [[cat, {regex: "` + strings.Repeat("a", 4097) + `"}]]`), "over 4096 bytes"},
		{"lone backslash", yamlPage(`tools: [[cat, {regex: "\."}]]`), "p.md:2:"},
		{"list in a spec", yamlPage("tools: [[cat, [a]]]"), "tools[0][1] is a list inside a spec"},
		{"misplaced lock", yamlPage(`tools: [[cat, ";", {}]]`), `tools[0][1]: ";" forbids further words and must stand last`},
		{"only a lock", yamlPage(`tools: [[";"]]`), "tools[0] names no program"},
		{"empty spec", yamlPage(`tools: [[]]`), "tools[0] names no program"},
		{"placeholder first", yamlPage(`tools: [[{}]]`), "a caller may not choose it"},
		{"pattern first", yamlPage(`tools: [[{regex: "^ls$"}]]`), "a caller may not choose it"},
		{"empty program", yamlPage(`tools: [[""]]`), "a caller may not choose it"},
		{"spec that is a word", yamlPage(`tools: [ls]`), "tools[0] must be a list of parts, not a string"},
		{"tools that are a word", yamlPage(`tools: ls`), "tools must be a list, not a string"},
		{"tools of nothing", yamlPage(`tools:`), "tools must be a list, not empty"},
		{"tools twice", yamlPage("tools: []", "tools: [[ls]]"), `duplicate field "tools"`},
		{"no mapping", yamlPage("- ls"), "must be a mapping"},
		{"many specs", yamlPage("tools: [" + strings.Repeat("[a],", 257) + "]"), "257 entries, more than 256"},
		{"many parts", yamlPage("tools: [[" + strings.Repeat("a,", 65) + "]]"), "65 parts, more than 64"},
		{"deep", yamlPage("x: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)), "nested deeper than 32"},
		{"large", yamlPage("# " + strings.Repeat("x", 64<<10)), "over 65536 bytes"},
		{"env of a word", yamlPage("env: PAGER"), "env must be a list"},
		{"bad env name", yamlPage("env: [A-B]"), `"A-B" is not a name of a variable`},
		{"tagged number", yamlPage("tools: [[head, !!int 1_000]]"), `p.md:2:16: "1_000" is not an integer, as its tag says`},
		{"toml number", "+++\ntools = [['head', 1_000]]\n+++\n", `tools[0][1] is an integer, not a word; put it in quotes: "1_000"`},
		{"toml date", "+++\ntools = [['a', 1979-05-27]]\n+++\n", "a date or time, not a word"},
		{"toml twice", "+++\ntools = []\ntools = []\n+++\n", "p.md:3:1: not TOML"},
		{"not utf-8", "---\ntools: []\n---\n\xff", "the page is not UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := ParseFrontmatter("p.md", []byte(test.document))
			if durward.ReasonOf(err) != durward.BadFrontmatter || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %q", err, test.want)
			}
			if len(f.Tools)+len(f.Env) > 0 {
				t.Errorf("the page still allows %+v", f)
			}
		})
	}
}

// What names a variable in braces is a placeholder; any other word stands for itself.
func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "Z": true, "_": true, "_9": true, "A_b_0": true, strings.Repeat("x", 9999): true,
		"": false, "0": false, "9a": false, "a-b": false, "a b": false, "a ": false, " a": false, "a\n": false, "a\x00": false, "ä": false, "a\xff": false, "a}": false,
		"{a": false, "{a}": false, "$a": false, "@": false, "`": false, "[": false, "/": false, ":": false,
	} {
		if got := IsVariableName(name); got != want {
			t.Errorf("%.20q names a variable: %v", name, got)
		}
		part := ToolPart{Kind: Literal, Text: "{" + name + "}"}
		if want {
			part = ToolPart{Kind: Placeholder, Text: name}
		}
		if got := stringPart("{" + name + "}"); !reflect.DeepEqual(got, part) {
			t.Errorf("{%.20s} is %+v", name, got)
		}
	}
	for _, text := range []string{"", "{", "}", "a", "{a", "a}", "}a{", "{a}b", " {a}"} {
		if got := stringPart(text); got.Kind != Literal || got.Text != text {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestWhatIsNoFrontmatter(t *testing.T) {
	for _, test := range []struct {
		document string
		hinted   bool
	}{
		{"", false},
		{"# Title", false},
		{"text\n---\ntools: []\n---\n", false},
		{"---", true},
		{"---\ntools: []\n", true},
		{"----\ntools: []\n---\n", true},
		{"---tools: [[ls]]\n---\n", true},
		{"---\ntools: [[ls]]\n ---\n", true},
		{"---\ntools: [[ls]]\n+++\n", true},
		{"---\ntools: [[ls]]\n...\n", true},
		{"---\rtools: []\r---\r", true},
	} {
		_, err := ParseFrontmatter("p.md", []byte(test.document))
		if durward.ReasonOf(err) != durward.NoFrontmatter || strings.Contains(err.Error(), "delimiter") != test.hinted {
			t.Errorf("%q: %v", test.document, err)
		}
	}
}

func TestNothingIsAllowedByAnEmptyBlock(t *testing.T) {
	for _, document := range []string{"---\n---\n", "---\n# only words\n---", "+++\n+++", "---\ntitle: x\nauthor: {a: 1}\n---\n"} {
		f, err := ParseFrontmatter("p.md", []byte(document))
		if err != nil || len(f.Tools) > 0 {
			t.Errorf("%q: %+v, %v", document, f, err)
		}
		if _, err := f.Match([]string{"ls"}); durward.ReasonOf(err) != durward.CommandNotAllowed {
			t.Errorf("%q: %v", document, err)
		}
	}
}

func TestAliasesAreResolved(t *testing.T) {
	f, err := ParseFrontmatter("p.md", []byte(yamlPage("x: &sql {regex: \"^SELECT\"}", "tools:", "  - [psql, -c, *sql]")))
	if err != nil {
		t.Fatal(err)
	}
	if i, err := f.Match([]string{"psql", "-c", "SELECT 1"}); i != 0 || err != nil {
		t.Errorf("%d, %v", i, err)
	}
}

// The place of a spec is that in the file, whatever stands before the block.
func TestPlaces(t *testing.T) {
	for _, document := range []string{"\n\n---\n# c\ntools:\n  - [ls]\n---\n", "\ufeff\n\n+++\n# c\ntools = [\n  ['ls'],\n]\n+++\n"} {
		f, err := ParseFrontmatter("p.md", []byte(document))
		if err != nil || f.Tools[0].Where.File != "p.md" || f.Tools[0].Where.Line < 5 || f.Tools[0].Where.Line > 6 {
			t.Errorf("%q: %v, %v", document, f.Tools, err)
		}
	}
}

func TestBounded(t *testing.T) {
	for pattern, want := range map[string]bool{
		"^a$": true, `\Aa\z`: true, "^(a|b)$": true, "(^a$)": true, "^a$|^b$": true, "(?i)^a$": true, "^$": true,
		"a": false, "^a": false, "a$": false, "(?m)^a$": false, "^a$|b": false, "(^a$)?": false, "^a|b$": false, "": false, "^a\n?": false,
	} {
		if got := isBounded(pattern); got != want {
			t.Errorf("%q: %t", pattern, got)
		}
	}
}

// However often a small page repeats itself, little is told of what is wrong with it.
func TestLittleIsToldOfRepeatedMistakes(t *testing.T) {
	again := func(n int, item string) string { return "[" + strings.Repeat(item+",", n) + "]" }
	for name, document := range map[string]string{
		"a long mistake many times": yamlPage("n: &n "+strings.Repeat("7", 48<<10), "s: &s "+again(64, "*n"), "tools: "+again(256, "*s")),
		"many mistakes":             yamlPage("tools: " + again(250, again(60, "a"))),
		"many fields twice":         yamlPage(strings.Repeat("a: 1\n", 8000)),
	} {
		_, err := ParseFrontmatter("p.md", []byte(document))
		if err != nil && len(err.Error()) > 256<<10 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}

// A pattern that stands in many places is compiled once, and the patterns of a page are
// bounded together.
func TestPatternsAreBounded(t *testing.T) {
	f, err := ParseFrontmatter("p.md", []byte(yamlPage(`r: &r {regex: '^\pL{900}$'}`, "tools: ["+strings.Repeat("[ls, *r, *r],", 256)+"]")))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range f.Tools {
		if s.Parts[1].pattern != f.Tools[0].Parts[1].pattern || s.Parts[2].pattern != f.Tools[0].Parts[1].pattern {
			t.Fatalf("the pattern is compiled again for tools[%d]", i)
		}
	}
	var specs strings.Builder
	for i := range 256 {
		fmt.Fprintf(&specs, `[ls, {regex: '\pL{900}%d'}],`, i)
	}
	_, err = ParseFrontmatter("p.md", []byte(yamlPage("tools: ["+specs.String()+"]")))
	if err == nil || !strings.Contains(err.Error(), "too large together") {
		t.Errorf("large patterns: %v", err)
	}
}

func FuzzParseFrontmatter(f *testing.F) {
	for _, seed := range []string{
		"", "---\n---", "---\ntools: [[ls, {}, \";\"]]\n---\nx", "+++\ntools = [['a', {regex = '^b'}]]\n+++\n", "---\na: &a [*a]\n---\n",
		"\ufeff\n---\r\ntools:\r\n- [ls]\r\n---\r\n", "---\ntools: [[psql, {regex: \"^SELECT\"}]]\nenv: [PAGER]\n---",
	} {
		f.Add([]byte(seed), "ls", "a b")
	}
	f.Fuzz(func(t *testing.T, document []byte, program, word string) {
		front, err := ParseFrontmatter("p.md", document)
		if r := durward.ReasonOf(err); err != nil && r != durward.NoFrontmatter && r != durward.BadFrontmatter {
			t.Fatalf("%q: %v", document, err)
		}
		if err != nil && len(front.Tools) > 0 {
			t.Fatalf("%q: %v, and %+v", document, err, front)
		}
		for _, command := range [][]string{nil, {program}, {program, word}, {program, word, word}} {
			checkMatch(t, front, command)
		}
		checkComponents(t, document)
	})
}

// checkMatch compares Match with its definition, said in another way.
func checkMatch(t *testing.T, f Frontmatter, command []string) {
	t.Helper()
	i, err := f.Match(command)
	for n, s := range f.Tools {
		fits := len(command) > 0 && len(command) >= len(s.Parts) && (!s.Locked || len(command) == len(s.Parts))
		for p := 0; fits && p < len(s.Parts); p++ {
			fits = s.Parts[p].matches(command[p])
		}
		if fits != (s.Matches(command) && len(command) > 0) {
			t.Fatalf("spec %d and %q: %t", n, command, fits)
		}
		if fits {
			if err != nil || i != n {
				t.Fatalf("%q is allowed by %d, not %d, %v", command, n, i, err)
			}
			return
		}
	}
	if err == nil {
		t.Fatalf("%q is allowed by nothing, but for %d", command, i)
	}
}

func checkComponents(t *testing.T, document []byte) {
	t.Helper()
	end := 0
	for _, c := range Components(document) {
		if c.Start < end || c.End <= c.Start || c.End > len(document) || !strings.HasPrefix(string(document[c.Start:]), fence) {
			t.Fatalf("%q: component %+v", document, c)
		}
		end = c.End
	}
}

func BenchmarkParse(b *testing.B) {
	document := []byte(yamlPage("tools:", "  - [ls]", `  - [psql, -c, {regex: "^SELECT"}]`) + strings.Repeat("text\n", 400))
	for b.Loop() {
		if _, err := ParseFrontmatter("p.md", document); err != nil {
			b.Fatal(fmt.Sprint(err))
		}
	}
}
