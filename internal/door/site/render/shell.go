package render

import (
	_ "embed"
	"fmt"
	"strings"
)

// The ids that stand around the text of a page.
const (
	idContent  = "content"
	idCommands = "commands"
	idAgents   = "for-agents"
)

// A shell is what stands around the text of a page.
type shell struct {
	title string
	path  string
	home  string // the path of the site, with a slash at the end
	lang  string // of the text; empty means unknown
	body  markup
	left  int // pieces of the text that are left out
	tools int
	more  markup // sections behind the text
}

//go:embed page.css
var style string

func (s shell) html() markup {
	return join(
		s.head(),
		s.navigation(),
		fill("<main id=\"%s\" tabindex=\"-1\">\n<article dir=\"auto\"%s>\n%s</article>\n", idContent, s.language(), s.body),
		s.more,
		"</main>\n",
		s.footer(),
		"</body>\n</html>\n",
	)
}

func (s shell) head() markup {
	return fill(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="%sfavicon.svg" type="image/svg+xml">
<style>
%s</style>
</head>
<body>
`, line(s.title), text(s.home), markup(style))
}

func (s shell) navigation() markup {
	return fill(`<a class="skip" href="#%s">Skip to the page</a>
<header><nav aria-label="Site"><a href="%s">Start page</a> <span class="path">%s</span>%s</nav></header>
`, idContent, text(s.home), line(s.path), s.jump())
}

// jump leads to the commands, which stand behind the text.
func (s shell) jump() markup {
	switch s.tools {
	case 0:
		return ""
	case 1:
		return fill(` <a href="#%s">1 command</a>`, idCommands)
	}
	return fill(` <a href="#%s">%s commands</a>`, idCommands, text(fmt.Sprint(s.tools)))
}

func (s shell) language() markup {
	if s.lang == "" {
		return ""
	}
	return fill(` lang="%s"`, text(s.lang))
}

func (s shell) footer() markup {
	var note markup
	if s.left > 0 {
		note = fill("<p>Not shown: HTML, links and images that may not be, %s in all.</p>\n", text(count(s.left, "piece")))
	}
	return fill("<footer>\n%s<p>Agents read the same page as Markdown. Their guide is <a href=\"%sAGENTS.md\">AGENTS.md</a>.</p>\n</footer>\n",
		note, text(s.home))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sectionHead opens a section that is called by its heading.
func sectionHead(id, heading string) markup {
	return fill(strings.ReplaceAll("<section aria-labelledby=\"ID\">\n<h2 id=\"ID\">%s</h2>\n", "ID", id), text(heading))
}
