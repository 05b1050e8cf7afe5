//go:build unix

package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
)

// A diary is what a server prints, to be read while it does.
type diary struct {
	mu      sync.Mutex
	text    bytes.Buffer  // guarded by mu
	changed chan struct{} // has room for one: there is something new
}

func (d *diary) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return d.text.Write(text)
}

// await waits until the pattern is found so many times, and gives what it found last.
func (d *diary) await(t testing.TB, times int, pattern string) []string {
	t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(time.Minute)
	for {
		d.mu.Lock()
		found := re.FindAllStringSubmatch(d.text.String(), -1)
		d.mu.Unlock()
		if len(found) >= times {
			return found[times-1]
		}
		select {
		case <-d.changed:
		case <-late:
			t.Fatalf("%q is not told %d times:\n%s", pattern, times, &d.text)
		}
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReloadLeavesNothingBehind reads the configuration again and again, good and bad,
// while requests come; then no descriptor is left over. Goroutines are counted for all
// tests of this package.
func TestReloadLeavesNothingBehind(t *testing.T) {
	env := home(t)
	dir := filepath.Join(env["HOME"], "site")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "README.md"), "a page")
	file := filepath.Join(env["HOME"], "site.toml")
	write(t, file, "")
	ctx, stop := context.WithCancel(t.Context())
	p, stdout, _ := start(t, env, env["HOME"], nil)
	said := &diary{changed: make(chan struct{}, 1)}
	p.stderr = newOutlet(said)
	ended := make(chan int, 1)
	go func() { ended <- p.main(ctx, []string{"durward", "serve", dir, "-p", "0", "-c", file}) }()
	url := said.await(t, 1, `Serving on (http://\S+)\n`)[1]
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func() {
		r, err := client.Get(url)
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if string(body) != "a page" {
			t.Errorf("%d %s", r.StatusCode, body)
		}
	}
	again := func(text, told string, times int) {
		write(t, file, text)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		said.await(t, times, told)
		get()
	}
	again("", "read again", 1)
	before := descriptors(t)
	for i := range 10 {
		again("", "read again", 2+i)
		again("x = 1", "stays as it was", 1+2*i)
		again("[sandbox.filesystem]\nread = [\"/durward-no-such\"]", "stays as it was", 2+2*i)
	}
	if after := descriptors(t); after > before+2 {
		t.Errorf("%d descriptors have become %d", before, after)
	}
	stop()
	if status := <-ended; status != 0 || stdout.Len() > 0 {
		t.Errorf("status %d, %q", status, stdout)
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// TestSiteLogShowsNoControlCharacters tells a call whose path a terminal would obey.
func TestSiteLogShowsNoControlCharacters(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		p, _, stderr := start(t, map[string]string{varLogFormat: format}, "/", nil)
		logger, err := p.logger(p.stderr, "site")
		if err != nil {
			t.Fatal(err)
		}
		log := &siteLog{Logger: logger, Recorder: noRecord{}}
		_ = log.Deny(durward.Call{Tool: "/\x1b[2J\u202e\n"}, durward.Decision{})
		if got := stderr.String(); strings.ContainsAny(got, "\x1b\u202e") || strings.Count(got, "\n") != 1 || !strings.Contains(got, "unrecorded") {
			t.Errorf("%s: %q", format, got)
		}
	}
}

func TestHeldWriterKeepsTheOrder(t *testing.T) {
	var got bytes.Buffer
	h := &heldWriter{to: &got}
	_, _ = h.Write([]byte("a"))
	if got.Len() > 0 {
		t.Error("it does not hold")
	}
	h.release()
	_, _ = h.Write([]byte("b"))
	if got.String() != "ab" {
		t.Errorf("%q", &got)
	}
}
