package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/errorpage"
)

var update = flag.Bool("update", false, "write the generated pages anew")

const errorPages = "../../docs/errors"

// TestEveryCodeHasItsPage holds docs/errors to what the tables say, both ways.
func TestEveryCodeHasItsPage(t *testing.T) {
	want := map[string]string{}
	for _, reason := range durward.Reasons() {
		want[reason.Code()+".md"] = pageOf(reason).Markdown()
	}
	if *update {
		writePages(t, want)
	}
	have := map[string]string{}
	for _, file := range filesIn(t, errorPages) {
		text, err := os.ReadFile(filepath.Join(errorPages, file))
		if err != nil {
			t.Fatal(err)
		}
		have[file] = string(text)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("docs/errors is not what the tables say (-), but (+); go generate ./internal/cli makes it:\n%s", diff)
	}
}

func writePages(t *testing.T, pages map[string]string) {
	t.Helper()
	for _, file := range filesIn(t, errorPages) {
		if _, wanted := pages[file]; !wanted {
			if err := os.Remove(filepath.Join(errorPages, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for file, text := range pages {
		if err := os.WriteFile(filepath.Join(errorPages, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// The page of a code is shown by its word, too, so no word may be a command's.
func TestNoWordOfAnErrorIsACommand(t *testing.T) {
	p, _, _ := start(t, nil, "/", nil)
	names := []string{errorsTopic}
	for _, c := range p.root(nil).Commands() {
		names = append(names, append(c.Aliases, c.Name())...)
	}
	for _, name := range names {
		if reason, ok := errorpage.Find(name); ok {
			t.Errorf("%s is a command, and the word of %s", name, reason.Code())
		}
	}
}

// TestPagesTellWhatTheDoorsAnswer looks at one answer of each door.
func TestPagesTellWhatTheDoorsAnswer(t *testing.T) {
	for _, test := range []struct {
		reason durward.Reason
		want   []string
	}{
		{durward.CommandNotAllowed, []string{"`durward serve` | HTTP 403, `not_allowed`"}},
		{durward.QueueFull, []string{"`durward gateway` | HTTP 429, `RATE_LIMITED`", "`durward hub` | HTTP 429, `busy`", "`durward mcp` | JSON-RPC -31002, `TIMEOUT (concurrency)`"}},
		{durward.ArgMetachar, []string{"`durward mcp` | JSON-RPC -31001, `POLICY_DENY (argMetachar)`"}},
		{durward.FileNotFound, []string{"`durward exec-server`, `fs/*` | JSON-RPC -32004, `notFound`", "exit status | 7; of `durward exec` 125"}},
		{durward.LimitMemory, []string{"exit status | 1; of `durward exec` 137"}},
	} {
		page := pageOf(test.reason).Markdown()
		for _, want := range test.want {
			if !strings.Contains(page, "| "+want+" |\n") {
				t.Errorf("%s: %q is not in\n%s", test.reason, want, page)
			}
		}
	}
}
