package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
	"github.com/durward/durward/internal/toolcall"
)

const page = "../../../docs/mcp.md"

// rowsOf gives the cells of the rows of a table of the page, by the first cell. The table
// stands behind a text; backquotes are left out.
func rowsOf(t *testing.T, behind string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), behind)
	table := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(rest)
	if !found || table == "" {
		t.Fatalf("the page has no table behind %q", behind)
	}
	rows := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, "`", ""), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

func TestThePageHasEveryWordAndItsRules(t *testing.T) {
	shown := rowsOf(t, "<!-- errors -->")
	for w, has := range contract {
		row := shown[string(w)]
		if len(row) != 3 || row[0] != fmt.Sprint(has.code) || row[2] != has.rules {
			t.Errorf("%s is %d with %s, and the page shows %q", w, has.code, has.rules, row)
		}
	}
	if row := shown[string(outputTruncated)]; len(row) != 3 || row[0] != fmt.Sprint(outputTruncated.code()) {
		t.Errorf("the page shows %q", row)
	}
	if len(shown) != len(contract)+1 {
		t.Errorf("the page shows %d words", len(shown))
	}
}

func TestThePageHasEveryToolAsItIsListed(t *testing.T) {
	shown := rowsOf(t, "\n## The tools\n")
	list := toolsOf(surface())
	for _, tool := range list {
		row := shown[tool.Name]
		if len(row) != 4 || row[0] != tool.Title {
			t.Errorf("%s: the page shows %q", tool.Name, row)
			continue
		}
		for i, want := range [][]string{membersOf(t, tool.InputSchema), membersOf(t, tool.OutputSchema), hintsOf(t, tool.Annotations)} {
			words := strings.Split(row[i+1], ", ")
			if slices.Sort(words); !slices.Equal(words, want) {
				t.Errorf("%s: the page shows %q, want %q", tool.Name, words, want)
			}
		}
	}
	if len(shown) != len(list) {
		t.Errorf("the page shows %d tools", len(shown))
	}
}

// membersOf lists the members that a schema is for.
func membersOf(t *testing.T, schema json.RawMessage) []string {
	t.Helper()
	var s struct{ Properties map[string]any }
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// hintsOf lists the hints that are true.
func hintsOf(t *testing.T, h hints) []string {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]bool
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(_ string, on bool) bool { return !on })
	return slices.Sorted(maps.Keys(all))
}

func TestThePageHasEveryRevision(t *testing.T) {
	shown := rowsOf(t, "\n## Talking to it\n")
	for way, want := range map[string][]string{"MCP with a handshake": mcpspec.Legacy(), "MCP without one": {mcpspec.Modern}} {
		if row := shown[way]; len(row) != 2 || row[1] != strings.Join(want, ", ") {
			t.Errorf("%s has %q, and the page shows %q", way, want, row)
		}
	}
}

func TestThePageHasTheLimits(t *testing.T) {
	shown := rowsOf(t, "<!-- limits -->")
	for of, want := range map[string]string{
		"a line":                                      fmt.Sprintf("%d MiB; a longer one is answered with %d", jsonrpc.MaxLineBytes>>20, jsonrpc.InvalidRequest),
		"arguments of a command":                      fmt.Sprint(toolcall.MaxArgs),
		"one argument":                                fmt.Sprintf("%d bytes", toolcall.MaxArgBytes),
		"standard input of a command":                 fmt.Sprintf("%d bytes, or sandbox.limits.stdinBytes", durward.DefaultLimits().Stdin),
		"calls that are not answered yet":             fmt.Sprintf("%d, and %d MiB of requests; one more is refused with TIMEOUT (concurrency)", maxCalls, maxTaken>>20),
		"calls that are carried out at once":          fmt.Sprintf("commands: %d that may print %d MiB, or as many as the policy wants; files: %d that hold %d MiB, or one; the others wait", maxAtOnce, maxCommands>>20, maxAtOnce, maxFiles>>20),
		"answers that the client has not read":        fmt.Sprintf("%d MiB, or one; until there is room, calls that are over keep their place", maxAnswers>>20),
		"an array of messages":                        fmt.Sprintf("%d, and %d MiB of answers; %d arrays with calls at once", maxBatch, maxBatchBytes>>20, maxBatches),
		"open subscriptions/listen":                   fmt.Sprint(maxSubscriptions),
		"reports of progress":                         fmt.Sprintf("one in %d ms", progressEvery.Milliseconds()),
		"what a client may keep a list for (ttlMs)":   fmt.Sprintf("%d ms", ttlMs),
		"time for calls to end when the session ends": fmt.Sprintf("%.0f s", grace.Seconds()),
	} {
		if row := shown[of]; len(row) != 1 || row[0] != want {
			t.Errorf("%s: the page shows %q, want %q", of, row, want)
		}
	}
}
