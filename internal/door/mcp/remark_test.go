package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// The log says what went wrong on both surfaces, and nothing of what was printed.
func TestWhatIsLogged(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"cmd.run","params":{"commandId":"rg","stdin":"SECRET","env":{"A":"SECRET"}}}`,
		modernCall("tools/call", `"name":"cmd_run","arguments":{"commandId":"rg","stdin":"SECRET","env":{"A":"SECRET"}},`),
	} {
		var log bytes.Buffer
		o := options(gives(durward.Result{Exit: exit(0), Stdout: printed("SECRET", 1)}, nil))
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		converse(t, o, line)
		if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "code=OUTPUT_TRUNCATED") || strings.Contains(got, "SECRET") {
			t.Errorf("%s is logged as %s", line, got)
		}
	}
}
