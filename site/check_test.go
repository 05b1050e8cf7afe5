package site

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/durward/durward"
)

func TestCheckFindsWhatIsWrongWithPages(t *testing.T) {
	t.Chdir(folder(t))
	for name, page := range map[string]string{
		"README.md":    "---\ntools:\n  - [glob, \"*\", ;]\n  - [\"$SHOW\", ;]\n---\n",
		"a/bad.md":     "---\ntools:\n  - [ls, 5]\n---\n",
		"a/loose.md":   "---\ntools:\n  - [ls, {regex: x}]\n---\n",
		"a/missing.md": "---\ntools:\n  - [durward-no-such-program, ;]\n  - [./run, ;]\n  - [./plain, ;]\n  - [/bin/sh, ;]\n---\n",
		"a/run":        "#!/bin/sh\n",
		"a/plain":      "",
		"a/dashes.md":  "----\n",
		"a/data.yaml":  "--- {}\n",
		".hidden.md":   "---\ntools: 1\n---\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join("site", name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join("site", name), page)
	}
	if err := os.Chmod("site/a/run", 0o700); err != nil {
		t.Fatal(err)
	}
	pages, found, err := Check(t.Context(), Config{Root: "site", Env: map[string]string{"SHOW": "cat"}})
	if err != nil || pages != 3 {
		t.Errorf("%d pages, %v", pages, err)
	}
	var got []string
	for _, f := range found {
		got = append(got, f.String())
	}
	want := []string{
		`site/a/bad.md:3:10: error: tools[0][1] is an integer, not a word; put it in quotes: "5"`,
		`site/a/dashes.md:1:1: warning: the page begins like frontmatter, but a delimiter is a line of exactly --- or +++, and two of them are needed`,
		`site/a/loose.md:3:5: warning: tools[0] allows any further words; end it with ";" to forbid them`,
		`site/a/loose.md:3:5: warning: tools[0][1]: the pattern "x" is not anchored on both sides and may be found anywhere in a word; begin it with ^ and end it with $`,
		`site/a/missing.md:3:5: error: tools[0]: durward-no-such-program: there is no such program in /usr/local/bin:/usr/bin:/bin`,
		`site/a/missing.md:5:5: error: tools[2]: ./plain: it cannot be executed`,
		`site/a/missing.md:6:5: error: tools[3]: /bin/sh: a program that is named by a path must lie in the site`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
}

func TestCheckFindsAPolicyThatCannotBe(t *testing.T) {
	dir := folder(t)
	sandbox, err := ParseSandbox("p.yaml", []byte("filesystem: {read: [/durward-no-such-path]}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Check(t.Context(), Config{Root: dir, Sandbox: sandbox}); durward.ReasonOf(err) != durward.PolicyInvalid {
		t.Error(err)
	}
}
