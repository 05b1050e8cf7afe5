//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A fake is a clock whose time passes when the test says so.
type fake struct {
	mu     sync.Mutex
	at     time.Time
	timers []*fakeTimer
	more   chan struct{} // closed and made anew when there is another timer
}

type fakeTimer struct {
	d time.Duration
	c chan time.Time
}

func newFake() *fake {
	return &fake{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), more: make(chan struct{})}
}

func (f *fake) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *fake) timer(d time.Duration) (<-chan time.Time, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &fakeTimer{d, make(chan time.Time, 1)}
	f.timers = append(f.timers, t)
	close(f.more)
	f.more = make(chan struct{})
	return t.c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.timers = slices.DeleteFunc(f.timers, func(other *fakeTimer) bool { return other == t })
	}
}

// pass lets time pass for whoever asks for it, and ends no timer.
func (f *fake) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.Add(d)
}

// fire waits until somebody waits for a time between two, and lets it pass. It may be used by
// any goroutine of a test.
func (f *fake) fire(t testing.TB, least, most time.Duration) time.Duration {
	t.Helper()
	end := time.After(patience)
	for {
		f.mu.Lock()
		more := f.more
		at := slices.IndexFunc(f.timers, func(t *fakeTimer) bool { return least <= t.d && t.d <= most })
		if at >= 0 {
			timer := f.timers[at]
			f.timers = slices.Delete(f.timers, at, at+1)
			f.at = f.at.Add(timer.d)
			timer.c <- f.at
			f.mu.Unlock()
			return timer.d
		}
		f.mu.Unlock()
		select {
		case <-more:
		case <-end:
			t.Errorf("nobody waits between %s and %s", least, most)
			return 0
		}
	}
}

// waits tells how many wait for a time.
func (f *fake) waits(d time.Duration) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.timers {
		if t.d == d {
			n++
		}
	}
	return n
}

// end lets a time pass for all who wait for it now.
func (f *fake) end(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.timers {
		if t.d == d && len(t.c) == 0 {
			t.c <- f.at
		}
	}
}

// patient gives a context for what ends by itself.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// A hub is an engine with what a test wants to know of it.
type hub struct {
	*Engine
	clock   *fake
	dir     string
	changes chan string // servers that changed
}

// entry is a server that runs the fixture.
func entry(name string, words ...string) hubconfig.Server {
	return hubconfig.Server{Name: name, Command: fixture, Args: words, Concurrency: 1}
}

// newHub makes an engine and starts its servers.
func newHub(t testing.TB, o Options, servers ...hubconfig.Server) *hub {
	t.Helper()
	h := &hub{clock: newFake(), dir: t.TempDir(), changes: make(chan string, 4096)}
	if o.SandboxDir == "" {
		o.SandboxDir = h.dir
	}
	o.Servers, o.clock = servers, h.clock
	if o.Environ == nil {
		o.Environ = map[string]string{"PATH": usualPath}
	}
	o.Changed = func(server string) {
		select {
		case h.changes <- server:
		default:
		}
	}
	var err error
	h.Engine, err = New(o)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

func started(t testing.TB, servers ...hubconfig.Server) *hub {
	t.Helper()
	h := newHub(t, Options{}, servers...)
	h.Start(patient(t))
	return h
}

// until waits until a server is as it should be.
func (h *hub) until(t testing.TB, name string, is func(s Status) bool) Status {
	t.Helper()
	ctx := patient(t)
	for {
		if s := h.of(name); is(s) {
			return s
		}
		select {
		case <-h.changes:
		case <-time.After(time.Millisecond): // not all that a status tells is a change
		case <-ctx.Done():
			t.Fatalf("it is %+v", h.of(name))
		}
	}
}

func (h *hub) of(name string) Status {
	for _, s := range h.Servers() {
		if s.Name == name {
			return s
		}
	}
	return Status{}
}

func running(s Status) bool    { return s.State == Running }
func notRunning(s Status) bool { return s.State == Stopped }

const limit = 1 << 20

// call takes a call through the engine as the core does.
func (h *hub) call(ctx context.Context, server, tool, arguments string) (durward.Result, error) {
	return h.callWithin(ctx, limit, server, tool, arguments)
}

func (h *hub) callWithin(ctx context.Context, limit int64, server, tool, arguments string) (durward.Result, error) {
	p, err := h.Prepare(ctx, durward.Tool{Spec: &hubconfig.Target{Server: server, Tool: tool}},
		durward.Call{Input: json.RawMessage(arguments)}, durward.Grant{Limits: durward.Limits{Output: limit}})
	if err != nil {
		return durward.Result{}, err
	}
	defer p.Close()
	return p.Run(ctx)
}

// says calls a tool of the only server, and gives the text of the one block that is answered.
func (h *hub) says(t testing.TB, tool string, arguments any) string {
	t.Helper()
	text, err := json.Marshal(arguments)
	must(t, err)
	r, err := h.call(patient(t), h.order[0], tool, string(text))
	must(t, err)
	var result struct{ Content []struct{ Text string } }
	must(t, json.Unmarshal(r.Output, &result))
	if len(result.Content) != 1 {
		t.Fatalf("it answered %s", r.Output)
	}
	return result.Content[0].Text
}

// works fails the test unless the server carries a call out.
func (h *hub) works(t testing.TB, server string) {
	t.Helper()
	r, err := h.call(patient(t), server, "echo", `{"a":1}`)
	if want := `{"content":[],"structuredContent":{"a":1}}`; err != nil || string(r.Output) != want {
		t.Fatalf("it answered %s, %v", r.Output, err)
	}
}

// reason tells how a call ended.
func reason(r durward.Result, err error) string {
	switch {
	case err != nil:
		return string(durward.ReasonOf(err))
	case r.Failed:
		return "failed"
	}
	return "ok"
}

// appears waits for a file.
func appears(t testing.TB, path string) {
	t.Helper()
	for ctx := patient(t); ; {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s is not there", path)
		}
		time.Sleep(time.Millisecond)
	}
}

// written waits until a pipe holds something that nobody has read. It may be used by any
// goroutine of a test.
func written(t testing.TB, pipe *os.File) {
	raw, err := pipe.SyscallConn()
	for ctx := patient(t); err == nil; time.Sleep(time.Millisecond) {
		n, refused := 0, error(nil)
		err = raw.Control(func(fd uintptr) { n, refused = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		if err = errors.Join(err, refused, ctx.Err()); n > 0 {
			return
		}
	}
	t.Errorf("nothing was written: %v", err)
}

// lives reports whether a process is there and no zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z")
}

func kill(t testing.TB, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("there is no process %d to kill", pid)
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))
}

// A log keeps what is logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func file(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}
