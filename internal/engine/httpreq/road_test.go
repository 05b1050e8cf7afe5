package httpreq

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// tools is a source of those of this engine.
type tools []durward.Tool

func (t tools) Tools(context.Context) ([]durward.Tool, error) { return t, nil }

func (t tools) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	for _, tool := range t {
		if tool.ID == id {
			return tool, nil
		}
	}
	return durward.Tool{}, &durward.Error{Reason: durward.ToolNotFound}
}

// What a call says and is answered is measured and not kept, whole or as a stream; where it
// went, and where it was not let, is on record.
func TestRecords(t *testing.T) {
	s := newSite(t, hop)
	dir := filepath.Join(t.TempDir(), "log")
	file := filepath.Join(dir, "calls")
	log, err := audit.Open(dir, audit.Options{File: file})
	must(t, err)
	runtime, err := core.New(core.Options{
		Source: tools(Tools()), Policy: coretest.AllowAll(ample), Recorder: log,
		Engines: map[string]core.Engine{"httpreq": engine(t, Options{Allow: []string{s.at()}})},
	})
	must(t, err)
	ask := func(path string) durward.Call {
		c := says(map[string]any{
			"method": "POST", "url": s.URL + path, "bodyBase64": base64of("bodysecret"), "headers": []field{{"Authorization", "headsecret"}, {"X", "answersecret"}},
		})
		c.Tool, c.Door = Tool, "test"
		return c
	}
	if r, err := runtime.Do(t.Context(), ask("/x?urlsecret")); err != nil || !strings.Contains(string(read(t, r.Output).Body), "answersecret") {
		t.Errorf("%s, %v", r.Output, err)
	}
	session, err := runtime.Open(t.Context(), ask("/y"), nil)
	must(t, err)
	if _, err := session.Wait(t.Context()); err != nil || !strings.Contains(bodyOf(t, all(t, session)), "answersecret") {
		t.Error(err)
	}
	must(t, session.Close())
	if _, err := runtime.Do(t.Context(), ask("/hop/307?http://10.0.0.1:81/urlsecret")); durward.ReasonOf(err) != durward.HostDenied {
		t.Error(err)
	}
	refused := ask("")
	refused.Input = []byte(strings.Replace(string(refused.Input), s.at(), "10.0.0.2:82/urlsecret", 1))
	if _, err := runtime.Do(t.Context(), refused); durward.ReasonOf(err) != durward.HostDenied {
		t.Error(err)
	}
	runtime.Shutdown(t.Context())
	must(t, log.Close())
	written, err := os.ReadFile(file)
	must(t, err)
	for _, secret := range []string{"secret", base64of("bodysecret")} {
		if strings.Contains(string(written), secret) {
			t.Errorf("%s is on record:\n%s", secret, written)
		}
	}
	for part, times := range map[string]int{
		`"phase":"intent"`: 3, `"phase":"outcome"`: 3, `"phase":"deny"`: 1, `"cause":"network.refused"`: 1, `"connections":1`: 3, `"host":"10.0.0.1","port":81`: 2, `"rule":"allow-net"`: 3,
	} {
		if n := strings.Count(string(written), part); n != times {
			t.Errorf("%s stands there %d times, want %d:\n%s", part, n, times, written)
		}
	}
}
