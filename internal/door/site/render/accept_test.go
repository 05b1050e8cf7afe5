package render_test

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/door/site/render"
)

func TestWantsHTML(t *testing.T) {
	for _, test := range []struct {
		name   string
		accept []string
		want   bool
	}{
		{"a browser", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}, true},
		{"HTML alone", []string{"text/html"}, true},
		{"upper case", []string{"TEXT/HTML;Q=1"}, true},
		{"HTML first", []string{"text/html, text/markdown"}, true},
		{"Markdown first", []string{"text/markdown, text/html"}, false},
		{"plain text first", []string{"text/plain, text/html"}, false},
		{"the other name of Markdown", []string{"text/x-markdown, text/html"}, false},
		{"HTML preferred", []string{"text/markdown;q=0.5, text/html;q=0.6"}, true},
		{"Markdown preferred", []string{"text/html;q=0.8, text/markdown;q=0.9"}, false},
		{"HTML first at the same quality", []string{"text/html;q=0.5, text/plain;q=0.500"}, true},
		{"HTML last at the same quality", []string{"text/plain;q=0.5, text/html;q=0.5"}, false},
		{"HTML on a second line", []string{"image/png", "text/html"}, true},
		{"HTML on a later line than Markdown", []string{"text/markdown", "text/html"}, false},
		{"HTML refused", []string{"text/html;q=0"}, false},
		{"Markdown refused", []string{"text/markdown;q=0, text/html;q=0.1"}, true},
		{"HTML named twice", []string{"text/html;q=0.1, text/markdown;q=0.5, text/html;q=0.9"}, true},
		{"parameters", []string{`text/html;level=1;x="a,b;q=0";q=0.7`}, true},
		{"anything", []string{"*/*"}, false},
		{"any text", []string{"text/*"}, false},
		{"XHTML", []string{"application/xhtml+xml"}, false},
		{"another type", []string{"text/html5"}, false},
		{"no header", nil, false},
		{"an empty header", []string{""}, false},
		{"empty elements", []string{", text/html ,,"}, true},
		{"no subtype", []string{"text/html, text"}, false},
		{"an empty subtype", []string{"text/html, text/"}, false},
		{"a quality over one", []string{"text/html;q=1.1"}, false},
		{"a quality that is none", []string{"text/html;q=high"}, false},
		{"a quality below zero", []string{"text/html;q=-1"}, false},
		{"a quality too exact", []string{"text/html;q=0.5555"}, false},
		{"a quality twice", []string{"text/html;q=0.5;q=0.6"}, false},
		{"a mistake further on", []string{"text/html, a b/c"}, false},
		{"an open quote", []string{`text/html;x="a`}, false},
	} {
		if got := render.WantsHTML(test.accept); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func FuzzWantsHTML(f *testing.F) {
	for _, accept := range []string{"text/html", "text/html;q=0.5,*/*", `a/b;c="\",",text/html`, "text/markdown", ",", `"`} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		wants := render.WantsHTML([]string{accept})
		if wants && !strings.Contains(strings.ToLower(accept), "text/html") {
			t.Errorf("%q wants HTML", accept)
		}
		if wants && render.WantsHTML([]string{"text/markdown", accept}) {
			t.Errorf("%q wants HTML after Markdown", accept)
		}
	})
}
