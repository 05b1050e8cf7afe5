package edit_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/config/edit"
)

var update = flag.Bool("update", false, "write what the edits give into testdata")

// TestEdits makes the edits of testdata/edits.txt, each case three files: the text
// before, the edits, and the text after or why an edit is refused.
func TestEdits(t *testing.T) {
	const file = "testdata/edits.txt"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+2 < len(archive.Files); i += 3 {
		before, script, after := archive.Files[i], archive.Files[i+1], &archive.Files[i+2]
		t.Run(before.Name, func(t *testing.T) {
			got := outcome(before.Data, string(script.Data))
			if *update {
				after.Data = []byte(got)
			}
			if diff := cmp.Diff(string(after.Data), got); diff != "" {
				t.Errorf("%s\n%s", script.Data, diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The same edits, where lines end in CR LF, the last line does not end, or a mark
// stands before the document, lead to the same text in that form.
func TestEditsKeepTheForm(t *testing.T) {
	forms := map[string]func(string) string{
		"lines that end in CR LF": func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"no end of the last line": func(text string) string { return strings.TrimSuffix(text, "\n") },
		"a byte order mark":       func(text string) string { return "\ufeff" + text },
		"a start of the document": func(text string) string { return "--- # begins\n" + text },
		"an end of the document":  func(text string) string { return text + "...\n# over\n" },
		"a comment at its end":    func(text string) string { return text + "\n# over" },
	}
	archive, err := txtar.ParseFile("testdata/edits.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+2 < len(archive.Files); i += 3 {
		before, script, after := archive.Files[i], archive.Files[i+1], archive.Files[i+2]
		for name, form := range forms {
			if strings.HasPrefix(string(after.Data), "refused") || strings.Contains(before.Name, "(as it is)") ||
				strings.HasPrefix(string(before.Data), "{\n \"") && strings.Contains(form("x\n"), "#") {
				continue
			}
			t.Run(before.Name+" with "+name, func(t *testing.T) {
				got := outcome([]byte(form(string(before.Data))), string(script.Data))
				if diff := cmp.Diff(form(string(after.Data)), got); diff != "" {
					t.Errorf("%s\n%s", script.Data, diff)
				}
			})
		}
	}
}

// outcome makes the edits of a script, one per line.
func outcome(text []byte, script string) string {
	doc, err := edit.Parse("policy.yaml", text)
	if err != nil {
		return fmt.Sprintf("refused: %s\n", err)
	}
	for line := range strings.Lines(script) {
		was := string(doc.Bytes())
		if err := obey(doc, strings.TrimSpace(line)); err != nil {
			if string(doc.Bytes()) != was {
				return "refused and changed"
			}
			return fmt.Sprintf("refused: %s\n", err)
		}
	}
	return string(doc.Bytes())
}

func obey(doc *edit.Document, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	where, value, _ := strings.Cut(rest, " ")
	switch at := path(where); verb {
	case "append":
		return doc.Append(at, valueOf(value))
	case "set":
		return doc.Set(at, valueOf(value))
	case "remove":
		return doc.Remove(at)
	}
	return fmt.Errorf("no such edit: %s", line)
}

// path reads "a.b[2].c"; "." is the document.
func path(text string) edit.Path {
	var p edit.Path
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if i, err := strconv.Atoi(word); err == nil {
			p = p.Item(i)
		} else {
			p = p.Member(word)
		}
	}
	return p
}

// valueOf reads a value written as JSON.
func valueOf(text string) edit.Value {
	n, err := config.Parse("value.json", []byte(text))
	if err != nil {
		panic(err)
	}
	return valueLike(n)
}

func valueLike(n *config.Node) edit.Value {
	switch n.Kind {
	case config.Bool:
		return edit.Bool(n.Text == "true")
	case config.Int:
		i, _ := strconv.ParseInt(n.Text, 10, 64)
		return edit.Int(i)
	case config.List:
		list := edit.List{}
		for _, item := range n.Items {
			list = append(list, valueLike(item))
		}
		return list
	case config.Map:
		m := edit.Map{}
		for _, f := range n.Fields {
			m = append(m, edit.Entry{Name: f.Name, Value: valueLike(f.Value)})
		}
		return m
	}
	return edit.String(n.Text)
}
