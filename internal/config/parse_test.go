package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/config"
)

// show gives a tree in one line: kinds by their brackets, scalars as kind and text.
func show(n *config.Node) string {
	var parts []string
	switch n.Kind {
	case config.List:
		for _, item := range n.Items {
			parts = append(parts, show(item))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case config.Map:
		for _, f := range n.Fields {
			parts = append(parts, f.Name+"="+show(f.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case config.Null:
		return "null"
	}
	return fmt.Sprintf("%s:%s", n.Kind, n.Text)
}

func TestParseGivesTheTree(t *testing.T) {
	for _, test := range []struct{ name, file, text, want string }{
		{"words that other versions take for booleans", "a.yaml", "[yes, no, on, off, y, N]", "[a string:yes a string:no a string:on a string:off a string:y a string:N]"},
		{"booleans", "a.yaml", "[true, False]", "[a boolean:true a boolean:False]"},
		{"integers", "a.yaml", "[1, -2, 1_000, 0x1F, 0o17, 0]", "[an integer:1 an integer:-2 an integer:1_000 an integer:0x1F an integer:0o17 an integer:0]"},
		{"not integers", "a.yaml", "[017, 1__0, _1, 1_, 1:30, 0b1]", "[a string:017 a string:1__0 a string:_1 a string:1_ a string:1:30 a string:0b1]"},
		{"numbers", "a.yaml", "[1.5, 1e3, .inf]", "[a number:1.5 a number:1e3 a number:.inf]"},
		{"dates and merge keys are strings", "a.yaml", "{a: 2026-01-02, <<: b}", "{a=a string:2026-01-02 <<=a string:b}"},
		{"quotes make strings", "a.yaml", `{a: "1", b: 'true', c: ""}`, "{a=a string:1 b=a string:true c=a string:}"},
		{"core tags", "a.yaml", "[!!str 5, !!int 5]", "[a string:5 an integer:5]"},
		{"nothing", "a.yaml", "# only words\n", "null"},
		{"an empty document", "a.yaml", "---\n...\n", "null"},
		{"a byte order mark", "a.yaml", "\ufeffa: 1\n", "{a=an integer:1}"},
		{"json", "a.json", `{"a": [1, -2, 1.5, true, null, "x"], "b": {}}`, "{a=[an integer:1 an integer:-2 a number:1.5 a boolean:true null a string:x] b={}}"},
		{"json by its first byte", "policy", ` {"a": "é😀"}`, "{a=a string:é😀}"},
		{"json escapes", "a.json", `["\ud83d\ude00", "\\ud83d", "\ufffd"]`, "[a string:😀 a string:\\ud83d a string:\ufffd]"},
		{"toml values", "a.toml", "a = 1_0\nb = 'x'\nc = [1, {}, { d.e = true }] # list\nf = 1.5\ng = 2026-01-02\n", "{a=an integer:1_0 b=a string:x c=[an integer:1 {} {d={e=a boolean:true}}] f=a number:1.5 g=a date or time:2026-01-02}"},
		{"toml tables", "a.toml", "[a.b]\nc = 1\n[a]\nd = 2\n[[e]]\nf = 1\n[[e]]\n[e.g]\nh = 3\n", "{a={b={c=an integer:1} d=an integer:2} e=[{f=an integer:1} {g={h=an integer:3}}]}"},
		{"an empty toml document", "a.toml", "", "{}"},
		{"yaml may be written as json", "a.yaml", `{"a": [1, {"b": null}]}`, "{a=[an integer:1 {b=null}]}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, err := config.Parse(test.file, []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(n); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		want             []string
	}{
		{"duplicate keys at every depth", "a.yaml", "a: 1\nb: {c: 1, c: 2}\na: 3\n", []string{
			`a.yaml:2:11: duplicate field "c" (first on line 2)`, `a.yaml:3:1: duplicate field "a" (first on line 1)`,
		}},
		{"duplicate keys in json", "a.json", "{\"a\": 1,\n \"é\": {}, \"a\": 2}", []string{`a.json:2:11: duplicate field "a" (first on line 1)`}},
		{"an anchor and its alias", "a.yaml", "a: &x 1\nb: *x\n", []string{
			"a.yaml:1:4: the anchor &x is not accepted", "a.yaml:2:4: the alias *x is not accepted; write the value out",
		}},
		{"tags of one's own", "a.yaml", "a: !secret x\nb: !!binary aGk=\n!k c: !m {}\nd: !n []\n", []string{
			"a.yaml:1:4: the tag !secret is not accepted", "a.yaml:2:4: the tag !!binary is not accepted",
			"a.yaml:3:1: the tag !k is not accepted", "a.yaml:3:7: the tag !m is not accepted", "a.yaml:4:4: the tag !n is not accepted",
		}},
		{"a tag that lies", "a.yaml", "a: !!int x\n", []string{`a.yaml:1:4: "x" is not an integer, as its tag says`}},
		{"a second document", "a.yaml", "a: 1\n---\nb: 1\n", []string{"a.yaml:2:1: a second document begins here; there may be only one"}},
		{"a key that is no word", "a.yaml", "? [a]\n: 1\n", []string{"a.yaml:1:3: a field name must be a plain word"}},
		{"bytes that are not text", "a.yaml", "a: 1\nb: \xff\n", []string{"a.yaml:2:4: not UTF-8: byte 0xff"}},
		{"utf-16", "a.yaml", "\xff\xfea\x00", []string{"a.yaml:1:1: not UTF-8: byte 0xff"}},
		{"control characters", "a.json", "{\"a\":\"\x01\"}", []string{"a.json:1:7: control character U+0001"}},
		{"half a surrogate pair", "a.json", `["\ud83d", "\ude00 x", "\ud83dA"]`, []string{
			"a.json:1:2: half of a surrogate pair is not a character", "a.json:1:12: half of a surrogate pair is not a character",
			"a.json:1:24: half of a surrogate pair is not a character",
		}},
		{"yaml in json", "a.json", "{a: 1}", []string{"a.json:1:2: not JSON: invalid character 'a' looking for beginning of object key string"}},
		{"a comment in json", "policy", "{} # no", []string{"policy:1:4: not JSON: invalid character '#' after top-level value"}},
		{"a comma too many in json", "a.json", "[1,\n]", []string{"a.json:2:1: not JSON: invalid character ']' looking for beginning of value"}},
		{"json cut short", "a.json", "{\"a\":\n", []string{"a.json:1:6: not JSON: unexpected end of JSON input"}},
		{"an empty json file", "a.json", "", []string{"a.json:1:1: not JSON: unexpected end of JSON input"}},
		{"underscores in json", "a.json", "[1_000]", []string{"a.json:1:3: not JSON: invalid character '_' after array element"}},
		{"too deep", "a.json", strings.Repeat("[", 70) + strings.Repeat("]", 70), []string{"a.json:1:65: nested deeper than 64 levels"}},
		{"too deep in yaml", "a.yaml", strings.Repeat("[", 70) + strings.Repeat("]", 70), []string{"a.yaml:1:66: nested deeper than 64 levels"}},
		{"too deep for the library", "a.yaml", strings.Repeat("[", 20000), []string{"a.yaml:1:10001: exceeded max depth of 10000"}},
		{"too large", "a.yaml", strings.Repeat("#", config.MaxBytes+1), []string{"a.yaml: the document is over 1048576 bytes"}},
		{"a toml key twice", "a.toml", "a = 1\nb = 2\na = 3\n", []string{"a.toml:3:1: not TOML: toml: key a is already defined"}},
		{"bad toml", "a.toml", "a = 1\nb = [\n", []string{"a.toml:2:6: not TOML: toml: array is incomplete"}},
		{"too deep in toml", "a.toml", "a = " + strings.Repeat("[", 70) + strings.Repeat("]", 70), []string{"a.toml:1:1: nested deeper than 64 levels"}},
		{"bad syntax", "a.yaml", "a: 1 b: 2\n", []string{"a.yaml:1:7: a colon stands where none can; put a text that holds one into quotes, or indent the line as those beside it"}},
		{"a list without end", "a.yaml", "a: 1\nb: [x\n", []string{"a.yaml:3:1: the list that begins in line 2 does not end; close it with ]"}},
		{"a mapping without end", "a.yaml", "{a: 1\n", []string{"a.yaml:2:1: the mapping that begins in line 1 does not end; close it with }"}},
		{"quotes without end", "a.yaml", "a: 'x\n", []string{"a.yaml:2:1: the text in quotes that begins in line 1 does not end; close it with a quote"}},
		{"no colon", "a.yaml", "a: 1\nb\n", []string{"a.yaml:3:1: a field has no colon behind its name; write name: value"}},
		{"a tab", "a.yaml", "a: 1\n\tb: 2\n", []string{"a.yaml:2:1: a tab indents this line; use spaces"}},
		{"between two indentations", "a.yaml", "a:\n  b: 1\n c: 2\n", []string{"a.yaml:3:2: this does not belong to what begins in line 1; indent it as the lines that it belongs to"}},
		{"a list behind its name", "a.yaml", "a: - b\n", []string{"a.yaml:1:4: a list cannot begin here; begin it on a line of its own"}},
		{"an odd beginning", "a.yaml", "a: @b\n", []string{"a.yaml:1:4: no value begins with this character; put the value into quotes"}},
		{"an odd escape", "a.yaml", `a: "\q"`, []string{`a.yaml:1:5: this escape is not known; write \\ for a backslash, or use single quotes`}},
		{"a value that is missing", "a.yaml", "a: [", []string{"a.yaml:2:1: a value is missing"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := config.Parse(test.file, []byte(test.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAliasesExpandWithinBounds(t *testing.T) {
	options := config.Options{Aliases: true, FirstLine: 3, Depth: 32}
	n, err := config.ParseWith("p.md", []byte("a: &x [1, {b: 2}]\nc: *x\n"), options)
	if err != nil || show(n) != "{a=[an integer:1 {b=an integer:2}] c=[an integer:1 {b=an integer:2}]}" {
		t.Errorf("got %v, %v", n, err)
	}
	bomb := "a0: &a0 [x, x]\n"
	for i := 1; i < 20; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	for name, test := range map[string]struct{ text, want string }{
		"a bomb":              {bomb, "its aliases expand to more than 65536 values"},
		"an alias of its own": {"a: &a [*a]\n", "p.md:3:4: nested deeper than 32 levels"},
		"a mistake":           {"a: 1\na: 2\n", `p.md:4:1: duplicate field "a" (first on line 3)`},
	} {
		if _, err := config.ParseWith("p.md", []byte(test.text), options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := config.ParseWith("p.md", []byte(bomb), options); n != nil || len(config.ProblemsOf(err)) != 1 {
		t.Errorf("a part of the bomb is taken for the whole: %v", err)
	}
}

// With a bound of their own nothing counts but what stands behind an alias.
func TestAliasesMayHaveABoundOfTheirOwn(t *testing.T) {
	options := config.Options{Aliases: true, Expanded: 6}
	long := "a: &x [" + strings.Repeat(strings.Repeat("x", 100_000)+", ", 10) + strings.Repeat("1, ", 8_000) + "]\n"
	if n, err := config.ParseWith("p.yaml", []byte(long), options); err != nil || len(n.Get("a").Items) != 8_010 {
		t.Errorf("a long document without aliases: %v", err)
	}
	if _, err := config.ParseWith("p.yaml", []byte(long), config.Options{Aliases: true}); err == nil {
		t.Error("it would not have been too much otherwise")
	}
	for text, want := range map[string]string{
		"a: &x [1, 2]\nb: [*x, *x]\n":                                         "",
		"a: &x [1, 2]\nb: [*x, *x, *x]\n":                                     "p.yaml:1:4: its aliases expand to more than 6 values",
		"a: &x [1, 2]\nb: &y [*x, *x]\nc: *y\n":                               "p.yaml:2:4: its aliases expand to more than 6 values",
		"a: &x " + strings.Repeat("x", 1<<18) + "\nb: [*x, *x, *x, *x, *x]\n": "p.yaml:1:4: its aliases expand to more than 65536 values, or to over 1048576 bytes of text",
	} {
		n, err := config.ParseWith("p.yaml", []byte(text), options)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (got != want || n != nil) {
			t.Errorf("%.40q: %v; want %q", text, err, want)
		}
	}
}

// What a long name or text is repeated by stays small.
func TestRepetitionIsBounded(t *testing.T) {
	long := strings.Repeat("k", 5000)
	for file, text := range map[string]string{
		"a.yaml": "? " + long + "\n: [x, {y: [z]}]\n", "a.json": `{"` + long + `": ["x", {"y": ["z"]}]}`, "a.toml": long + " = ['x', {y = ['z']}]\n",
	} {
		n, err := config.Parse(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for at := n.Fields[0].Value; ; at = at.Items[0] {
			if len(at.Path) > 300 {
				t.Errorf("%s: a path has %d bytes", file, len(at.Path))
			}
			if len(at.Items) == 0 {
				break
			}
		}
	}
	again := "a: &a " + strings.Repeat("7", 10_000) + "\nb: [" + strings.Repeat("*a, ", 200) + "]\n"
	if n, err := config.ParseWith("p.md", []byte(again), config.Options{Aliases: true}); n != nil || err == nil || !strings.Contains(err.Error(), "bytes of text") {
		t.Errorf("a long text by many aliases: %v", err)
	}
}

// Every value of TOML knows where it stands, whatever stands before it.
func TestPlacesInTOML(t *testing.T) {
	text := "a = 1\n\n[b]\nc = [ 'x',\n  'y' ]\nd.e = { f = 2, g = 'z' }\n[[h]]\ni = '''\n\n'''\nj = 3\n[b.k]\nl = 4\n"
	n, err := config.ParseWith("a.toml", []byte(text), config.Options{FirstLine: 5})
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	var walk func(n *config.Node)
	walk = func(n *config.Node) {
		for _, f := range n.Fields {
			places = append(places, fmt.Sprintf("%s %d:%d", f.Name, f.Where.Line, f.Where.Column))
			walk(f.Value)
		}
		for _, item := range n.Items {
			places = append(places, fmt.Sprintf("[%s] %d:%d", item.Text, item.Where.Line, item.Where.Column))
			walk(item)
		}
	}
	walk(n)
	const want = "a 5:1, b 7:2, c 8:1, [x] 8:7, [y] 9:3, d 10:1, e 10:3, f 10:9, g 10:16, k 16:4, l 17:1, h 11:3, [] 11:3, i 12:1, j 15:1"
	if got := strings.Join(places, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProblemsAreFoundBehindAWrapping(t *testing.T) {
	_, err := config.Parse("a.yaml", []byte("a: &x 1\nb: &y 1\n"))
	if got := config.ProblemsOf(fmt.Errorf("loading: %w", err)); len(got) != 2 || got[1].Where.Line != 2 {
		t.Errorf("got %v", got)
	}
	if got := config.ProblemsOf(errors.New("else")); got != nil {
		t.Errorf("got %v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a: 1", "{\"a\": [1]}", "--- !x &y\n? *z\n: |\n  t\n", "...", "%TAG ! x\n---\n!a b: c", "\"\\ud800\""} {
		f.Add("a.yaml", []byte(seed))
		f.Add("a.json", []byte(seed))
		f.Add("a", []byte(seed))
	}
	for _, seed := range []string{"a.b = 1\n[c]\nd = [{e = 'x'}, 1979-05-27]\n[[f]]\n[f.g]\nh = 1.5", "a = [1, # c\n2]"} {
		f.Add("a.toml", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		n, err := config.Parse(file, data)
		if n == nil && err == nil {
			t.Fatalf("got %v and %v", n, err)
		}
		for _, p := range config.ProblemsOf(err) {
			if p.Where.File != file || len(data) <= config.MaxBytes && (p.Where.Line < 1 || p.Where.Column < 1) {
				t.Errorf("no place: %v", p)
			}
		}
		if n != nil {
			checkPlaces(t, n)
		}
	})
}

func checkPlaces(t *testing.T, n *config.Node) {
	t.Helper()
	if n.Where.Line < 1 || n.Where.Column < 1 {
		t.Errorf("%s has no place: %v", n.Path, n.Where)
	}
	for _, item := range n.Items {
		checkPlaces(t, item)
	}
	for _, f := range n.Fields {
		checkPlaces(t, f.Value)
	}
}

func TestPlacesInJSONCountCharacters(t *testing.T) {
	n, err := config.Parse("a.json", []byte("{\n \"é\": [true,\n\n  \"ö\", null]}"))
	if err != nil {
		t.Fatal(err)
	}
	list := n.Get("é")
	var got []string
	for _, one := range append([]*config.Node{n, list}, list.Items...) {
		got = append(got, one.Path+" "+one.Where.String())
	}
	want := []string{" a.json:1:1", "é a.json:2:7", "é[0] a.json:2:8", "é[1] a.json:4:3", "é[2] a.json:4:8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What an editor shows as a comment is not read as a member.
func TestTextThatDeceivesIsRefused(t *testing.T) {
	for _, hidden := range []string{"\u2028", "\u2029", "\r", "\u0085", "\u202e", "\u2066", "\u200f"} {
		_, err := config.Parse("policy.yaml", []byte("a: 1\n# harmless"+hidden+"b: 2\n"))
		if err == nil || !strings.Contains(err.Error(), "policy.yaml:2:") {
			t.Errorf("%+q: %v", hidden, err)
		}
	}
	if _, err := config.Parse("policy.yaml", []byte("a: 1\r\nb: 2\r\n")); err != nil {
		t.Errorf("lines that end in CR LF: %v", err)
	}
}
