package denyglob

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestPatternsThatWouldDenyNothingAreRefused(t *testing.T) {
	for _, pattern := range []string{
		"", "a", "*", "**/a", "./a", "/", "//a", "/a/", "/a//b", "/a/./b", "/a/../b", `/a/\.\./b`, "/a/[.]/b", `/a/.\./b`, "/a\x00b",
		"/[", "/[]", "/[a", "/[]a]", "/[^]", "/[-]", "/[a/b]", `/a\`, `/a\/b`, "/a**", "/**a", "/***", "/a/**.key",
	} {
		m, err := compile([]string{"/fine", pattern})
		if durward.ReasonOf(err) != durward.SandboxError || m != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestLiteral(t *testing.T) {
	for _, tt := range []struct {
		part, name string
		ok         bool
	}{
		{"a", "a", true},
		{".env", ".env", true},
		{"{a,b}", "{a,b}", true},
		{"[*][?][[]", "*?[", true},
		{`\*\?\[\\\a`, `*?[\a`, true},
		{`[\]]`, "", false},
		{`[\\]`, `\`, true},
		{"é\xff", "é\xff", true},
		{"a]", "a]", true},
		{"[é]", "", false},
		{"[ab]", "", false},
		{"[a-a]", "", false},
		{"[^a]", "", false},
		{"a*", "", false},
		{"?", "", false},
	} {
		if name, ok := literal(tt.part); name != tt.name || ok != tt.ok {
			t.Errorf("%s: %q %t", tt.part, name, ok)
		}
	}
}

func TestMatching(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"/w/*", "/w/a", true},
		{"/w/*", "/w/.a", true},
		{"/w/*", "/w", false},
		{"/w/*", "/w/a/b", false},
		{"/w/**", "/w", true},
		{"/w/**", "/w/a/b", true},
		{"/w/**", "/x", false},
		{"/**", "/", true},
		{"/**/a", "/a", true},
		{"/**/a", "/b/c/a", true},
		{"/**/a", "/a/b", false},
		{"/**/a/**/b", "/a/b", true},
		{"/**/a/**/b", "/x/a/y/z/b", true},
		{"/**/a/**/b", "/x/b/a", false},
		{"/**/**/a", "/a", true},
		{"/w/[a-c]?", "/w/b\xff", true},
		{"/w/[^a]", "/w/b", true},
		{"/w/[^a]", "/w/a", false},
		{`/w/\*`, "/w/*", true},
		{`/w/\*`, "/w/a", false},
		{"/w/[*]", "/w/*", true},
		{"/w/A", "/w/a", false},
		{"/w/*\n", "/w/x\n", true},
		{"/w/?", "/w/é", true},
	} {
		m, err := compile([]string{tt.pattern})
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got := m.matches(tt.path); got != tt.want {
			t.Errorf("%s of %q: %t", tt.pattern, tt.path, got)
		}
	}
}

// matches reads a path as a walk does.
func (m *machine) matches(path string) bool {
	at, next := m.none(), m.none()
	copy(at, m.start)
	for _, name := range namesOf(path) {
		m.advance(at, name, next)
		at, next = next, at
	}
	return at.meets(m.ends)
}

func namesOf(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// refers is what a pattern means, said as plainly as can be.
func refers(pattern, names []string) bool {
	switch {
	case len(pattern) == 0:
		return len(names) == 0
	case pattern[0] == "**":
		return refers(pattern[1:], names) || len(names) > 0 && refers(pattern, names[1:])
	case len(names) == 0:
		return false
	}
	ok, err := filepath.Match(pattern[0], names[0])
	return ok && err == nil && refers(pattern[1:], names[1:])
}

func FuzzMatchingIsWhatThePlainWordsSay(f *testing.F) {
	f.Add("/w/**/.env", "/w/*/[a-c]?", "/w/a/.env")
	f.Add("/**/a/**/b", `/\*/[*]`, "/*/*")
	f.Add("/**/**", "/a", "/")
	f.Add("/a*b*c/**/?\xff", "/[^\xff]", "/abbc/x/é\xff")
	f.Fuzz(func(t *testing.T, one, other, path string) {
		if len(one)+len(other)+len(path) > 60 { // the plain words take their time
			return
		}
		m, err := compile([]string{one, other})
		if err != nil {
			return
		}
		names := namesOf(path)
		for n := range len(names) + 1 {
			want := refers(namesOf(one), names[:n]) || refers(namesOf(other), names[:n])
			if got := m.matches(strings.Join(names[:n], "/")); got != want {
				t.Fatalf("%q and %q of %q: %t", one, other, names[:n], got)
			}
		}
	})
}

func FuzzLiteralIsTheOnlyMatch(f *testing.F) {
	f.Add("[*]a", "*a")
	f.Add(`\[a`, "[a")
	f.Add(`[\]]`, "]")
	f.Add("[\\\xff]", "\xff")
	f.Fuzz(func(t *testing.T, part, other string) {
		if strings.Contains(part+other, "/") {
			return
		}
		if _, err := filepath.Match(part, ""); err != nil {
			return
		}
		name, ok := literal(part)
		if !ok {
			return
		}
		if match, err := filepath.Match(part, name); !match || err != nil {
			t.Fatalf("%q does not match %q", part, name)
		}
		if match, _ := filepath.Match(part, other); match && other != name {
			t.Fatalf("%q matches %q, not only %q", part, other, name)
		}
	})
}

func TestStates(t *testing.T) {
	s, u := make(states, 3), make(states, 3)
	for _, i := range []int{0, 63, 64, 130} {
		s.add(i)
	}
	var got []int
	for i := s.next(0); i >= 0; i = s.next(i + 1) {
		got = append(got, i)
	}
	if len(got) != 4 || got[1] != 63 || got[2] != 64 || got[3] != 130 || s.next(131) != -1 || s.next(192) != -1 {
		t.Errorf("got %v", got)
	}
	u.add(130)
	if !s.meets(u) || !s.beyond(u) || u.beyond(s) || u.has(129) || !u.has(130) {
		t.Error("sets are compared wrongly")
	}
}
