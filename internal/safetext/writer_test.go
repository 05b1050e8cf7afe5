package safetext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/durward/durward/internal/safetext"
)

// FuzzWriter cuts text in two anywhere: what comes out is the same.
func FuzzWriter(f *testing.F) {
	f.Add("a\u202eb", 2)
	f.Add("\xf0\x9f\x92\xa9\xff", 3)
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = max(0, min(at, len(text)))
		var b strings.Builder
		w := safetext.Writer{To: &b, Safe: safetext.Output}
		for _, part := range []string{text[:at], text[at:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("%d of %d, %v", n, len(part), err)
			}
		}
		if err := w.Flush(); err != nil || b.String() != safetext.Output(text) {
			t.Errorf("%q in two pieces is %q: %v", text, b.String(), err)
		}
	})
}

// FuzzJSON wants nothing hidden in the text, and the same meaning.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{"plain", "\x1b[2J\x7f\u009b", "a\u202eb\u200b", "\U000e0041\ufe0f", "\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		safe := safetext.JSON(string(plain))
		if json.Unmarshal(plain, &want) != nil || json.Unmarshal([]byte(safe), &got) != nil || got != want {
			t.Errorf("%q became %s", text, safe)
		}
		if strings.ContainsFunc(safe, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is in %s", text, safe)
		}
		if same := safe == string(plain); safetext.IsSafeJSON(plain) != same {
			t.Errorf("%s is safe: %t; it became %s", plain, !same, safe)
		}
	})
}
