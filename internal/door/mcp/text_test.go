package mcp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// Wherever text is cut, what is kept of it is a part of it, and lacks less than one
// character at the cut.
func TestACutNeverSplitsACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		head := rapid.IntRange(0, len(text)).Draw(t, "head")
		tail := rapid.IntRange(head, len(text)).Draw(t, "tail")
		c := durward.Capture{Head: []byte(text[:head]), Tail: []byte(text[tail:]), Total: int64(len(text))}
		got := textOf(c)
		if head == tail {
			if got != text {
				t.Fatalf("%q became %q", text, got)
			}
			return
		}
		kept := strings.ToValidUTF8(text[:head], "") + strings.ToValidUTF8(text[tail:], "")
		if got != kept && utf8.ValidString(text) {
			t.Fatalf("%q cut at %d and %d became %q, want %q", text, head, tail, got, kept)
		}
	})
}

// What was never UTF-8 stays visible, byte by byte.
func TestBytesThatAreNoText(t *testing.T) {
	for given, want := range map[string]string{"": "", "\xff\xfe": "��", "a\x80": "a�", "\xe2\x82": "��", "\x80\x80\x80\x80": "����"} {
		if got := textOf(durward.Capture{Head: []byte(given), Total: int64(len(given))}); got != want {
			t.Errorf("%q became %q", given, got)
		}
	}
	if got := textOf(durward.Capture{Head: []byte("a\x80"), Total: 9}); got != "a�" {
		t.Errorf("a cut became %q", got)
	}
	if got := textOf(durward.Capture{Tail: []byte("\x80\x80\x80\x80"), Total: 9}); got != "�" {
		t.Errorf("a cut became %q", got)
	}
}
