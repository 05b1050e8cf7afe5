package jsonx

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Eight bytes at a time come to what one after the other does, wherever the odd one stands.
func TestPlainIsByteByByte(t *testing.T) {
	odd := func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching("[ -~]{0,40}").Draw(t, "text"))
		for range rapid.IntRange(0, 2).Draw(t, "odd bytes") {
			if len(text) > 0 {
				text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		}
		want := bytes.IndexFunc(text, odd)
		if want < 0 {
			want = len(text)
		}
		if got := plain(text); got != want {
			t.Fatalf("%q is plain up to %d, not %d", text, got, want)
		}
	})
}
