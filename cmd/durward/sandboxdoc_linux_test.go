//go:build amd64 || arm64

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/seccomp"
)

const sandboxPage, networkPage = "../../docs/sandbox.md", "../../docs/network.md"

// TestPagesShowWhatCommandsPrint runs each command that docs/sandbox.md and docs/network.md
// show, and compares what it prints.
func TestPagesShowWhatCommandsPrint(t *testing.T) {
	shell := sandboxShell(t)
	for page, want := range map[string]int{sandboxPage: 9, networkPage: 4} {
		commands := commandsOn(t, page)
		for _, c := range commands {
			printed := shell(c.line)
			if strings.HasPrefix(c.shown, "{") {
				sameReport(t, c.shown, printed)
			} else if diff := cmp.Diff(settled(c.shown), settled(printed)); diff != "" {
				t.Errorf("%s: the page shows (-), it prints (+):\n%s", c.line, diff)
			}
		}
		if len(commands) != want {
			t.Errorf("%s: %d commands were found", page, len(commands))
		}
	}
}

// A shownCommand is a line that a page shows, and what it shows that the line prints.
type shownCommand struct{ line, shown string }

// commandsOn gives the commands of the blocks of a page that begin with one.
func commandsOn(t *testing.T, page string) []shownCommand {
	t.Helper()
	var list []shownCommand
	for _, block := range blocksOf(t, page, "") {
		shown := regexp.MustCompile(`(?m)^\$ `).Split(block, -1)
		if strings.TrimSpace(shown[0]) != "" {
			continue
		}
		for _, one := range shown[1:] {
			line, printed, _ := strings.Cut(one, "\n")
			list = append(list, shownCommand{line, printed})
		}
	}
	return list
}

// TestTheSandboxPageTellsWhatIsHeld compares its table of guarantees with the report of
// each level.
func TestTheSandboxPageTellsWhatIsHeld(t *testing.T) {
	text, shell := sandboxText(t), sandboxShell(t)
	atMachine := []durward.Guarantee{durward.Kill, durward.Mem, durward.Pids}
	for level := range 3 {
		held := reportIn(t, shell("durward exec -q --report --level "+strconv.Itoa(level)+" -- true")).Guarantees
		for _, g := range durward.Guarantees() {
			if slices.Contains(atMachine, g) {
				if !strings.Contains(text, "\n| `"+string(g)+"`: ") {
					t.Errorf("the page does not tell of %s", g)
				}
				continue
			}
			row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(string(g)) + "` \\|.*$").FindString(text)
			cells := strings.Split(row, "|")
			if len(cells) != 7 {
				t.Fatalf("the row of %s is %q", g, row)
			}
			said, _, _ := strings.Cut(strings.TrimSpace(cells[3+level]), ":")
			if said != string(held[g].Held) {
				t.Errorf("level %d: the page says %s is %s, the report %s", level, g, said, held[g].Held)
			}
		}
	}
}

// TestTheSandboxPageNamesWhatIsRefused looks for the names of its table of system calls
// in the filter, and for the policy that it shows in what doctor takes.
func TestTheSandboxPageNamesWhatIsRefused(t *testing.T) {
	text, filter := sandboxText(t), seccomp.Compile(seccomp.Policy{}).String()
	_, table, _ := strings.Cut(text, "\n## System calls\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(table, -1) {
		if !regexp.MustCompile(`\b` + strings.ReplaceAll(name[1], "kexec", "kexec_load") + `\b`).MatchString(filter) {
			t.Errorf("the filter does not know %s", name[1])
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(blocksOf(t, sandboxPage, "yaml")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("durward", "doctor", "--policy", file)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(dir, "state"))
	out, _ := cmd.Output() // whether this machine holds it is another question
	if !regexp.MustCompile(`(?m)^policy +OK `).Match(out) {
		t.Errorf("doctor says of the policy:\n%s", out)
	}
}

func sandboxText(t *testing.T) string {
	t.Helper()
	return textOf(t, sandboxPage)
}

func textOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocksOf gives the blocks of a page in a language.
func blocksOf(t *testing.T, page, language string) []string {
	t.Helper()
	return blocksIn(textOf(t, page), language)
}

func blocksIn(text, language string) []string {
	var list []string
	for _, b := range regexp.MustCompile("(?sm)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		if b[1] == language {
			list = append(list, b[2])
		}
	}
	return list
}

// sandboxShell gives what runs a line in an empty directory that commands can enter.
func sandboxShell(t *testing.T) func(string) string {
	t.Helper()
	dir := openDir(t)
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "DURWARD_") })
	env = append(env, "DURWARD_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	return func(line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		text := strings.ReplaceAll(string(out), dir, "$PWD")
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			text += "(exit status " + strconv.Itoa(exit.ExitCode()) + ")\n"
		} else if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// settled replaces what differs from run to run.
func settled(text string) string {
	for _, varying := range []struct{ pattern, name string }{
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "ID"},
		{`\btrace [0-9a-f]{32}\b`, "trace ID"},
		{`\.durward-[0-9A-Z]{8}\b`, ".durward-XXXXXXXX"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`, "TIME"},
	} {
		text = regexp.MustCompile(varying.pattern).ReplaceAllString(text, varying.name)
	}
	return strings.TrimSpace(text)
}

func reportIn(t *testing.T, text string) durward.Report {
	t.Helper()
	var found struct{ Sandbox durward.Report }
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&found); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return found.Sandbox
}

// sameReport compares two reports but for what depends on the machine and its user: the
// version of Landlock, who bounds memory, times, hashes and ids.
func sameReport(t *testing.T, shown, printed string) {
	t.Helper()
	var both [2]durward.Report
	for i, text := range []string{shown, printed} {
		r := reportIn(t, regexp.MustCompile(`landlock:\d+`).ReplaceAllString(text, "landlock:N"))
		if r.PolicyHash == "" || r.SetupUs <= 0 || r.Identity.Inner != r.Identity.Host || r.Guarantees[durward.Mem].Held == "" {
			t.Errorf("something is left out: %s", text)
		}
		r.PolicyHash, r.SetupUs, r.Identity = "", 0, durward.ReportIdentity{}
		r.Guarantees[durward.Mem] = durward.Held{}
		r.Weak = slices.DeleteFunc(r.Weak, func(line string) bool { return strings.HasPrefix(line, "mem:") })
		if len(r.Weak) == 0 {
			r.Weak = nil
		}
		both[i] = r
	}
	if diff := cmp.Diff(both[0], both[1]); diff != "" {
		t.Errorf("the page shows (-), durward reports (+):\n%s", diff)
	}
}
