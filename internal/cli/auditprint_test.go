package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/durward/durward/internal/audit"
)

// Columns are as wide as what stands in them, from the header on. A path that is very long is
// whole, and takes no more of the lines after it than others may.
func TestRecordsStandBelowTheirHeader(t *testing.T) {
	p, out, _ := start(t, nil, t.TempDir(), nil)
	table := newRecordTable(p)
	long := "/" + strings.Repeat("x", 4000)
	for _, path := range []string{"/wéekday-of-a-date", "/a", long, "/b"} {
		e := audit.Entry{Record: audit.Record{Phase: audit.Intent, Door: "site", Tool: "firecrawl.crawl", Path: path, Decision: "allow"}}
		if err := table.print(e); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var columns []int
	for _, line := range lines {
		before, _, _ := strings.Cut(strings.Replace(line, "DECISION", "allow", 1), "allow")
		columns = append(columns, utf8.RuneCountInString(before))
	}
	first, wide := columns[0], columns[0]-len("/weekday-of-a-date")+widestColumn
	if want := []int{first, first, first, wide - widestColumn + len(long), wide}; !slices.Equal(columns, want) {
		t.Errorf("the decisions stand at %d, not %d:\n%s", columns, want, out)
	}
	if !strings.Contains(lines[3], long) {
		t.Error("a long path is cut")
	}
}
