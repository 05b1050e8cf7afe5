package main

import (
	"bufio"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

const workerPage = "../../docs/worker.md"

// TestTheWorkerPageShowsWhatWorkersAnswer builds the program that docs/worker.md shows, and
// sends what the page shows to it, and what it shows behind that to durward worker firecrawl.
func TestTheWorkerPageShowsWhatWorkersAnswer(t *testing.T) {
	program, api := builtFromPage(t), httptest.NewServer(&firecrawltest.API{Key: "fc-key"})
	defer api.Close()
	commands := commandsOn(t, workerPage)
	if len(commands) != 7 {
		t.Fatalf("the page shows %d commands", len(commands))
	}
	for i, worker := range []*exec.Cmd{exec.Command(program), exec.Command("durward", "worker", "firecrawl", "--port", "0")} {
		worker.Env = append(os.Environ(), "LISTEN=127.0.0.1:0", "FIRECRAWL_API_KEY=fc-key", "FIRECRAWL_BASE_URL="+api.URL)
		at := serveUntilTheEnd(t, worker)
		from, to := 0, 4
		if i > 0 {
			from, to = to, len(commands)
		}
		for _, c := range commands[from:to] {
			printed, err := exec.Command("sh", "-c", strings.ReplaceAll(c.line, "localhost:8080", at)).Output()
			if err != nil {
				t.Fatalf("%s: %v", c.line, err)
			}
			if diff := cmp.Diff(withoutDurations(c.shown), withoutDurations(string(printed))); diff != "" {
				t.Errorf("%s: the page shows (-), it answers (+):\n%s", c.line, diff)
			}
		}
	}
}

func withoutDurations(text string) string {
	return regexp.MustCompile(`"duration_ms":\d+`).ReplaceAllString(strings.TrimSpace(text), `"duration_ms":0`)
}

// builtFromPage builds the program on the page, as if its file were in this module.
func builtFromPage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, overlay, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	here, err := filepath.Abs("pageprogram/main.go")
	if err != nil {
		t.Fatal(err)
	}
	places, err := json.Marshal(map[string]map[string]string{"Replace": {here: source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{source: []byte(blocksOf(t, workerPage, "go")[0]), overlay: places} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./pageprogram")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// serveUntilTheEnd runs a server until the test ends, and gives its host and port.
func serveUntilTheEnd(t *testing.T, server *exec.Cmd) string {
	t.Helper()
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		<-drained
		_ = server.Wait() // the program on the page ends as the signal has it
	})
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "Serving on http://"); ok {
			go func() {
				defer close(drained)
				for lines.Scan() { // so that it is not kept from logging
				}
			}()
			return at
		}
	}
	close(drained)
	t.Fatalf("%s does not serve", server.Path)
	return ""
}
