package mcp

import (
	"bytes"
	"fmt"
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

// What a caller wrote is cut before it is logged and told.
func TestALongTextIsNotLoggedWhole(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	var log bytes.Buffer
	o := options(gives(durward.Result{}, &durward.Error{Reason: durward.OutsideRoot, Err: fmt.Errorf("%q is outside", long)}))
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	setDebug := `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}` + "\n"
	said := behindHello(t, converse(t, o, initialize+setDebug+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"`+long+`"}}}`))
	if log.Len() > 1500 || !strings.Contains(log.String(), "éé") || !strings.Contains(log.String(), "rule=outsideAllowedRoots") {
		t.Errorf("%d bytes are logged: %.200s", log.Len(), log.String())
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, "notifications/message") && len(line) > 1000 {
			t.Errorf("%d bytes are told: %.200s", len(line), line)
		}
	}
	if !strings.Contains(said, "notifications/message") {
		t.Error("nothing is told")
	}
}
