package render

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward/internal/safetext"
)

// emojiStyle asks for the coloured form of the symbol before it. It is the one hidden
// rune that prose is full of.
const emojiStyle = "\ufe0f"

// visible writes what would be hidden in HTML as an escape. The escapes have no
// meaning in HTML, so they may stand anywhere in it.
func visible(html string) string {
	var b strings.Builder
	for i, part := range strings.Split(html, emojiStyle) {
		if i > 0 && endsInSymbol(b.String()) {
			b.WriteString(emojiStyle)
		} else if i > 0 {
			b.WriteString(safetext.Line(emojiStyle))
		}
		b.WriteString(safetext.Output(part))
	}
	return b.String()
}

func endsInSymbol(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.Is(unicode.So, r)
}

// unixLines ends every line with LF.
func unixLines(source []byte) []byte {
	return bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
}
