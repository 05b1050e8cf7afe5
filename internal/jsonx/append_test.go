package jsonx

import (
	"testing"

	"pgregory.net/rapid"
)

// A string is written the same in either way.
func TestAppendStringIsMarshal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching("[ -~]*"), rapid.StringMatching(`[\x00-\x7f]*`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "string")
		want, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString([]byte("before "), s)) + "\n"; got != "before "+string(want) {
			t.Fatalf("%q gives %s, not %s", s, got, want)
		}
	})
}
