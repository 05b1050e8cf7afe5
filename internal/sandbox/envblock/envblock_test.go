package envblock

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestOf(t *testing.T) {
	for _, test := range []struct {
		env  []string
		want string
	}{
		{nil, "\x00\x00"},
		{[]string{"A=1"}, "A=1\x00\x00"},
		{[]string{"b=2=3", "PATH=C:\\x", "A=", "c=\U0001F600"}, "A=\x00b=2=3\x00c=\U0001F600\x00PATH=C:\\x\x00\x00"},
	} {
		got, err := Of(test.env)
		if err != nil || string(utf16.Decode(got)) != test.want {
			t.Errorf("%q: %q, %v; want %q", test.env, string(utf16.Decode(got)), err, test.want)
		}
	}
}

// What would read as something else has no block.
func TestRefuses(t *testing.T) {
	for _, env := range [][]string{{""}, {"A"}, {"=C:=x"}, {"A=1\x00B=2"}, {"A\x00=1"}, {"A=\xff"}, {"Path=a", "PATH=b"}, {"A=1", "A=1"}} {
		if block, err := Of(env); err == nil {
			t.Errorf("%q: %q", env, string(utf16.Decode(block)))
		}
	}
}

// A block is read back as what it was made of.
func FuzzOf(f *testing.F) {
	f.Add("A", "1")
	f.Add("É", "\u0000")
	f.Fuzz(func(t *testing.T, name, value string) {
		env := []string{name + "=" + value, "Z9=last"}
		block, err := Of(env)
		if err != nil {
			return
		}
		text, ok := strings.CutSuffix(string(utf16.Decode(block)), "\x00\x00")
		got := strings.Split(text, "\x00")
		slices.Sort(got)
		slices.Sort(env)
		if !ok || !slices.Equal(got, env) {
			t.Errorf("%q reads as %q", env, got)
		}
	})
}
