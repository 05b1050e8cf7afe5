package worker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/domain"
)

// tools is a source of some.
type tools []*domain.Tool

func (l tools) Tools(context.Context) (list []durward.Tool, _ error) {
	for _, t := range l {
		list = append(list, durward.Tool{ID: t.ID, Engine: Name, Spec: t})
	}
	return list, nil
}

func (l tools) Find(ctx context.Context, id durward.ToolID) (durward.Tool, error) {
	list, err := l.Tools(ctx)
	for _, t := range list {
		if t.ID == id {
			return t, err
		}
	}
	return durward.Tool{}, &durward.Error{Reason: durward.ToolNotFound}
}

// What a call says and is answered is on record by its hash alone, however it ends, and
// the log has nothing of either.
func TestRecords(t *testing.T) {
	var logged bytes.Buffer
	dir := filepath.Join(t.TempDir(), "log")
	file := filepath.Join(dir, "calls")
	log, err := audit.Open(dir, audit.Options{File: file})
	must(t, err)
	replies := map[durward.ToolID]string{
		"done":   whole(200, `{"ok":true,"meta":{"trace_id":"METASECRET","tool_run_id":7},"output":{"a":"OUTSECRET"}}`),
		"failed": whole(200, `{"ok":false,"error":{"code":"X","message":"ERRSECRET","details":{"DETAILSECRET":"DETAILSECRET"}}}`),
		"broken": whole(500, `{"BODYSECRET":1,"BODYSECRET":2}`),
		"cut":    "HTTP/1.1 200 CUTSECRET",
	}
	var list tools
	for id, reply := range replies {
		of := tool(hangsUp(t, reply).url())
		of.ID, of.Transport.TokenEnv = id, "TOKEN"
		list = append(list, of)
	}
	list = append(list, &domain.Tool{ID: "unset", Transport: domain.Transport{BaseURL: list[0].Transport.BaseURL, Endpoint: "/run", TokenEnv: "MISSING"}})
	e := engine(t, Options{
		Logger: slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Secret: func(name string) (string, bool) { return "TOKENSECRET", name == "TOKEN" },
	})
	grant := durward.Grant{Mode: durward.External, Limits: durward.Limits{Wall: patience, Output: limit}}
	runtime, err := core.New(core.Options{Source: list, Policy: coretest.AllowAll(grant), Recorder: log, Engines: map[string]core.Engine{Name: e}})
	must(t, err)
	for _, of := range list {
		c := durward.Call{Tool: of.ID, Door: "test", Input: []byte(`{"INSECRET":"INSECRET"}`), TraceID: "order-7"}
		r, err := runtime.Do(t.Context(), c)
		if want := map[durward.ToolID]durward.Reason{"broken": durward.NonStandardReply, "cut": durward.WorkerUnreachable, "unset": durward.ConfigInvalid}[of.ID]; durward.ReasonOf(err) != want {
			t.Errorf("%s: %s", of.ID, says(r, err))
		}
		logged.WriteString(fmt.Sprint(err))
	}
	runtime.Shutdown(t.Context())
	must(t, log.Close())
	written, err := os.ReadFile(file)
	must(t, err)
	for _, text := range []string{string(written), logged.String()} {
		if at := strings.Index(text, "SECRET"); at >= 0 {
			t.Errorf("there is a secret in it: %s", text[max(0, at-200):at+10])
		}
	}
	for part, times := range map[string]int{
		`"phase":"intent"`: 4, `"phase":"outcome"`: 4, `"phase":"deny"`: 1, `"cause":"ok"`: 1, `"cause":"tool_error"`: 3, `"traceId":"order-7"`: 9, `"sha256":`: 2,
	} {
		if n := strings.Count(string(written), part); n != times {
			t.Errorf("%s stands there %d times, want %d:\n%s", part, n, times, written)
		}
	}
	if n := strings.Count(logged.String(), "a worker answered with an id that is not the call's"); n != 2 {
		t.Errorf("%d warnings: %s", n, &logged)
	}
}

// A worker that says the ids of its call, or none, is not warned of.
func TestRightIDs(t *testing.T) {
	var logged bytes.Buffer
	e := engine(t, Options{Logger: slog.New(slog.NewJSONHandler(&logged, nil))})
	c := call(`{}`)
	for _, meta := range []string{`{}`, `{"trace_id":"` + c.Trace.ID() + `","tool_run_id":"` + string(c.ID) + `","duration_ms":1}`} {
		p := speaks(t, whole(200, `{"ok":true,"meta":`+meta+`,"output":{}}`))
		_, err := do(patient(t), e, tool(p.url()), c)
		must(t, err)
	}
	if logged.Len() > 0 {
		t.Error(&logged)
	}
}
