//go:build unix

package mcppolicy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// TestThePageSaysWhichPatternsAdmitOptions holds the table of docs/mcp.md to what patterns
// accept.
func TestThePageSaysWhichPatternsAdmitOptions(t *testing.T) {
	page, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- patterns -->\n")
	table, _, found := strings.Cut(rest, "<!-- end of patterns -->\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if !found || len(rows) < 5 {
		t.Fatal("docs/mcp.md has lost its table of patterns")
	}
	arguments := cellsOf(rows[0])
	for _, row := range rows[2:] {
		cells := cellsOf(row)
		quoted := string(jsonx.AppendString(nil, cells[0]))
		p := compile(t, "version: 1\nallowedRoots: [/w]\ncommands: [{id: c, exec: /usr/bin/rg, args: {patterns: [{type: regex, value: "+quoted+"}]}}]\n")
		for i := 1; i < len(cells); i++ {
			err := command(t, p, "c").Judge([]string{arguments[i]}, anywhere)
			if err != nil && durward.KindOf(err) != durward.Denied {
				t.Fatal(err)
			}
			if shown := cells[i]; shown != "yes" && shown != "no" || (shown == "yes") != (err == nil) {
				t.Errorf("%s and %s: the page shows %q, got %v", cells[0], arguments[i], shown, err)
			}
		}
	}
}

// cellsOf gives the cells of a row as they are read, without backquotes.
func cellsOf(row string) []string {
	const bar = "\x00"
	cells := strings.Split(strings.ReplaceAll(strings.Trim(row, "|"), `\|`, bar), "|")
	for i, cell := range cells {
		cells[i] = strings.Trim(strings.ReplaceAll(cell, bar, "|"), " `")
	}
	return cells
}
