package mcpservers

import (
	"regexp"
	"strings"
)

// maxTemplate is the length of the longest template, in bytes, that is matched.
const maxTemplate = 4096

// A matcher tells whether a URI may be one that a template (RFC 6570) stands for. A nil pattern
// matches none.
type matcher struct{ pattern *regexp.Regexp }

// matcherOf reads a template. One that is malformed, or too long, matches nothing.
func matcherOf(text string) matcher {
	if len(text) > maxTemplate {
		return matcher{}
	}
	var b strings.Builder
	b.WriteString("^")
	for text != "" {
		plain, rest, more := strings.Cut(text, "{")
		b.WriteString(regexp.QuoteMeta(plain))
		if !more {
			break
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed || expression == "" {
			return matcher{}
		}
		b.WriteString(standsFor(expression))
		text = after
	}
	b.WriteString("$")
	pattern, err := regexp.Compile(b.String())
	if err != nil {
		return matcher{}
	}
	return matcher{pattern}
}

// standsFor gives the pattern of what may stand in the place of an expression.
func standsFor(expression string) string {
	switch expression[0] {
	case '+':
		return "(?s:.+)"
	case '#', '/', ';', '?', '&', '.':
		return "(?:" + regexp.QuoteMeta(expression[:1]) + "(?s:.*))?"
	}
	if strings.HasSuffix(expression, "*") { // many take it for a path
		return "(?s:.+)"
	}
	return "[^/?#]+"
}

func (m matcher) match(uri string) bool { return m.pattern != nil && m.pattern.MatchString(uri) }
