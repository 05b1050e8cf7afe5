package render_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/durward/durward/internal/door/site/render"
	"github.com/durward/durward/internal/safetext"
)

// attributes says which elements a page may have, and with which attributes.
var attributes = map[string][]string{
	"html": {"lang"}, "head": {}, "meta": {"charset", "name", "content"}, "title": {}, "style": {}, "body": {},
	"link": {"rel", "href", "type"}, "header": {}, "nav": {"aria-label"}, "main": {"id", "tabindex"}, "footer": {},
	"article": {"dir", "lang"}, "section": {"aria-labelledby"}, "a": {"class", "href", "title", "rel"},
	"span": {"class", "role", "aria-label"}, "img": {"src", "alt", "title"}, "pre": {"dir"}, "code": {"class"},
	"h1": {"id"}, "h2": {"id"}, "h3": {"id"}, "h4": {"id"}, "h5": {"id"}, "h6": {"id"}, "p": {"class"}, "ol": {"start"},
	"th": {"align"}, "td": {"align"}, "ul": {}, "li": {}, "em": {}, "strong": {}, "del": {}, "var": {}, "br": {}, "hr": {},
	"blockquote": {}, "table": {}, "thead": {}, "tbody": {}, "tr": {},
}

// inspect fails where a page holds anything that its text has no right to.
func inspect(t *testing.T, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	styles := 0
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			t.Errorf("comment %q", n.Data)
		case html.TextNode:
			if n.Parent.Data != "style" {
				visibleText(t, n.Data)
			}
		case html.ElementNode:
			inspectElement(t, n)
			if id := attr(n, "id"); id != "" && ids[id] {
				t.Errorf("id %q twice", id)
			} else {
				ids[id] = true
			}
			if n.Data == "style" {
				styles++
			}
		}
	}
	if styles != 1 {
		t.Errorf("%d style sheets", styles)
	}
}

func inspectElement(t *testing.T, n *html.Node) {
	t.Helper()
	allowed, known := attributes[n.Data]
	if !known {
		t.Errorf("element %s", n.Data)
	}
	if want := map[string]string{"main": "body", "footer": "body", "article": "main", "section": "main", "style": "head"}[n.Data]; want != "" && n.Parent.Data != want {
		t.Errorf("%s in %s", n.Data, n.Parent.Data)
	}
	for _, a := range n.Attr {
		if !slices.Contains(allowed, a.Key) {
			t.Errorf("attribute %s of %s", a.Key, n.Data)
		}
		visibleText(t, a.Val)
		if a.Key == "href" || a.Key == "src" {
			inspectAddress(t, n.Data, a.Val)
		}
	}
}

// inspectAddress reads an address as leniently as browsers do.
func inspectAddress(t *testing.T, element, address string) {
	t.Helper()
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		t.Errorf("address %q", address)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Errorf("address %q: %v", address, err)
		return
	}
	if !slices.Contains([]string{"", "http", "https", "mailto"}, u.Scheme) {
		t.Errorf("address %q", address)
	}
	if element != "a" && (u.Scheme != "" || u.Host != "" || strings.HasPrefix(address, "//")) {
		t.Errorf("%s from elsewhere: %q", element, address)
	}
}

func visibleText(t *testing.T, text string) {
	t.Helper()
	for _, symbol := range strings.Split(text, "\ufe0f") {
		if safetext.Output(symbol) != symbol {
			t.Errorf("hidden text in %q", text)
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func FuzzPage(f *testing.F) {
	for _, source := range []string{
		"# a\n\n<script>alert(1)</script>", "[a](javascript:alert(1))", "<javascript:alert(1)>", "![a](data:x)", "a\u202eb",
		"[a](&#106;avascript&colon;x)", "[a](&amp;#106;avascript:x)", "[a]\n\n[a]: javascript:x 'y'", "| a |\n|:-:|\n| <b> |",
		"- [x] a\n- [ ] b", "```\"onclick=x\n</code>\n```", "# content\n# content\n# commands", "<div\nonclick=x>", "[a](<//e.example>)",
		"![a](\\\\e.example/x)", "![a](/\\e.example/x)", "![a](.//e.example/x)", "![a](..//e.example/x)", "[a](%)", "&#0;&#27;", "1. a\n5) b",
		"a  \nb\\\nc", "[![a](b)](c)", "~~a~~ **b *c***", "\xff\xfe", "\r\r\n", "<a@b.c>", "<http://\u202e>", "[a](http://[::1]/)", "[a](http:x)",
	} {
		f.Add(source, "docs/README.md", "http://127.0.0.1:8000", "grep", "^a$")
	}
	f.Add("", "<a>'\"\u202e.md", "http://h/'\"><script>", "'</code>\x00", "\u202e")
	f.Add("", "../..//x", "javascript:alert(1)", "", "")
	f.Add("[a](b)", "/x.md", "http://h//e.example//", "", "")
	f.Fuzz(func(t *testing.T, source, path, site, word, pattern string) {
		d := render.Document{
			Site: site, Path: path, Title: word, Lang: pattern, Text: []byte(source),
			Tools:   []render.Tool{{Words: []render.Word{{Text: word}, {Kind: render.Any, Text: pattern}, {Kind: render.Matched, Text: pattern}}}},
			Problem: "",
		}
		var b strings.Builder
		if err := render.Landing(&b, d); err != nil {
			t.Fatal(err)
		}
		inspect(t, b.String())
		d.Problem, d.Title = word, ""
		inspect(t, page(t, d))
	})
}
