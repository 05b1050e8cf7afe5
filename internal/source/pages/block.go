package pages

import (
	"bytes"
	"unicode"

	"github.com/durward/durward/internal/config"
)

// maxBlockBytes bounds what stands between the delimiters.
const maxBlockBytes = 64 << 10

// A block is the frontmatter of a document as it is written.
type block struct {
	format config.Format
	text   []byte
	line   int // of its first line; the document begins with line 1
	end    int // offset of what follows the block
}

// BodyOffset tells where the text of a page begins: behind its frontmatter, if it has
// any.
func BodyOffset(document []byte) int {
	b, ok := findBlock(document)
	if !ok {
		return 0
	}
	return b.end
}

var delimiters = []struct {
	line   string
	format config.Format
}{{"---", config.YAML}, {"+++", config.TOML}}

// findBlock finds the frontmatter. Nothing but one byte order mark and white space may
// stand before it.
func findBlock(document []byte) (block, bool) {
	rest := bytes.TrimPrefix(document, []byte("\ufeff"))
	rest = bytes.TrimLeftFunc(rest, unicode.IsSpace)
	start := len(document) - len(rest)
	for _, d := range delimiters {
		if line, next := cutLine(rest); isDelimiter(line, d.line) {
			b := block{format: d.format, line: 2 + bytes.Count(document[:start], []byte("\n"))}
			return b, b.close(document, len(document)-len(next), d.line)
		}
	}
	return block{}, false
}

// close takes the lines from start up to the closing delimiter, if there is one.
func (b *block) close(document []byte, start int, delimiter string) bool {
	for at := start; at < len(document); {
		line, next := cutLine(document[at:])
		if isDelimiter(line, delimiter) {
			b.text, b.end = document[start:at], len(document)-len(next)
			return true
		}
		at = len(document) - len(next)
	}
	return false
}

// cutLine gives the first line without its end, which is LF or CRLF, and what follows.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, ended := bytes.Cut(text, []byte("\n"))
	if ended {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line, rest
}

// isDelimiter reports whether a line is the three characters and at most blanks.
func isDelimiter(line []byte, delimiter string) bool {
	return string(bytes.TrimRight(line, " \t")) == delimiter
}

// looksLikeBlock reports whether the author of a page without frontmatter seems to
// have meant some: the first line begins like a delimiter.
func looksLikeBlock(document []byte) bool {
	text := bytes.TrimLeftFunc(bytes.TrimPrefix(document, []byte("\ufeff")), unicode.IsSpace)
	return bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("+++"))
}
