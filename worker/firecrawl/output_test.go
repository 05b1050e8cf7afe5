package firecrawl

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

func TestOutput(t *testing.T) {
	type object = map[string]any
	tests := []struct {
		name  string
		input string
		pages []object
		want  string
	}{
		{
			"one page", scrapeOne, nil,
			`{"source_url":"https://example.com","items":[{"url":"https://example.com/","title":"Home","content":"# Home\n\nThis is [Home](https://example.com/).","format":"markdown"}],"stats":{"pages":1}}`,
		},
		{
			"formats in the order asked for, page by page", `{"url": "https://example.com", "mode": "crawl", "max_pages": 2, "formats": ["text", "html", "markdown"]}`, nil,
			`{"source_url":"https://example.com","items":[
				{"url":"https://example.com/","title":"Home","content":"Home\n\nThis is Home.","format":"text"},
				{"url":"https://example.com/","title":"Home","content":"<h1>Home</h1>","format":"html"},
				{"url":"https://example.com/","title":"Home","content":"# Home\n\nThis is [Home](https://example.com/).","format":"markdown"},
				{"url":"https://example.com/a","title":"A","content":"A\n\nThis is A.","format":"text"},
				{"url":"https://example.com/a","title":"A","content":"<h1>A</h1>","format":"html"},
				{"url":"https://example.com/a","title":"A","content":"# A\n\nThis is [A](https://example.com/a).","format":"markdown"}],
				"stats":{"pages":2,"total":2,"credits_used":2}}`,
		},
		{
			"what the API does not give is left out", `{"url": "https://example.com", "formats": ["html", "text"]}`,
			[]object{{"markdown": "*x*", "metadata": object{}}},
			`{"source_url":"https://example.com","items":[{"url":"https://example.com","title":"","content":"x","format":"text"}],"stats":{"pages":1}}`,
		},
		{
			"where a page says who it is", `{"url": "https://example.com", "mode": "crawl"}`,
			[]object{
				{"markdown": "1", "url": "u", "title": "t", "metadata": object{"sourceURL": "s", "url": "m", "title": "mt"}},
				{"markdown": "2", "url": "u", "title": "t", "metadata": object{"url": "m", "title": ""}},
				{"markdown": "3", "url": "u", "title": "t"},
				{"markdown": "4", "metadata": object{"title": []string{"first", "second"}, "url": 7}},
				{"markdown": "", "metadata": nil},
				{"markdown": nil},
			},
			`{"source_url":"https://example.com","items":[
				{"url":"s","title":"mt","content":"1","format":"markdown"},{"url":"m","title":"t","content":"2","format":"markdown"},
				{"url":"u","title":"t","content":"3","format":"markdown"},{"url":"https://example.com","title":"first","content":"4","format":"markdown"},
				{"url":"https://example.com","title":"","content":"","format":"markdown"}],"stats":{"pages":6,"total":6,"credits_used":6}}`,
		},
		{
			"pages that failed", `{"url": "https://example.com", "mode": "crawl"}`,
			[]object{
				with(object{"metadata": object{"error": "DNS", "statusCode": 200}}),
				with(object{"markdown": "", "metadata": object{"statusCode": 404}}),
				with(object{"markdown": "not here", "metadata": object{"statusCode": 404, "url": "u"}}),
			},
			`{"source_url":"https://example.com","items":[{"url":"u","title":"","content":"not here","format":"markdown"}],"stats":{"pages":3,"total":3,"credits_used":3,"failed_pages":2}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, &firecrawltest.API{Pages: tt.pages}, Options{Dialect: V1})
			got, err := json.Marshal(s.must(tt.input))
			if err != nil {
				t.Fatal(err)
			}
			var want, has any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(got, &has)
			if diff := cmp.Diff(want, has); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a page holds may be broken; that breaks neither the call nor the output.
func TestBrokenCharacters(t *testing.T) {
	s := setup(t, &firecrawltest.API{Answer: always("POST", firecrawltest.Reply{Body: `{"success":true,"data":{"markdown":"a\ud800b","markdown2":1}}`})}, Options{})
	if o := s.must(scrapeOne); o.Items[0].Content != "a\ufffdb" {
		t.Errorf("got %+v", o.Items)
	}
}

func TestMuchTextIsCut(t *testing.T) {
	text := strings.Repeat("x", mostBytes/3)
	page := document{markdown: &text}
	h := harvest{in: input{Mode: modeCrawl, pages: 10}}
	if full := h.add([]document{page, page, page, page}); !full || len(h.documents) != 3 || !h.truncated {
		t.Errorf("%d pages were kept (full: %t, truncated: %t)", len(h.documents), full, h.truncated)
	}
}

func TestPlainText(t *testing.T) {
	for markdown, want := range map[string]string{
		"": "",
		"# Title\n\nSome *text* with **bold**, ~~old~~ and `co*de`.":          "Title\n\nSome text with bold, old and co*de.",
		"[a link](https://x \"t\") and ![an image](i.png) <https://y>":        "a link and an image https://y",
		"&amp; &lt;b&gt; \\*not\\* &#65;":                                     "& <b> *not* A",
		"`&amp;`":                                                             "&amp;",
		"soft\nhard  \nend":                                                   "soft\nhard\nend",
		"- a\n- b\n  - c\n- d\n\nafter":                                       "a\nb\nc\nd\n\nafter",
		"1. one\n2. two":                                                      "one\ntwo",
		"```go\nx :=  1\n\n\n\ny\n```\n\n\n\nend":                             "x :=  1\n\ny\n\nend",
		"    indented":                                                        "indented",
		"<div>raw <b>words</b> &amp; more</div>\n\ntext <b>x</b>":             "raw words & more\n\ntext x",
		"<div>\nwords\n<!-- none --><SCRIPT>if (a > b) {}</Script>here</div>": "words\nhere",
		"<style>a {}</style>\n\nafter":                                        "after",
		"| a | b |\n|---|---|\n| 1 | *2* |":                                   "a\tb\n1\t2",
		"> quote\n> more":                                                     "quote\nmore",
		"Heading\n=======\n\n---\n\ntext":                                     "Heading\n\ntext",
		"a\u00a0ü\r\n\r\n\r\nb":                                               "a\u00a0ü\n\nb",
	} {
		got, err := plainText(t.Context(), markdown)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", markdown, got, err, want)
		}
	}
}

func TestLongTextsKeepTheirWords(t *testing.T) {
	for name, unit := range map[string]string{
		"paragraphs": "Some *text* here.\n\n", "lines": "Some *text* here.\n", "one line": "Some *text* here. ", "no spaces": "Sömetext",
		"a block of code": "Some text here.\n\n",
	} {
		markdown := strings.Repeat(unit, 5*pieceBytes/len(unit))
		if name == "a block of code" {
			markdown = "```\n" + markdown + "```\n"
		}
		got, err := plainText(t.Context(), markdown)
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.Fields(strings.NewReplacer("*", "", "```", "").Replace(markdown))
		if strings.Join(plain, "") != strings.Join(strings.Fields(strings.ReplaceAll(got, "*", "")), "") {
			t.Errorf("%s: words are missing", name)
		}
	}
}

// What a stranger writes to be slow is read for as long as there is time.
func TestSlowTextEndsWithTheTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := plainText(ctx, strings.Repeat("![](", 1<<20)); err == nil {
		t.Error("it was read to its end")
	}
}

func FuzzPlainText(f *testing.F) {
	for _, markdown := range []string{"", "# a\n\nb", "- a\n  - b", "```\nx", "[a](b)", "| a |\n|-|\n| b |", "&#0;\\", "\xff", strings.Repeat("[", 99)} {
		f.Add(markdown)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		got, err := plainText(t.Context(), markdown)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "\n\n\n") || strings.TrimRight(got, " \t\r\n") != got {
			t.Errorf("%q became %q", markdown, got)
		}
	})
}
