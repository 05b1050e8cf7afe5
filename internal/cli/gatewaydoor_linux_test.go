//go:build linux && (amd64 || arm64)

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/door/gateway"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/source/manifest"
	"github.com/durward/durward/worker"
)

// TestTheGatewayIsADoor takes an allowed, a denied, a timed-out, a cancelled and a crashed
// call through the runtime of a domain package and through its door: the records are the same.
func TestTheGatewayIsADoor(t *testing.T) {
	w := newWatchedWorker(t)
	env := home(t)
	files := manifest.Options{ID: "test", Manifest: filepath.Join(env["HOME"], "manifest.yaml"), Policies: filepath.Join(env["HOME"], "policies.yaml")}
	text := fmt.Sprintf(`domain_id: test
version: "1"
tools:
  - {tool_id: good, transport: {type: http, base_url: %q}}
  - {tool_id: bad, transport: {type: http, base_url: %q}, upstreams: ["api.example.org:443"]}
`, w.url, w.url)
	if err := errors.Join(os.WriteFile(files.Manifest, []byte(text), 0o600), os.WriteFile(files.Policies, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	call := func(tool durward.ToolID, do string) durward.Call {
		return durward.Call{Tool: tool, Input: json.RawMessage(`{"do":"` + do + `"}`)}
	}
	ran := []string{"intent", "outcome"}
	coretest.SameCall(t, []coretest.Case{
		{Name: "allowed", Call: call("good", "answer"), Leaves: ran, Ends: coretest.Record{"cause": "ok"}},
		{Name: "denied", Call: call("bad", "answer"), Leaves: []string{"deny"}, Ends: coretest.Record{"rule": "egress", "code": "egress"}},
		{Name: "timed out", Call: call("good", "wait"), Within: 400 * time.Millisecond, Leaves: ran, Ends: coretest.Record{"cause": "timeout"}, Watch: w.watch},
		{Name: "cancelled", Call: call("good", "wait"), Leaves: ran, Ends: coretest.Record{"cause": "cancelled"}, Watch: w.watch, GoesAway: true},
		{Name: "crashed", Call: call("good", "crash"), Leaves: ran, Ends: coretest.Record{"cause": "tool_error"}},
	}, []coretest.Door{gatewayCore(env, files), gatewayDoor(env, files)})
}

// A watchedWorker tells when the work of a call begins and when it is over.
type watchedWorker struct {
	url          string
	began, ended chan struct{} // made anew for each watch
}

func newWatchedWorker(t *testing.T) *watchedWorker {
	t.Helper()
	w := &watchedWorker{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = httpedge.URL(l.Addr())
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- worker.Serve(ctx, l, worker.Func(w.run), worker.Options{}) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *watchedWorker) run(ctx context.Context, c worker.Call) (any, error) {
	switch {
	case strings.Contains(string(c.Input), "crash"):
		panic("crash")
	case strings.Contains(string(c.Input), "answer"):
		return nil, nil
	}
	close(w.began)
	defer close(w.ended)
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		<-time.After(time.Until(c.Deadline) + time.Second) // it does not keep to its time
	}
	return nil, ctx.Err()
}

func (w *watchedWorker) watch(testing.TB) coretest.Watch {
	w.began, w.ended = make(chan struct{}), make(chan struct{})
	return coretest.Between(w.began, w.ended)
}

// openGateway opens what stands behind `durward gateway`.
func openGateway(t testing.TB, env map[string]string, files manifest.Options) *gatewayServer {
	t.Helper()
	emptyLog(t, env)
	p, _, _ := start(t, env, env["HOME"], nil)
	g := &gatewayServer{gatewayServing: &gatewayServing{program: p, files: &files}, shared: gateway.NewShared(), level: new(slog.LevelVar)}
	if err := g.open(); err != nil {
		t.Fatal(err)
	}
	return g
}

// gatewayCore enters the core that stands behind the gateway.
func gatewayCore(env map[string]string, files manifest.Options) coretest.Door {
	return coretest.Door{Name: "core", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		g := openGateway(t, env, files)
		c.Call.Door, c.Call.Caller, c.Call.Ask.Limits.Wall = "core", durward.Caller{Name: "test"}, c.Within
		_, _ = g.now.now.handler.(*gateway.Door).Runtime.Do(ctx, c.Call) // the records tell
		if err := g.close(); err != nil {
			t.Fatal(err)
		}
		return recordsOf(t, env)
	}}
}

// gatewayDoor enters by a request. Who goes away closes the connection.
func gatewayDoor(env map[string]string, files manifest.Options) coretest.Door {
	return coretest.Door{Name: "gateway", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		g := openGateway(t, env, files)
		l, err := httpedge.Listen(ctx, httpedge.Address{Host: gatewayHost})
		if err != nil {
			t.Fatal(err)
		}
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		ended := make(chan error, 1)
		go func() { ended <- httpedge.New(g.now, httpedge.Options{}).Serve(serving, l) }()
		body := fmt.Sprintf(`{"input":%s}`, c.Call.Input)
		if c.Within > 0 {
			body = fmt.Sprintf(`{"timeout_sec":%g,"input":%s}`, c.Within.Seconds(), c.Call.Input)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, httpedge.URL(l.Addr())+"/v1/tools/"+string(c.Call.Tool)+":run", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if response, err := client.Do(r); err == nil {
			response.Body.Close()
		}
		stop()
		if err := errors.Join(<-ended, g.close()); err != nil {
			t.Fatal(err)
		}
		return recordsOf(t, env)
	}}
}
