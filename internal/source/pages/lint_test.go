package pages

import (
	"errors"
	"slices"
	"testing"
)

func TestLint(t *testing.T) {
	noSuch := func(name string) error {
		if name == "nosuch" {
			return errors.New("it is not on PATH")
		}
		return nil
	}
	for _, test := range []struct {
		name, file, page string
		want             []string
	}{
		{"nothing to say", "a.md", "---\ntools:\n  - [ls, {}, {regex: \"^x$\"}, \";\"]\n---\n", nil},
		{"no frontmatter", "a.md", "# text\n", nil},
		{"no lock", "a.md", "---\ntools:\n  - [ls]\n---\n", []string{`a.md:3:5: warning: tools[0] allows any further words; end it with ";" to forbid them`}},
		{"a loose pattern", "a.md", "\n---\ntools:\n  - [ls, ;]\n  - [ls, {regex: \"^x\"}, ;]\n---\n", []string{
			`a.md:5:5: warning: tools[1][1]: the pattern "^x" is not anchored on both sides and may be found anywhere in a word; begin it with ^ and end it with $`,
		}},
		{"no program", "a.md", "+++\ntools = [[\"nosuch\", \";\"]]\n+++\n", []string{`a.md:2:1: error: tools[0]: nosuch: it is not on PATH`}},
		{"several mistakes", "a.md", "---\ntools:\n  - [5]\n  - [ls, ;, x]\n---\n", []string{
			`a.md:3:6: error: tools[0][0] is an integer, not a word; put it in quotes: "5"`,
			`a.md:4:10: error: tools[1][1]: ";" forbids further words and must stand last`,
		}},
		{"no delimiter", "a.md", "\n\n----\ntools: [[ls]]\n----\n", []string{
			`a.md:3:1: warning: the page begins like frontmatter, but a delimiter is a line of exactly --- or +++, and two of them are needed`,
		}},
		{"a key spelt nearly like one", "a.md", "---\ntitle: x\ntool:\n  - [ls]\n---\n", []string{`a.md:3:1: warning: the key "tool" means nothing (did you mean "tools"?)`}},
		{"data that begins alike", "a.yaml", "--- x\n", nil},
		{"data with other frontmatter", "a.yaml", "---\ntools: 1\n---\n", nil},
		{"a page of another name", "a.txt", "---\ntools: [[nosuch, ;]]\n---\n", []string{`a.txt:2:9: error: tools[0]: nosuch: it is not on PATH`}},
	} {
		var got []string
		for _, f := range Lint(test.file, []byte(test.page), noSuch) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}
