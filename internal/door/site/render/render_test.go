package render_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/door/site/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

var someTools = []render.Tool{
	{Words: []render.Word{{Text: "date"}}, Locked: true},
	{Words: []render.Word{{Text: "grep"}, {Text: "it's"}, {Kind: render.Any}, {Kind: render.Any, Text: "file"}}},
	{Words: []render.Word{{Text: "sqlite3"}, {Text: "$DB\u200b"}, {Kind: render.Matched, Text: "^SELECT <'>"}}, Locked: true},
}

func TestGolden(t *testing.T) {
	features, hostile := document(t, "features.md"), document(t, "hostile.md")
	features.Body, features.Tools = bytes.Index(features.Text, []byte("# ")), someTools
	hostile.Problem = `tools[0]: "<script>" is wrong.`
	for name, show := range map[string]func(*bytes.Buffer) error{
		"features.html": func(b *bytes.Buffer) error { return render.Page(b, features) },
		"hostile.html":  func(b *bytes.Buffer) error { return render.Page(b, hostile) },
		"landing.html":  func(b *bytes.Buffer) error { return render.Landing(b, features) },
	} {
		var got bytes.Buffer
		if err := show(&got); err != nil {
			t.Fatal(err)
		}
		inspect(t, got.String())
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func document(t *testing.T, name string) render.Document {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return render.Document{Site: "http://127.0.0.1:8123", Path: "docs/" + name, Text: source}
}

func page(t *testing.T, d render.Document) string {
	t.Helper()
	var b strings.Builder
	if err := render.Page(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTitle(t *testing.T) {
	for _, test := range []struct {
		name string
		d    render.Document
		want string
	}{
		{"a given one", render.Document{Title: "Given", Path: "a.md", Text: []byte("# Heading")}, "Given"},
		{"the first heading", render.Document{Path: "a.md", Text: []byte("text\n\nA `<b>` &amp; *c*\n====\n\n# Other")}, "A &lt;b&gt; &amp; c"},
		{"the path", render.Document{Path: "docs/<a>.md", Text: []byte("text")}, "docs/&lt;a&gt;.md"},
		{"nothing at all", render.Document{}, "Page"},
	} {
		if got := page(t, test.d); !strings.Contains(got, "<title>"+test.want+"</title>") {
			t.Errorf("%s: no title %q in\n%s", test.name, test.want, got)
		}
	}
}

func TestLanguage(t *testing.T) {
	for lang, want := range map[string]string{"": `<article dir="auto">`, "pt-BR": `<article dir="auto" lang="pt-BR">`, `"><b>`: `<article dir="auto">`} {
		if got := page(t, render.Document{Lang: lang}); !strings.Contains(got, want) {
			t.Errorf("%q: no %s in\n%s", lang, want, got)
		}
	}
}

// What the place of the text says is wrong at worst, and must not be a crash.
func TestBodyBeyondTheText(t *testing.T) {
	for _, body := range []int{-1, 4, 100} {
		page(t, render.Document{Text: []byte("abc"), Body: body})
	}
}

func TestLinksLeadFromTheFile(t *testing.T) {
	for _, test := range []struct{ name, site, path, destination, want string }{
		{"a neighbour", "", "docs/README.md", "x.md", "/docs/x.md"},
		{"above", "", "docs/README.md", "../x.md", "/x.md"},
		{"above the root", "", "README.md", "../../x.md", "/x.md"},
		{"the root", "", "docs/README.md", "/x.md", "/x.md"},
		{"the page itself", "", "docs/README.md", "#part", "#part"},
		{"below something else", "https://h.example/s/", "docs/README.md", "x.md", "/s/docs/x.md"},
		{"a path that must be escaped", "", "a b/ü?.md", "x.md", "/a%20b/x.md"},
		{"a query", "", "docs/README.md", "?a=b", "/docs/README.md?a=b"},
		{"a colon later on", "", "a.md", "./b:c", "/b:c"},
		{"another scheme", "", "a.md", "ftp://h/x", ""},
		{"a script", "", "a.md", "javascript:x", ""},
		{"a script behind a blank", "", "a.md", "<\x01 javascript:x>", ""},
		{"mail", "", "a.md", "mailto:a@b.example?subject=c", "mailto:a@b.example?subject=c"},
		{"upper case", "", "a.md", "HTTPS://h.example/x", "https://h.example/x"},
	} {
		got := page(t, render.Document{Site: test.site, Path: test.path, Text: []byte("[text](" + test.destination + ")")})
		want := `<p><a href="` + test.want + `"`
		if test.want == "" {
			want = "<p>text</p>"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: no %s in\n%s", test.name, want, got[strings.Index(got, "<article"):])
		}
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	got := page(t, render.Document{Text: []byte("a <b>\n\n[x](javascript:y) ![z](http://h/)")})
	if !strings.Contains(got, "3 pieces in all") {
		t.Error(got)
	}
	if got := page(t, render.Document{Text: []byte("a [b](c)")}); strings.Contains(got, "Not shown") {
		t.Error(got)
	}
}

func TestHiddenCharactersAreShown(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"a\u202eb", `a\u202eb`},
		{"a&#x202e;b", `a\u202eb`},
		{"a&zwj;b", `a\u200db`},
		{"`a\x1b[31m`", `a\x1b[31m`},
		{"a\x00b", `a`},
		{"a\xffb", `a\xffb`},
		{"\u26a0\ufe0f careful", "\u26a0\ufe0f careful"},
		{"\u26a0\ufe0f\ufe0f", "\u26a0\ufe0f" + `\ufe0f`},
		{"a\ufe0f", `a\ufe0f`},
		{"\r\n\r\na\rb\r\n", `<p>a\rb</p>`},
	} {
		if got := page(t, render.Document{Text: []byte(test.source)}); !strings.Contains(got, test.want) {
			t.Errorf("%q: no %s in\n%s", test.source, test.want, got[strings.Index(got, "<article"):])
		}
	}
}

// Each of these takes minutes, or gigabytes, when it is laid out.
func TestWhatIsTooMuchIsShownAsItIsWritten(t *testing.T) {
	again := func(s string, bytes int) string { return strings.Repeat(s, bytes/len(s)) }
	for name, source := range map[string]string{
		"too long":                again("word ", 300<<10),
		"quotes in quotes":        again(">", 64<<10),
		"items in items":          again("- ", 64<<10),
		"numbers in numbers":      again("1. ", 64<<10),
		"open links":              again("[a]((", 200<<10),
		"open angles":             again("[a](<b", 200<<10),
		"open code":               again("\\```\n#", 200<<10),
		"emphasis in emphasis":    again("*a ", 60<<10) + again("a* ", 60<<10),
		"emphasis that never is":  again("*a_ ", 200<<10),
		"images in images":        again("![", 10<<10) + again("](a)", 20<<10),
		"a table of empty cells":  again("|a", 16<<10) + "\n" + again("|-", 16<<10) + "\n" + again("|\n", 16<<10),
		"one long address":        "[a]: /" + again("x", 50<<10) + "\n\n" + again(again("[a]", 300)+"\n\n", 100<<10),
		"blank lines in a list":   again("- ", 40) + "a\n" + again("\n", 200<<10),
		"items to the right":      func() string { return stairs(400) }(),
		"open links in many runs": again(again("[a]((", 20<<10)+"\n\n", 250<<10),
	} {
		got := page(t, render.Document{Text: []byte(source)})
		inspect(t, got)
		if !strings.Contains(got, "It is shown as it is written.") || !strings.Contains(got, "<pre><code>"+strings.SplitN(strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(source), "\n", 2)[0]) {
			t.Errorf("%s: laid out", name)
		}
	}
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	return b.String()
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestOnlyWritingFails(t *testing.T) {
	if err := render.Page(broken{}, render.Document{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if err := render.Landing(broken{}, render.Document{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
