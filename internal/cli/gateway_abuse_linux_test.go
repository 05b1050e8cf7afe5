//go:build abuse && (amd64 || arm64)

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/source/manifest"
)

// TestTenThousandCallsLeaveNothing has callers leave and a worker crash at random: in the end
// nothing is in flight, and neither a goroutine nor a descriptor is left.
func TestTenThousandCallsLeaveNothing(t *testing.T) {
	const calls, together = 10_000, 64
	wild := newWildWorker(t)
	env := home(t)
	files := manifest.Options{ID: "test", Manifest: filepath.Join(env["HOME"], "manifest.yaml"), Policies: filepath.Join(env["HOME"], "policies.yaml")}
	text := fmt.Sprintf("domain_id: test\nversion: \"1\"\ntools:\n  - {tool_id: wild, timeout_sec: 0.2, transport: {type: http, base_url: %q}, retry: {max_attempts: 2}}\n", wild.url)
	limits := "concurrency: {max_inflight: 24, max_queue: 30, queue_timeout_sec: 0.1}\n"
	if err := errors.Join(os.WriteFile(files.Manifest, []byte(text), 0o600), os.WriteFile(files.Policies, []byte(limits), 0o600)); err != nil {
		t.Fatal(err)
	}
	goroutines, descriptors := runtime.NumGoroutine(), descriptorsOpen(t)
	g := openGateway(t, env, files)
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: gatewayHost})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- httpedge.New(g.now, httpedge.Options{}).Serve(ctx, l) }()

	transport := &http.Transport{MaxIdleConnsPerHost: together}
	client := http.Client{Transport: transport}
	url := httpedge.URL(l.Addr())
	answers := map[int]int{}
	var mu sync.Mutex
	var left atomic.Int64
	var callers sync.WaitGroup
	work := make(chan int)
	for range together {
		callers.Go(func() {
			for range work {
				call := ctx
				leave := func() {}
				if rand.N(3) == 0 {
					call, leave = context.WithTimeout(ctx, rand.N(15*time.Millisecond))
				}
				r, _ := http.NewRequestWithContext(call, http.MethodPost, url+"/v1/tools/wild:run", strings.NewReader(`{"input":{"a":1}}`))
				response, err := client.Do(r)
				if err != nil {
					left.Add(1)
					leave()
					continue
				}
				_, _ = io.Copy(io.Discard, response.Body) // it may be cut
				response.Body.Close()
				leave()
				mu.Lock()
				answers[response.StatusCode]++
				mu.Unlock()
			}
		})
	}
	for i := range calls {
		work <- i
	}
	close(work)
	callers.Wait()
	t.Logf("%v, and %d callers left", answers, left.Load())
	for _, status := range []int{200, 429, 502} {
		if answers[status] == 0 {
			t.Errorf("no call was answered with %d", status)
		}
	}
	transport.CloseIdleConnections()
	running, waiting := g.shared.Metrics.Load()
	for deadline := time.Now().Add(10 * time.Second); running+waiting > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two looks
		running, waiting = g.shared.Metrics.Load()
	}
	if running+waiting > 0 {
		t.Errorf("%d calls are in flight, and %d wait", running, waiting)
	}
	stop()
	if err := errors.Join(<-ended, g.close()); err != nil {
		t.Error(err)
	}
	wild.rest()
	for deadline := time.Now().Add(10 * time.Second); (runtime.NumGoroutine() > goroutines || descriptorsOpen(t) > descriptors) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two looks
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		trace := make([]byte, 64<<10)
		t.Errorf("there were %d goroutines, and there are %d:\n%s", goroutines, n, trace[:runtime.Stack(trace, true)])
	}
	if n := descriptorsOpen(t); n > descriptors {
		t.Errorf("there were %d descriptors, and there are %d", descriptors, n)
	}
}

func descriptorsOpen(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A wildWorker does at random what workers do that crash.
type wildWorker struct {
	url   string
	l     net.Listener
	conns sync.WaitGroup
	open  sync.Map // of net.Conn
}

func newWildWorker(t *testing.T) *wildWorker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wildWorker{url: httpedge.URL(l.Addr()), l: l}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.open.Store(conn, true)
			w.conns.Go(func() { w.serve(conn) })
		}
	}()
	t.Cleanup(func() { l.Close(); <-accepting; w.rest() })
	return w
}

// rest closes the connections, and waits until nobody is served.
func (w *wildWorker) rest() {
	w.open.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
	w.conns.Wait()
}

func (w *wildWorker) serve(conn net.Conn) {
	defer w.open.Delete(conn)
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		const ok = `{"ok":true,"output":{}}`
		switch rand.N(10) {
		case 0: // it dies before it says anything
			_ = conn.(*net.TCPConn).SetLinger(0)
			return
		case 1: // in the middle
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(ok)+9, ok)
			return
		case 2:
			fmt.Fprint(conn, "nonsense\r\n\r\n")
			return
		case 3: // it hangs until it is let go
			_, _ = io.Copy(io.Discard, in)
			return
		default:
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(ok), ok)
		}
	}
}
