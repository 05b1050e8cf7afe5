package mcp

import (
	"unicode/utf8"

	"github.com/durward/durward"
)

// textOf gives what was kept of a stream. What is no UTF-8 becomes U+FFFD, and a
// character that a cut went through is left out.
func textOf(c durward.Capture) string {
	if c.Dropped() <= 0 {
		return repaired(c.Bytes())
	}
	return repaired(c.Head[:whole(c.Head)]) + repaired(c.Tail[begun(c.Tail):])
}

func repaired(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// whole is how much of a text is left without a character at its end that lacks its
// last bytes.
func whole(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// cut is a text of so many bytes at most, without a part of a character at its end.
func cut(s string, most int) string {
	return s[:whole([]byte(s[:min(len(s), most)]))]
}

// begun is how many bytes stand at the start of a text that are not the first of a
// character, but no more than a character can lack.
func begun(b []byte) int {
	n := 0
	for n < len(b) && n < utf8.UTFMax-1 && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}
