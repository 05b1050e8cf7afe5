package render

import (
	"fmt"
	"html"
	"strings"

	"github.com/durward/durward/internal/safetext"
)

// markup is HTML that may be written as it is. Constants of this package are, and what
// the functions here make of other text.
type markup string

// text escapes text for an element or a quoted attribute.
func text(s string) markup { return markup(html.EscapeString(s)) }

// line does so for a text of one line in which nothing may be hidden.
func line(s string) markup { return text(safetext.Line(s)) }

// fill puts markup into a format of this package: each %s takes one.
func fill(format string, parts ...markup) markup {
	args := make([]any, len(parts))
	for i, p := range parts {
		args[i] = string(p)
	}
	return markup(fmt.Sprintf(format, args...))
}

func join(parts ...markup) markup {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(string(p))
	}
	return markup(b.String())
}
