package durward

import (
	"log/slog"
	"net/http"
	"slices"
	"testing"
)

func TestEveryKindHasEveryColumn(t *testing.T) {
	if got, want := len(Kinds()), len(kindTable)-1; got != want {
		t.Errorf("Kinds lists %d kinds, the table has %d", got, want)
	}
	names, codes := map[string]Kind{}, map[int]Kind{}
	for i, k := range Kinds() {
		if int(k) != i+1 {
			t.Errorf("%v is number %d, not %d: the set has a hole", k, int(k), i+1)
		}
		if other, taken := names[k.String()]; taken || k.String() == "" {
			t.Errorf("%v and %v share the word %q", other, k, k.String())
		}
		if other, taken := codes[k.JSONRPCCode()]; taken || k.JSONRPCCode() >= 0 {
			t.Errorf("%v and %v share the JSON-RPC code %d, or it is not an error's", other, k, k.JSONRPCCode())
		}
		names[k.String()], codes[k.JSONRPCCode()] = k, k
		if s := k.HTTPStatus(); s != StatusClientClosedRequest && (s < 400 || http.StatusText(s) == "") {
			t.Errorf("%v has the HTTP status %d", k, s)
		}
		if s := k.ExitStatus(); s < 1 || s > 10 {
			t.Errorf("%v has the exit status %d, which scripts have no meaning for", k, s)
		}
		if !slices.Contains([]slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelError}, k.LogLevel()) {
			t.Errorf("%v is logged at %v", k, k.LogLevel())
		}
		if !slices.Contains([]Retry{RetryLater, FixState, FixRequest, RetryNever}, k.Retry()) {
			t.Errorf("%v has the retry class %q", k, k.Retry())
		}
	}
}

// The exit statuses are what scripts branch on, so each is pinned.
func TestKindExitStatus(t *testing.T) {
	for kind, want := range map[Kind]int{
		Invalid: 2, Denied: 4, NotFound: 7, Timeout: 6, Cancelled: 6, TooLarge: 1, Busy: 8, Upstream: 8, Unavailable: 9,
		Conflict: 10, Internal: 1,
	} {
		if got := kind.ExitStatus(); got != want {
			t.Errorf("%v exits with %d, want %d", kind, got, want)
		}
	}
}

func TestWhatIsNoKindCountsAsInternal(t *testing.T) {
	for _, k := range []Kind{0, -1, Internal + 1, 1 << 30} {
		if got := k.String(); got != "internal" {
			t.Errorf("Kind(%d) is %q", int(k), got)
		}
		if got := k.HTTPStatus(); got != http.StatusInternalServerError {
			t.Errorf("Kind(%d) has the HTTP status %d", int(k), got)
		}
	}
}
