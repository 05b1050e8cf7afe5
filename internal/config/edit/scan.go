package edit

import (
	"strings"
)

// These find where a value ends, which the tree does not tell. They give -1 for what
// they do not understand; a wrong answer is noticed when the edited text is read.

// quotedEnd passes over a text in quotes.
func (s *source) quotedEnd(i int) int {
	quote := s.at(i)
	for i++; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && quote == '"':
			i++
		case s.text[i] != quote:
		case quote == '\'' && s.at(i+1) == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// skipTag passes over a tag and what separates it from its value.
func (s *source) skipTag(i int) int {
	if s.at(i) != '!' {
		return i
	}
	for !isSpace(s.at(i)) && !isFlowMark(s.at(i)) {
		i++
	}
	return i
}

// plainEnd passes over words without quotes in block style, which may go on in lines
// that are indented deeper than the collection around them.
func (s *source) plainEnd(i, indent int) int {
	for {
		end, commented := s.plainLine(i)
		if commented {
			return end
		}
		next := s.nextLine(end)
		spaces, first := s.indent(next)
		for first == 0 && next < len(s.text) {
			next = s.nextLine(next)
			spaces, first = s.indent(next)
		}
		if first == 0 || first == '#' || spaces <= indent {
			return end
		}
		i = next + spaces
	}
}

// plainLine gives the end of the words on one line, and whether a comment follows.
func (s *source) plainLine(i int) (end int, commented bool) {
	line := s.text[i:s.lineEnd(i)]
	for _, sign := range []string{" #", "\t#"} {
		if before, _, found := strings.Cut(line, sign); found {
			line, commented = before, true
		}
	}
	return i + len(strings.TrimRight(line, " \t")), commented
}

// literalEnd passes over a text written as | or >, with the blank lines after it where
// those are part of it.
func (s *source) literalEnd(i, indent int) int {
	least := -1
	header, _, _ := strings.Cut(s.text[i:s.lineEnd(i)], "#")
	for _, c := range header {
		if c >= '1' && c <= '9' {
			least = indent + int(c-'0')
		}
	}
	end, blank := i+len(strings.TrimRight(header, " \t")), 0
	for line := s.nextLine(i); line < len(s.text); line = s.nextLine(line) {
		spaces, first := s.indent(line)
		if first == 0 && (least < 0 || s.lineEnd(line)-line <= least) {
			blank = s.lineEnd(line)
			continue
		}
		if least < 0 && spaces > indent {
			least = spaces
		}
		if least < 0 || spaces < least {
			break
		}
		end, blank = s.lineEnd(line), 0
	}
	if strings.Contains(header, "+") && blank > 0 {
		return blank
	}
	return end
}

// flowToken passes over one token of flow style: a bracket, a comma, a colon, quotes,
// or words without them.
func (s *source) flowToken(i int) int {
	switch c := s.at(i); {
	case c == 0:
		return -1
	case isFlowMark(c), c == ':' && (s.endsKey(i) || s.at(i-1) == '"' || s.at(i-1) == '\''):
		return i + 1 // behind a key in quotes a colon needs no blank
	case c == '"', c == '\'':
		return s.quotedEnd(i)
	case c == '!':
		return s.skipTag(i)
	}
	for {
		for !isSpace(s.at(i)) && !isFlowMark(s.at(i)) && !(s.at(i) == ':' && s.endsKey(i)) {
			i++
		}
		next := i
		for isSpace(s.at(next)) && next < len(s.text) {
			next++
		}
		if c := s.at(next); next == i || c == 0 || c == '#' || isFlowMark(c) || c == ':' && s.endsKey(next) {
			return i
		}
		i = next
	}
}

// endsKey reports whether the colon at i parts a key from its value in flow style.
func (s *source) endsKey(i int) bool { return isSpace(s.at(i+1)) || isFlowMark(s.at(i+1)) }

// flowEnd passes over a collection in brackets.
func (s *source) flowEnd(i int) int {
	for depth := 0; i >= 0; {
		switch s.at(i) {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		if i = s.flowToken(i); i >= 0 {
			i = s.skipSpace(i)
		}
	}
	return -1
}

// keyEnd passes over a key in block style and its colon.
func (s *source) keyEnd(i int) int {
	if i = s.skipBlanks(s.skipTag(i)); s.at(i) == '"' || s.at(i) == '\'' {
		if i = s.quotedEnd(i); i < 0 {
			return -1
		}
		if i = s.skipBlanks(i); s.at(i) != ':' {
			return -1
		}
		return i + 1
	}
	for end := s.lineEnd(i); i < end; i++ {
		switch {
		case s.text[i] == ':' && isSpace(s.at(i+1)):
			return i + 1
		case s.text[i] == '#' && isBlank(s.at(i-1)):
			return -1
		}
	}
	return -1
}
