package edit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
)

// A source is the text of a document, addressed by byte.
type source struct {
	file  string
	text  string
	lines []int // where each line begins
	// seen is the place that was asked for last, and seenAt its byte: the next one is
	// often behind it, on a line that may be the whole document.
	seen   durward.Position
	seenAt int
}

func newSource(file, text string) source {
	s := source{file: file, text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// offset gives the byte at a place of the tree, whose columns count characters.
func (s *source) offset(p durward.Position) int {
	if p.Line > len(s.lines) {
		return len(s.text)
	}
	if p.Line != s.seen.Line || p.Column < s.seen.Column {
		s.seen, s.seenAt = durward.Position{Line: p.Line, Column: 1}, s.lines[max(p.Line, 1)-1]
	}
	for ; s.seen.Column < p.Column; s.seen.Column++ {
		_, size := utf8.DecodeRuneInString(s.text[s.seenAt:])
		s.seenAt += size
	}
	return s.seenAt
}

// at gives the byte at i, and 0 beyond the end.
func (s *source) at(i int) byte {
	if i < 0 || i >= len(s.text) {
		return 0
	}
	return s.text[i]
}

// line gives the number of the line that holds i.
func (s *source) line(i int) int {
	n, begins := slices.BinarySearch(s.lines, i)
	if begins {
		return n
	}
	return n - 1
}

// lineStart gives the first byte of the line that holds i.
func (s *source) lineStart(i int) int { return s.lines[s.line(i)] }

// nextLine gives the first byte of the line after the one that holds i, or the end of
// the text.
func (s *source) nextLine(i int) int {
	if n := s.line(i) + 1; n < len(s.lines) {
		return s.lines[n]
	}
	return len(s.text)
}

// lineEnd gives the end of the line that holds i, before what ends it.
func (s *source) lineEnd(i int) int {
	end := s.nextLine(i)
	if end > i && s.text[end-1] == '\n' {
		end--
	}
	if end > i && s.text[end-1] == '\r' {
		end--
	}
	return end
}

// newline gives what ends the line that holds i, or other lines where it is the last.
func (s *source) newline(i int) string {
	next := s.nextLine(i)
	if next == len(s.text) && !strings.HasSuffix(s.text, "\n") && len(s.lines) > 1 {
		next = s.lines[1]
	}
	if strings.HasSuffix(s.text[:next], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// skipBlanks passes over spaces and tabs.
func (s *source) skipBlanks(i int) int {
	for isBlank(s.at(i)) {
		i++
	}
	return i
}

// skipSpace passes over spaces, line ends and comments.
func (s *source) skipSpace(i int) int {
	for {
		switch i = s.skipBlanks(i); s.at(i) {
		case '\r', '\n':
			i++
		case '#':
			i = s.lineEnd(i)
		default:
			return i
		}
	}
}

// indent counts the spaces that a line begins with, and tells what follows them: 0 for
// a line of blanks only.
func (s *source) indent(line int) (spaces int, first byte) {
	i := line
	for s.at(i) == ' ' {
		i++
	}
	if s.skipBlanks(i) == s.lineEnd(line) {
		return i - line, 0
	}
	return i - line, s.at(i)
}

// leads reports whether only blanks stand before i on its line.
func (s *source) leads(i int) bool {
	from := s.lineStart(i)
	return s.skipBlanks(from) >= i
}

// margin gives the blanks that the line of i begins with.
func (s *source) margin(i int) string {
	from := s.lineStart(i)
	return s.text[from:s.skipBlanks(from)]
}

// tail gives the end of the blanks after i and of the comment after those, if there is
// one, and whether the line ends there.
func (s *source) tail(i int) (end int, last bool) {
	end = s.skipBlanks(i)
	if s.at(end) == '#' {
		return s.lineEnd(end), true
	}
	return end, end == s.lineEnd(i)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isSpace reports whether c separates words; the end of the text does.
func isSpace(c byte) bool { return isBlank(c) || c == '\r' || c == '\n' || c == 0 }

func isFlowMark(c byte) bool { return c != 0 && strings.IndexByte(",[]{}", c) >= 0 }

func isSpaces(text string) bool { return strings.Trim(text, " \t\r\n") == "" }
