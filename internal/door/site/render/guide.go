package render

import (
	_ "embed"
	"strings"
)

// AgentsPath is where a site has its guide for agents.
const AgentsPath = "AGENTS.md"

//go:embed agents.md
var guide string

//go:embed favicon.svg
var favicon string

// guideAddress stands in the guide for the address of the site.
const guideAddress = "http://HOST:PORT/"

// AgentsGuide is the guide for agents at a site that has none of its own, as Markdown.
func AgentsGuide(site string) []byte {
	return []byte(strings.ReplaceAll(guide, guideAddress, parseAddress(site).String()))
}

// Favicon is the icon of a site that has none of its own, as image/svg+xml.
func Favicon() []byte { return []byte(favicon) }

// forAgents tells a person what to tell an agent.
func forAgents(at address) markup {
	return join(
		sectionHead(idAgents, "Use this site with an agent"),
		"<p>Your agent needs HTTP and nothing else. Tell it:</p>\n",
		fill("<blockquote><p>Read %s%s and do as it says.</p></blockquote>\n", text(at.String()), AgentsPath),
		"<p>It reads a page by a GET request, as Markdown:</p>\n",
		fill("<pre dir=\"ltr\"><code>curl -sS &#39;%s&#39;</code></pre>\n", text(at.String())),
		"<p>It runs a command by a POST request to the page that allows it. Nothing else can be run. ",
		fill("<a href=\"%s%s\">%s</a> explains both.</p>\n</section>\n", text(at.prefix), AgentsPath, AgentsPath),
	)
}
