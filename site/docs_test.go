//go:build linux || darwin

package site

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestTheReferenceHolds reads what docs/site.md shows: its configuration loads and is the
// built-in one, its page parses, and its table of answers has every code with its status.
func TestTheReferenceHolds(t *testing.T) {
	text, err := os.ReadFile("../docs/site.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		return regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(string(text))[1]
	}
	f, err := ParseFrontmatter([]byte(block("yaml")))
	if err != nil || len(f.Specs) != 5 || len(f.Env) != 1 {
		t.Errorf("the page shown is %+v, %v", f, err)
	}
	file := filepath.Join(t.TempDir(), "site.toml")
	if err := os.WriteFile(file, []byte(block("toml")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadConfig(file); err != nil {
		t.Errorf("the configuration shown: %v", err)
	}
	for code := range inner {
		status := (&Error{Code: code}).Status()
		row := regexp.MustCompile(`(?m)^\| (\d+) \|.*` + "`" + string(code) + "`").FindStringSubmatch(string(text))
		if row == nil || row[1] != strconv.Itoa(status) {
			t.Errorf("%s is %d, and the table shows %q", code, status, row)
		}
	}
}
