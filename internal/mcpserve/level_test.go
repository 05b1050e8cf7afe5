package mcpserve_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// What a session wants of logs is wanted for as long as it lasts, however it ends.
func TestLevelOfASessionEndsWithIt(t *testing.T) {
	var told []string // one call after the other
	s := serve(t, nil, func(o *mcpserve.Options) {
		o.Sessions, o.Level = 2, func(l mcpspec.Level) { told = append(told, l.String()) }
	})
	tells := func(when string, want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s it tells %q, want %q", when, told, want)
		}
		told = nil
	}
	want := func(level string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"%s"}}`, level)
	}
	one, two := s.begin(`{}`), s.begin(`{}`)
	s.post(want("debug"), one).says(t, 200, `{}`)
	s.post(want("warning"), two).says(t, 200, `{}`)
	s.post(want("debug"), one).says(t, 200, `{}`)
	tells("at first", "debug")
	s.send(http.MethodDelete, "", one).says(t, 204, "")
	tells("once the first has ended", "warning")
	lines := hello("2025-11-25", `{}`) + "\n" + want("info") + "\n"
	if err := s.ServeStream(t.Context(), durward.Caller{Name: "local"}, strings.NewReader(lines), io.Discard); err != nil {
		t.Error(err)
	}
	tells("for as long as a stream", "info", "warning")
	s.begin(`{}`)
	tells("of one that wants nothing")
	s.begin(`{}`) // for which the second makes room
	tells("at the end", "")
}
