package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The forms of a command line that runs durward: a line of a block, and a span of code.
var (
	lineOfBlock = regexp.MustCompile(`(?m)^(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:\./)?durward ([a-z][^|>\n]*)`)
	spanOfCode  = regexp.MustCompile("`(?:[A-Z_]+=\\S+ )*(?:\\./)?durward ([a-z][^`|>]*)`")
)

// shownOn lists the command lines of a page, without the program's name.
func shownOn(page string) (lines []string) {
	for i, part := range strings.Split(page, "```") {
		form := spanOfCode
		if i%2 == 1 {
			form = lineOfBlock
		}
		for _, found := range form.FindAllStringSubmatch(part, -1) {
			lines = append(lines, found[1])
		}
	}
	return lines
}

// TestPagesNameCommandsAndFlagsThatAreThere looks at every command line that a page shows.
func TestPagesNameCommandsAndFlagsThatAreThere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, page := range append(pages, "../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range shownOn(string(text)) {
			looked++
			if why := misuse(t, strings.Fields(line)); why != "" {
				t.Errorf("%s shows %q: %s", filepath.Base(page), line, why)
			}
		}
	}
	if looked < 100 {
		t.Errorf("only %d lines were found", looked)
	}
}

// misuse says what a command line names that is not there, or "".
func misuse(t *testing.T, words []string) string {
	t.Helper()
	if slices.Contains(absent, words[0]) || words[0] == "help" {
		return "" // other builds have it, or any word may follow
	}
	p, _, _ := start(t, nil, "/", nil)
	root := p.root(nil)
	named := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w != strings.ToLower(w) })
	if named < 0 {
		named = len(words)
	}
	cmd, rest, err := root.Find(words[:named])
	if err != nil || cmd == root || cmd.HasSubCommands() && len(rest) > 0 {
		return "there is no such command"
	}
	for _, word := range words[named:] {
		if word == "--" {
			return ""
		}
		name, _, _ := strings.Cut(strings.Trim(word, "[],.;:()"), "=")
		if long, ok := strings.CutPrefix(name, "--"); ok && cmd.Flag(long) == nil && long != "help" && long != "version" {
			return "there is no flag " + name
		}
	}
	return ""
}

func TestMisuseIsFound(t *testing.T) {
	for line, want := range map[string]string{
		"exec --cow -- x --nothing":     "",
		"audit tail -n 1":               "",
		"policy add-root DIR --write":   "",
		"exce -- x":                     "there is no such command",
		"audit tial":                    "there is no such command",
		"serve DIR --chekc":             "there is no flag --chekc",
		"policy add-root DIR --no-such": "there is no flag --no-such",
	} {
		if got := misuse(t, strings.Fields(line)); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
