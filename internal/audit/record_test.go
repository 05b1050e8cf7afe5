package audit

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A time is written the same in either way.
func TestTimesAreWrittenByTheirFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-70_000_000_000, 300_000_000_000).Draw(t, "seconds") // the years -249 to 11476
		at := time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		if got, want := string(appendTime(nil, at)), (Time{at}).String(); got != want {
			t.Fatalf("%s, not %s", got, want)
		}
	})
}

// What is hidden is found wherever it stands, and nothing else is.
func TestTheFirstControlIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.OneOf(rapid.StringMatching("[ -~]{0,40}"), rapid.StringMatching("[ -~\x00-\x1f\x7fé\u200b]{0,40}"), rapid.String()).Draw(t, "text"))
		if got, want := firstControl(text), bytes.IndexFunc(text, isHidden); got != want {
			t.Fatalf("%q: %d, not %d", text, got, want)
		}
	})
}
