package glob

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/durward/durward"
	"pgregory.net/rapid"
)

// matches asks a pattern about one path, as a walk would.
func (p pattern) matches(name string) bool {
	at, match := p.start(), false
	for part := range strings.SplitSeq(name, "/") {
		at, match = p.step(at, part)
	}
	return match
}

func TestPattern(t *testing.T) {
	tests := []struct{ pattern, yes, no string }{
		{"a.md", "a.md", "a.m b.md A.md a.md/x x/a.md aXmd"},
		{"*", "a .x a.md", "a/b"},
		{"*.md", ".md a.md a.b.md", "a.mdx a/b.md"},
		{"a*b*c", "abc aXbXc abbcc", "ab acb abcd"},
		{"?", "a ü 日", "ab"},
		{"a?c", "abc a-c", "ac abbc"},
		{"[a-c]x", "ax cx", "dx x ab"},
		{"[!a-c]x", "dx -x", "ax x"},
		{"[abc-]", "a c -", "d b-"},
		{"[-a]", "- a", "b"},
		{"[]a]", "] a", "b []"},
		{"[!]a]", "b", "] a"},
		{"[a-cx-z]", "b y", "d w"},
		{"[!^]", "a", "^"},
		{"[.]", ".", "a"},
		{"[*?]", "* ?", "a"},
		{"[ä-ü]", "ö", "a z"},
		{"{a,b}", "{a,b}", "a b"},
		{`\*`, `\ \a`, "*"},
		{"a+(b)|c$", "a+(b)|c$", "ab aab c"},
		{"a/b", "a/b", "a b a/b/c"},
		{"*/b", "a/b x/b", "b a/a/b"},
		{"./a//b", "a/b", "a"},
		{"**", "a a/b a/b/c", ""},
		{"**/*", "a a/b a/b/c", ""},
		{"**/x", "x a/x a/b/x", "a ax x/a"},
		{"a/**", "a/b a/b/c", "a b/a"},
		{"a/**/x", "a/x a/b/x a/b/c/x", "x a a/b b/a/x"},
		{"**/a/**", "a/b x/a/b x/a/b/c", "a x/a"},
		{"**/**/**/x", "x a/x a/b/c/d/x", "a"},
		{"**/a/**/b", "a/b a/a/b x/a/y/b", "b/a a"},
	}
	for _, tt := range tests {
		p, err := parse(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		for _, name := range strings.Fields(tt.yes) {
			if !p.matches(name) {
				t.Errorf("%s does not match %s", tt.pattern, name)
			}
		}
		for _, name := range strings.Fields(tt.no) {
			if p.matches(name) {
				t.Errorf("%s matches %s", tt.pattern, name)
			}
		}
	}
}

func TestRefusedPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		reason  durward.Reason
	}{
		{"/", durward.OutsideRoot},
		{"/etc/*", durward.OutsideRoot},
		{"//x", durward.OutsideRoot},
		{"..", durward.OutsideRoot},
		{"../*", durward.OutsideRoot},
		{"a/../b", durward.OutsideRoot},
		{"a..b", durward.OutsideRoot},
		{"[", durward.BadCall},
		{"[a", durward.BadCall},
		{"[a-", durward.BadCall},
		{"[]", durward.BadCall},
		{"[!", durward.BadCall},
		{"[!]", durward.BadCall},
		{"[^a]", durward.BadCall},
		{"[z-a]", durward.BadCall},
		{"[a/b]", durward.BadCall},
		{"a**", durward.BadCall},
		{"**a", durward.BadCall},
		{"***", durward.BadCall},
		{"x/**.md", durward.BadCall},
		{"", durward.BadCall},
		{".", durward.BadCall},
		{"./", durward.BadCall},
		{"a\x00b", durward.BadCall},
		{"\xff", durward.BadCall},
		{strings.Repeat("x", maxPatternBytes+1), durward.BadCall},
		{strings.Repeat("a/", maxSegments+1), durward.BadCall},
	} {
		if _, err := parse(tt.pattern); durward.ReasonOf(err) != tt.reason {
			t.Errorf("%.40q: %v, want %s", tt.pattern, err, tt.reason)
		}
	}
}

// reference matches by trying everything, one character and one name after the other.
func reference(segments, names []string) bool {
	switch {
	case len(segments) == 0:
		return len(names) == 0
	case segments[0] == "**" && len(segments) == 1:
		return len(names) > 0
	case segments[0] == "**":
		return reference(segments[1:], names) || len(names) > 0 && reference(segments, names[1:])
	case len(names) == 0:
		return false
	}
	// The library has escapes, and "^" where we have "!". Neither is in the alphabet.
	same, err := path.Match(strings.ReplaceAll(segments[0], "[!", "[^"), names[0])
	return err == nil && same && reference(segments[1:], names[1:])
}

func TestPatternAgreesWithTheReference(t *testing.T) {
	parts := rapid.SampledFrom([]string{"**", "*", "?", "a", "a*", "*b", "[ab]", "[!a]", "b?", "*a*b*", "[a-c]c"})
	names := rapid.SampledFrom([]string{"a", "b", "c", "ab", "bc", "aab", "cc"})
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(parts, 1, 7).Draw(t, "pattern")
		path := rapid.SliceOfN(names, 1, 7).Draw(t, "path")
		p, err := parse(strings.Join(segments, "/"))
		if err != nil {
			t.Fatal(err)
		}
		var plain []string // ** in a row are one: the last of them wants a name
		for i, s := range segments {
			if s != "**" || i == 0 || segments[i-1] != "**" {
				plain = append(plain, s)
			}
		}
		if got, want := p.matches(strings.Join(path, "/")), reference(plain, path); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// FuzzPattern asks of any pattern: no panic, no way out, and agreement with the
// reference where both know the syntax.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"**/*.md", "docs/a.md"},
		{"[!a-c]?/**", "dx/y/z"},
		{"[]a-]/{x,y}", "]/{x,y}"},
		{"../x", "x"},
		{"a**", "ab"},
		{"[z-a", "z"},
		{"[^x]", "^"},
		{"*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa"},
		{"**/**/**/x", "a/b/c/x"},
		{"[\xc3-\xff]", "\xc3"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		p, err := parse(text)
		if err != nil {
			if r := durward.ReasonOf(err); r != durward.BadCall && r != durward.OutsideRoot {
				t.Fatalf("%q is refused as %s", text, r)
			}
			return
		}
		if strings.Contains(text, "..") || strings.HasPrefix(text, "/") {
			t.Fatalf("%q is a pattern", text)
		}
		got := p.matches(name)
		if strings.ContainsAny(text, `\[`) || strings.Contains("/"+text+"/", "/./") || strings.Contains(text, "//") ||
			strings.HasSuffix(text, "/") || strings.Contains(text, "**/**") || strings.Count(text, "**") > 3 || !utf8.ValidString(name) {
			return
		}
		if want := reference(strings.Split(text, "/"), strings.Split(name, "/")); got != want {
			t.Fatalf("%q and %q: %v, want %v", text, name, got, want)
		}
	})
}
