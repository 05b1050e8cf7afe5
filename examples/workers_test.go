//go:build unix

package examples_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/durward/durward/worker/workertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWorkersConform tries the same rules on the worker in each language.
func TestWorkersConform(t *testing.T) {
	inGo := filepath.Join(t.TempDir(), "worker-go")
	build := exec.Command("go", "build", "-o", inGo, "./worker-go")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, command := range map[string][]string{"go": {inGo}, "python": {"python3", "worker-python/worker.py"}} {
		t.Run(name, func(t *testing.T) {
			url, lines := start(t, command)
			workertest.Conform(t, workertest.Worker{
				URL: url, Input: `{"text": "héllo", "after_ms": 5}`, Output: `{"text": "héllo"}`,
				Refused: []string{`{"text": 1}`, `{"text": "a", "after": 1}`, `{"after_ms": "1"}`, `{"after_ms": 1.5}`},
				Slow:    `{"text": "hello", "after_ms": 90000}`,
			})
			leave(t, url)
			for line := range lines {
				if strings.Contains(line, "code=CANCELLED") {
					return
				}
			}
			t.Error("it does not notice that a caller has left")
		})
	}
}

// leave makes a call that takes long, and goes away once it runs.
func leave(t *testing.T, url string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const body = `{"input": {"after_ms": 90000}}`
	if _, err := io.WriteString(c, "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
}

// start runs a worker until the test ends, and gives the lines that it logs.
func start(t *testing.T, command []string) (url string, lines <-chan string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "LISTEN=127.0.0.1:0")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told, first := make(chan string, 1000), make(chan string, 1)
	go func() {
		defer close(told)
		for s := bufio.NewScanner(log); s.Scan(); {
			if url, ok := strings.CutPrefix(s.Text(), "Serving on "); ok {
				first <- url
				continue
			}
			told <- s.Text()
		}
		close(first)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		for range told { // to its end
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	if url = <-first; url == "" {
		t.Fatal("it does not serve")
	}
	return url, told
}
