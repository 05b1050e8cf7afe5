package toolsearch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward/internal/toolsearch"
)

// catalogue is like what a hub with some servers has.
var catalogue = []toolsearch.Entry{
	{Name: "read_file", Description: "Read the contents of a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Where the file is"}}}`)},
	{Name: "write_file", Description: "Create a file, or overwrite it with new text.", Schema: json.RawMessage(`{"properties":{"path":{},"content":{}}}`)},
	{Name: "list_directory", Description: "List the files in a directory."},
	{Name: "git_commit", Description: "Records changes to the repository", Schema: json.RawMessage(`{"properties":{"repo_path":{},"message":{}}}`)},
	{Name: "git_diff_staged", Description: "Shows changes that are staged for commit"},
	{Name: "createPullRequest", Title: "Open pull request", Description: "Create a new pull request in a GitHub repository"},
	{Name: "get-current-time", Description: "Get current time in a specific timezone", Schema: json.RawMessage(`{"properties":{"timezone":{"description":"IANA timezone name, such as America/New_York"}}}`)},
	{Name: "convert_time", Description: "Convert time between timezones"},
	{Name: "HTTPFetch", Description: "Fetches a URL from the internet and gives its contents as markdown"},
	{Name: "send_message", Description: "Send a message to a channel", Schema: json.RawMessage(`{"properties":{"channel":{"type":"string"},"options":{"properties":{"threadTimestamp":{}}}}}`)},
	{Name: "create_issue", Description: "Create a new issue", Schema: json.RawMessage(`{"anyOf":[{"properties":{"severity":{"enum":["blocker","trivial"]}}}]}`)},
	{Name: "天気", Description: "東京の天気予報を取得する"},
}

func found(x *toolsearch.Index, query string, limit int) []string {
	var names []string
	for _, m := range x.Find(query, limit, nil) {
		names = append(names, catalogue[m.Entry].Name)
	}
	return names
}

// What somebody would write finds the tool that somebody would mean first.
func TestTheRightToolComesFirst(t *testing.T) {
	x := toolsearch.New(catalogue)
	for query, want := range map[string]string{
		"read_file":                      "read_file",
		"READ_FILE":                      "read_file",
		"read a file":                    "read_file",
		"show contents of file":          "read_file",
		"overwrite file":                 "write_file",
		"directories":                    "list_directory",
		"commit":                         "git_commit",
		"git staged changes":             "git_diff_staged",
		"pull request":                   "createPullRequest",
		"open PR pull":                   "createPullRequest",
		"create_pull_request":            "createPullRequest",
		"time in New York":               "get-current-time",
		"convert between timezones":      "convert_time",
		"http fetch":                     "HTTPFetch",
		"internet url":                   "HTTPFetch",
		"markd":                          "HTTPFetch",
		"post to a channel":              "send_message",
		"thread timestamp":               "send_message",
		"blocker":                        "create_issue",
		"new issue with a severity":      "create_issue",
		"東京の天気":                          "天気",
		"git_commit\n\x00<script>\u202e": "git_commit",
	} {
		if got := found(x, query, 3); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q, want %s first", query, got, want)
		}
	}
	for _, query := range []string{"", "   ", "=", "_-_", "zzzzzz", "\xff\xfe"} {
		if got := found(x, query, 5); len(got) > 0 {
			t.Errorf("%q finds %q", query, got)
		}
	}
	if got := x.Find("file", 0, nil); got != nil {
		t.Error(got)
	}
	if got := toolsearch.New(nil).Find("file", 5, nil); len(got) != 0 {
		t.Error(got)
	}
}

// Each tool comes first by its whole name, the order is the same at each time and for each order
// of the catalogue, scores go down, and a limit only cuts.
func TestAnyCatalogue(t *testing.T) {
	word := rapid.SampledFrom([]string{"read", "write", "File", "git", "list", "HTTP", "x", "2", "データ", "é"})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "words"), "_") })
		names := rapid.SliceOfNDistinct(name, 1, 12, strings.ToLower).Draw(t, "names")
		entries := make([]toolsearch.Entry, len(names))
		for i, n := range names {
			entries[i] = toolsearch.Entry{Name: n, Description: strings.Join(rapid.SliceOfN(word, 0, 8).Draw(t, "text"), " ")}
		}
		ask := func(entries []toolsearch.Entry, query string, limit int) (names []string) {
			matches := toolsearch.New(entries).Find(query, limit, nil)
			for i, m := range matches {
				if i > 0 && m.Score > matches[i-1].Score || m.Score <= 0 {
					t.Fatalf("scores %v", matches)
				}
				names = append(names, entries[m.Entry].Name)
			}
			return names
		}
		for _, n := range names {
			if got := ask(entries, n, 1); len(got) != 1 || got[0] != n {
				t.Fatalf("%q finds %q", n, got)
			}
		}
		query := strings.Join(rapid.SliceOfN(word, 1, 5).Draw(t, "query"), " ")
		all := ask(entries, query, 100)
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		mixed := rapid.Permutation(entries).Draw(t, "mixed")
		if got := ask(mixed, query, limit); !slices.Equal(got, all[:min(limit, len(all))]) {
			t.Fatalf("%q finds %q in another order of the catalogue, %q of all", query, got, all)
		}
	})
}

// A tool with endless texts takes no more room than others, and does not hide them.
func TestEndlessTexts(t *testing.T) {
	const size = 1 << 20
	var b strings.Builder
	for i := range size / 8 {
		fmt.Fprintf(&b, "file%d ", i)
	}
	long := b.String()
	schema, err := json.Marshal(map[string]any{"properties": map[string]any{"path": map[string]any{"description": long}}})
	if err != nil {
		t.Fatal(err)
	}
	deep := json.RawMessage(strings.Repeat(`{"items":`, 100) + `{"properties":{"hidden":{}}}` + strings.Repeat("}", 100))
	entries := slices.Concat([]toolsearch.Entry{
		{Name: "spam", Description: long, Schema: schema},
		{Name: strings.Repeat("file_", size/5)},
		{Name: "broken", Schema: json.RawMessage(`{"properties":`)},
		{Name: "deep", Schema: deep},
		{Name: "none", Schema: json.RawMessage(`null`)},
		{Name: "odd", Schema: json.RawMessage(`{"properties":[1],"enum":5,"title":{}}`)},
	}, catalogue)
	x := toolsearch.New(entries)
	if got := x.Find("read the file", 1, nil); len(got) != 1 || entries[got[0].Entry].Name != "read_file" {
		t.Errorf("%+v", got)
	}
	x.Find(long, 10, nil)
	x.Find(strings.Repeat("a ", size), 10, nil)
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			toolsearch.New(entries[:1])
		}
	})
	if most := int64(256 << 10); allocated.AllocedBytesPerOp() > most {
		t.Errorf("a tool of %d MiB takes %d bytes", (2*size)>>20, allocated.AllocedBytesPerOp())
	}
}

func FuzzFind(f *testing.F) {
	f.Add("read_file", "Reads a file.", `{"properties":{"path":{"description":"p"}}}`, "read files")
	f.Add("HTTPServer2", "\xff東京", `[{"enum":["a",1]}]`, "=httpserver2")
	f.Fuzz(func(t *testing.T, name, text, schema, query string) {
		x := toolsearch.New([]toolsearch.Entry{{Name: name, Title: text, Description: text, Schema: json.RawMessage(schema)}, {Name: "other"}})
		for _, m := range x.Find(query, 2, nil) {
			if m.Entry < 0 || m.Entry > 1 || !(m.Score > 0) {
				t.Errorf("%+v", m)
			}
		}
	})
}

// large gives a catalogue of so many tools.
func large(n int) []toolsearch.Entry {
	verbs := []string{"read", "write", "list", "create", "delete", "update", "search", "send", "convert", "merge"}
	nouns := []string{"file", "issue", "message", "channel", "commit", "branch", "invoice", "ticket", "event", "image"}
	entries := make([]toolsearch.Entry, n)
	for i := range entries {
		v, o := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
		entries[i] = toolsearch.Entry{
			Name: fmt.Sprintf("%s_%s_%d", v, o, i), Description: fmt.Sprintf("Can %s one %s of the system number %d, and tells what became of it.", v, o, i),
			Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"%s_id":{"type":"string","description":"The %s to %s"},"dryRun":{"type":"boolean"}}}`, o, o, v)),
		}
	}
	return entries
}

func BenchmarkFind(b *testing.B) {
	x := toolsearch.New(large(10_000))
	for _, query := range []string{"merge the branch", "read_file_4200", "a s d c the of m u", "delete an invoice of the system and tell what became of it"} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Find(query, 10, nil)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	entries := large(10_000)
	b.ReportAllocs()
	for b.Loop() {
		toolsearch.New(entries)
	}
}
