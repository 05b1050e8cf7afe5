package execserver_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// A server is a run of `durward exec-server`.
type server struct {
	t     testing.TB
	url   string
	cmd   *exec.Cmd
	dir   string // its own: the state, and what TMPDIR names
	said  *noted
	ended chan struct{} // closed when it has ended
}

// noted is what is said on standard error. It may be read while more is said.
type noted struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (n *noted) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *noted) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// serve starts a server on a port of the loopback, and wants it to end well with the test.
func serve(t testing.TB, flags ...string) *server {
	t.Helper()
	return serveWith(t, "durward", flags...)
}

// serveWith is serve for the program of another file.
func serveWith(t testing.TB, program string, flags ...string) *server {
	t.Helper()
	s := &server{t: t, dir: openDir(t), said: new(noted), ended: make(chan struct{})}
	s.cmd = exec.Command(program, append([]string{"exec-server", "--listen", "ws://127.0.0.1:0"}, flags...)...)
	s.cmd.Stderr = s.said
	tmp := filepath.Join(s.dir, "tmp")
	must(t, os.Mkdir(tmp, 0o700))
	must(t, os.Chmod(tmp, 0o777|os.ModeSticky))
	s.cmd.Env = append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(s.dir, "state"), "TMPDIR="+tmp, "GORACE=atexit_sleep_ms=0")
	out, err := s.cmd.StdoutPipe()
	must(t, err)
	must(t, s.cmd.Start())
	t.Cleanup(s.stop)
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	if err != nil {
		t.Fatalf("the server: %v: %s", err, s.said)
	}
	s.url = strings.TrimSpace(line)
	go func() {
		defer close(s.ended)
		if more, _ := io.ReadAll(said); len(more) > 0 {
			t.Errorf("the server prints more than its address: %q", more)
		}
		_ = s.cmd.Wait() // the state tells
	}()
	return s
}

// stop asks the server to end, as a service manager does, and waits for that.
func (s *server) stop() {
	s.t.Helper()
	if s.url == "" { // it never served
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return
	}
	select {
	case <-s.ended:
		return // the test saw to it
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
		s.t.Errorf("the server does not end: %s", s.said)
	}
	if status := s.cmd.ProcessState.ExitCode(); status != 0 {
		s.t.Errorf("the server ends with %d: %s", status, s.said)
	}
}

// openDir gives a new directory that everybody may pass through and write to.
func openDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	must(t, os.Chmod(dir, 0o777))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within waits until a condition holds, and fails the test when it does not in time.
func within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) { // between two looks
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func touch(t testing.TB, dir, name string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
