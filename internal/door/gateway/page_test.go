package gateway

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// The page tells of every answer that is an error, and of no other.
func TestThePageTellsEveryError(t *testing.T) {
	page, err := os.ReadFile("../../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // by status and code
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasPrefix(cells[0], "| ") && strings.HasPrefix(cells[1], "`") {
			rows[strings.TrimPrefix(cells[0], "| ")+" "+strings.Trim(cells[1], "`")] += line
		}
	}
	told := map[string]bool{}
	for reason, f := range faults {
		if reason == durward.CallCancelled {
			continue // nobody is there to be told
		}
		key := fmt.Sprintf("%d %s", f.status, f.code)
		row, ok := rows[key]
		if !ok || f.reason != "" && !strings.Contains(row, "`"+f.reason+"`") {
			t.Errorf("the page does not tell of %s: %s %q", reason, key, f.reason)
		}
		if retryable := map[bool]string{true: "| yes |", false: "| no |"}[f.retryable]; f.status != 502 && !strings.Contains(row, retryable) {
			t.Errorf("the page says of %s: %s", key, row)
		}
		told[key] = true
	}
	for key := range rows {
		if !told[key] {
			t.Errorf("the page tells of %s, which is no answer", key)
		}
	}
}
