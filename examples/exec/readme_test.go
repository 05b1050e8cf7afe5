package exec_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestREADMEShowsWhatItsExamplePrints runs the block of the README that holds run.sh, in
// the folder of the README, and compares its output with the block behind it.
func TestREADMEShowsWhatItsExamplePrints(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n(./examples/exec/run.sh\n)```.*?```\n(.*?)```").FindStringSubmatch(string(text))
	if blocks == nil {
		t.Fatal("README.md does not show the example")
	}
	command := exec.Command("sh", "-c", blocks[1])
	command.Dir = "../.."
	var diagnostics bytes.Buffer
	command.Stderr = &diagnostics
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", blocks[1], err, &diagnostics)
	}
	if diff := cmp.Diff(normal(blocks[2]), normal(string(printed))); diff != "" {
		t.Errorf("README.md shows (-), the command prints (+):\n%s", diff)
	}
}

// normal replaces what differs from run to run.
func normal(text string) []string {
	for _, varying := range []struct{ pattern, name string }{
		{`\S+/audit/\d{8}T\d{6}\.\d{3}Z-\d+\.jsonl`, "LOG"},
		{`[0-9a-f]{64}`, "HASH"},
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "ID"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`, "TIME"},
	} {
		text = regexp.MustCompile(varying.pattern).ReplaceAllString(text, varying.name)
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}
