// Package safetext makes text that came from elsewhere safe to show, on a terminal or a page.
//
// What a reader could not see, or a terminal would obey, is written as an escape:
//
//	\t \n \r   tabulator and line ends
//	\x1b       any other control character below U+0080, and each byte that is not UTF-8
//	\u202e     every other rune that is not plainly visible: bidirectional marks, zero
//	\U000e0041 width characters, unusual blanks, unassigned and private ones
package safetext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line gives text as one line without anything hidden in it. Visible text comes back
// unchanged.
func Line(text string) string {
	if visible(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		write(&b, r, text[i:i+size])
		i += size
	}
	return b.String()
}

// Lines does the same to each line of text and keeps the line ends.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}

// Output does the same to the output of a program, and keeps tabulators, too.
func Output(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		end := strings.IndexAny(text, "\t\n")
		if end < 0 {
			end = len(text)
		}
		b.WriteString(Line(text[:end]))
		b.WriteString(text[end:min(end+1, len(text))])
		text = text[min(end+1, len(text)):]
	}
	return b.String()
}

// JSON does it to text that is JSON, on one line or many, by the escapes of JSON: what
// it says stays the same to the byte. A carriage return can only stand between values
// there, where it says nothing, and becomes a blank: a terminal would obey it.
func JSON(text string) string {
	if !strings.ContainsFunc(text, hiddenInJSON) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\r':
			b.WriteByte(' ')
		case !hiddenInJSON(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// IsSafeJSON reports whether [JSON] would leave the text as it is.
func IsSafeJSON(text []byte) bool { return !bytes.ContainsFunc(text, hiddenInJSON) }

// hiddenInJSON leaves out the blanks that may stand between the values of JSON.
func hiddenInJSON(r rune) bool { return !shown(r) && !strings.ContainsRune("\t\n", r) }

func visible(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !shown(r) })
}

// shown reports whether a reader sees r as what it is. Some runes count as printable
// and leave no mark: fillers, variation selectors and the empty Braille pattern.
func shown(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~'
	}
	const blankBraille = '\u2800'
	return unicode.IsPrint(r) && r != blankBraille &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func write(b *strings.Builder, r rune, raw string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case shown(r):
		b.WriteString(raw)
	case strings.ContainsRune("\t\n\r", r):
		b.WriteString(map[rune]string{'\t': `\t`, '\n': `\n`, '\r': `\r`}[r])
	case r < utf8.RuneSelf:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}
