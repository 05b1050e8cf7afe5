// Package render makes pages of Markdown into pages of HTML for people.
//
// It reads and writes nothing but what it is given. The text of a page is hostile until
// shown otherwise: HTML in it is left out, links lead only where a reader may go, and
// what would be invisible is written as an escape.
package render

import (
	"io"

	"github.com/durward/durward/internal/safetext"
)

// ContentSecurityPolicy is the header that must come with every page.
const ContentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"

// A Document is a page to be shown.
type Document struct {
	// Site is the address of the site, "http://127.0.0.1:8000" or, where something
	// stands in front, "https://example.org/below". An address that is neither is
	// replaced by the one of a site with default settings.
	Site string
	// Path is the file's own path below the root, with slashes: "docs/README.md".
	Path string
	// Title is what windows and lists call the page. Without one its first heading
	// does, or its path.
	Title string
	// Lang is the language of the text, as in "de" or "pt-BR"; empty means unknown.
	Lang string
	// Text is the file, and Body the place in it where its frontmatter has ended.
	Text []byte
	Body int
	// Tools is what the frontmatter allows.
	Tools []Tool
	// Problem says why no command of the page runs; empty where nothing is wrong.
	Problem string
}

// Page writes the page for people. It fails only where writing does.
func Page(w io.Writer, d Document) error {
	return d.write(w, "")
}

// Landing writes the page that people find at the root of a site: the document there,
// and how their agents use the site.
func Landing(w io.Writer, d Document) error {
	return d.write(w, forAgents(parseAddress(d.Site)))
}

// write lays the page out; more stands behind the text and its commands.
func (d Document) write(w io.Writer, more markup) error {
	at := parseAddress(d.Site)
	a := d.article(at)
	s := shell{
		title: firstOf(d.Title, a.title, d.Path),
		path:  d.Path,
		home:  at.prefix,
		lang:  language(d.Lang),
		body:  a.html,
		left:  a.left,
		tools: len(d.Tools),
		more:  join(commands(at, d), more),
	}
	_, err := io.WriteString(w, string(s.html()))
	return err
}

// article gives the text as HTML: laid out where that is cheap enough, else as it is.
func (d Document) article(at address) article {
	source := d.Text[min(max(d.Body, 0), len(d.Text)):]
	if a, ok := layOut(source, at.page(d.Path)); ok {
		return a
	}
	return article{
		html: join(
			`<p class="note">This page is too large or too deeply nested to be laid out. It is shown as it is written.</p>`,
			fill("<pre><code>%s</code></pre>\n", text(safetext.Output(string(unixLines(source)))))),
	}
}

func firstOf(titles ...string) string {
	for _, t := range titles {
		if t != "" {
			return t
		}
	}
	return "Page"
}

// language gives a language as a tag, or nothing where it is none.
func language(lang string) string {
	for _, r := range lang {
		if r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return ""
		}
	}
	return lang[:min(len(lang), maxLanguage)]
}

const maxLanguage = 35
