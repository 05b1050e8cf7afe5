package mcpservers

import "strings"

// The bounds of templates that are matched.
const (
	maxTemplate    = 1024 // bytes of one
	maxExpressions = 8    // in one
	maxTemplates   = 256  // of one server
)

// A matcher tells whether a URI may be one that a template (RFC 6570) stands for. It takes time in
// proportion to the URI, whatever that is. The zero value matches none.
type matcher []part

// A part is a text, or what stands for some.
type part struct {
	plain string // if it is a text
	stand stand
}

type stand uint8

const (
	plainly  stand = iota
	segment        // one character or more, up to the next / ? or #
	anything       // one character or more
	optional       // nothing, or anything that begins with the text
)

// matcherOf reads a template. One that is malformed, or over the bounds, matches nothing.
func matcherOf(text string) matcher {
	if len(text) > maxTemplate || strings.Count(text, "{") > maxExpressions {
		return nil
	}
	var m matcher
	for text != "" {
		plain, rest, more := strings.Cut(text, "{")
		if plain != "" {
			m = append(m, part{plain: plain})
		}
		if !more {
			break
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed || expression == "" {
			return nil
		}
		m = m.with(standsFor(expression))
		text = after
	}
	return m
}

// standsFor gives what may stand in the place of an expression.
func standsFor(expression string) part {
	switch expression[0] {
	case '+':
		return part{stand: anything}
	case '#', '/', ';', '?', '&', '.':
		return part{plain: expression[:1], stand: optional}
	}
	if strings.HasSuffix(expression, "*") { // many take it for a path
		return part{stand: anything}
	}
	return part{stand: segment}
}

// with adds what an expression stands for. Of two that stand side by side, the one that stands for
// more is enough: each of them may be empty in truth.
func (m matcher) with(p part) matcher {
	if n := len(m); n > 0 {
		switch last := m[n-1]; {
		case last.stand == anything || last == p && p.stand != plainly:
			return m
		case last.stand != plainly && p.stand == anything:
			m[n-1] = p
			return m
		}
	}
	return append(m, p)
}

func (m matcher) match(uri string) bool {
	if len(m) == 0 || m[0].stand == plainly && !strings.HasPrefix(uri, m[0].plain) {
		return false // most end here
	}
	at, next := make([]bool, len(uri)+1), make([]bool, len(uri)+1)
	at[0] = true
	for _, p := range m {
		if !p.advance(at, next, uri) {
			return false
		}
		at, next = next, at
		clear(next)
	}
	return at[len(uri)]
}

// advance tells where in the URI one may be behind the part, from where one may be before it, and
// whether that is anywhere.
func (p part) advance(at, next []bool, uri string) (some bool) {
	inside := false // what the part stands for
	for i, here := range at {
		switch p.stand {
		case plainly:
			if here && strings.HasPrefix(uri[i:], p.plain) {
				next[i+len(p.plain)], some = true, true
			}
			continue
		case optional:
			next[i] = here || inside
			inside = inside || here && strings.HasPrefix(uri[i:], p.plain)
		case segment:
			next[i] = inside
			inside = (inside || here) && i < len(uri) && !strings.ContainsRune("/?#", rune(uri[i]))
		case anything:
			next[i] = inside
			inside = inside || here
		}
		some = some || next[i]
	}
	return some
}
