package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward/internal/safetext"
)

// A Tool is a command that a page allows.
type Tool struct {
	Words []Word
	// Locked forbids further words.
	Locked bool
}

// A Word is one argument of a command.
type Word struct {
	Kind WordKind
	// Text is the word itself, the name of a placeholder or empty, or the pattern that
	// is searched for.
	Text string
}

// WordKind says who chooses a word.
type WordKind int

const (
	Fixed   WordKind = iota // the page does
	Any                     // the caller does
	Matched                 // the caller does, and the pattern must be found in it
)

// commands shows what a page allows, or why it allows nothing.
func commands(at address, d Document) markup {
	if d.Problem == "" && len(d.Tools) == 0 {
		return ""
	}
	parts := []markup{sectionHead(idCommands, "Commands this page allows")}
	if d.Problem != "" {
		parts = append(parts, fill("<p>None: %s.</p>\n", line(strings.TrimRight(d.Problem, "."))))
		return join(append(parts, "</section>\n")...)
	}
	parts = append(parts, "<ol>\n")
	for _, t := range d.Tools {
		parts = append(parts, fill("<li>%s%s</li>\n", t.curl(at, d.Path), t.explain()))
	}
	return join(append(parts, "</ol>\n</section>\n")...)
}

// curl gives the line that runs a command. The caller's own words are marked.
func (t Tool) curl(at address, path string) markup {
	parts := []markup{`<pre dir="ltr"><code>`, text(postLine(at, path))}
	for i, w := range t.Words {
		if i > 0 {
			parts = append(parts, ",")
		}
		parts = append(parts, w.json(i))
	}
	return join(append(parts, "]}&#39;</code></pre>\n")...)
}

// postLine is a line for a shell up to the words of the command.
func postLine(at address, path string) string {
	return fmt.Sprintf(`curl -sS '%s' -H 'Content-Type: application/json' -d '{"command":[`, at.String()+escapePath(path))
}

func (w Word) json(i int) markup {
	if w.Kind == Fixed {
		return text(quoted(w.Text))
	}
	inner := strings.Trim(quoted(w.label(i)), `"`)
	return fill("&#34;<var>%s</var>&#34;", text(inner))
}

// label says what goes in place of a word.
func (w Word) label(i int) string {
	if w.Kind == Any && w.Text != "" {
		return "<" + w.Text + ">"
	}
	return fmt.Sprintf("<argument %d>", i)
}

// quoted gives a word as JSON that may stand in single quotes of a shell, and in which
// nothing is hidden. It means the same to the byte.
func quoted(word string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(word) // a string always can be
	return strings.ReplaceAll(safetext.JSON(strings.TrimSuffix(b.String(), "\n")), "'", `\u0027`)
}

// explain says what a caller may choose.
func (t Tool) explain() markup {
	var parts []markup
	for i, w := range t.Words {
		label := line(w.label(i))
		switch w.Kind {
		case Any:
			parts = append(parts, fill("Put one argument in place of <var>%s</var>. ", label))
		case Matched:
			parts = append(parts, fill("Put one argument in which <code>%s</code> is found in place of <var>%s</var>. ", line(w.Text), label))
		}
	}
	parts = slices.Compact(parts) // the same name twice
	if t.Locked {
		return fill("<p>%sNo arguments may be added.</p>", join(parts...))
	}
	return fill("<p>%sMore arguments may be added.</p>", join(parts...))
}
