package mcp

import (
	"context"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/toolcall"
)

// TestCallsAreOnRecord takes calls to a real core: each leaves its records, the one that
// cannot be read included.
func TestCallsAreOnRecord(t *testing.T) {
	var log coretest.Memory
	runtime, err := core.New(core.Options{
		Source: core.Catalogue{{ID: fsRead, Engine: "script"}, {ID: cmdRun, Engine: "script"}},
		Policy: coretest.AllowAll(durward.Grant{}), Recorder: &log,
		Engines: map[string]core.Engine{"script": &coretest.Script{
			OnPrepare: func(_ context.Context, c durward.Call) error {
				if c.Tool == cmdRun && c.Argv == nil {
					_, err := toolcall.DecodeCmdRun(c.Input)
					return err
				}
				return nil
			},
			OnRun: echo,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		line, says string
		want       coretest.Record
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"a"}}`, `"data":"hello\n"`, coretest.Record{
			"phase": "outcome", "cause": "ok", "door": "mcp", "surface": "direct", "clientId": "1", "tool": "fs.read", "caller": "local:1000",
		}},
		{modernCall("tools/call", `"name":"cmd_run","arguments":{"commandId":"rg"},`), `"stdout":"rg"`, coretest.Record{
			"phase": "outcome", "cause": "ok", "surface": "mcp", "tool": "cmd.run",
		}},
		{`{"jsonrpc":"2.0","id":"x","method":"cmd.run","params":{"commandId":"rg","cmd":"x"}}`, `"rule":"unknownField"`, coretest.Record{
			"phase": "deny", "code": "unknownField", "clientId": `"x"`, "tool": "cmd.run",
		}},
	}
	for _, tt := range tests {
		if got := converse(t, options(runtime), tt.line); !strings.Contains(got, tt.says) {
			t.Errorf("%s is answered with %s", tt.line, got)
		}
		records := log.Records(t)
		last := records[len(records)-1]
		for member, value := range tt.want {
			if last[member] != value {
				t.Errorf("%s: the record says %s: %v, want %v", tt.line, member, last[member], value)
			}
		}
	}
}
