//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/durward/durward/execserver"
)

// A server within a program leaves no goroutine behind a client that goes, whatever that had
// begun, and none at all behind its own end.
func TestRunLeavesNoGoroutine(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- execserver.Run(ctx, execserver.DefaultListenURL, execserver.Options{
			StateDir: t.TempDir(), Started: func(bound string) { url <- bound },
		})
	}()
	var at string
	select {
	case at = <-url:
	case err := <-ended:
		t.Fatal(err)
	}
	dir := openDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644))
	before := 0
	for round := range 3 {
		clients := make([]*peer, 10)
		for i := range clients {
			p := greet(t, at)
			clients[i] = p
			for j, tty := range []bool{false, true} {
				start := sh(fmt.Sprint(j), "echo up; exec sleep 600")
				start.Tty, start.PipeStdin = tty, !tty
				p.starts(start)
				p.prints(start.ProcessID, "up")
				for range 10 {
					p.begin("process/read", map[string]any{"processId": start.ProcessID, "afterSeq": 1, "waitMs": 60000})
				}
				p.begin("process/write", map[string]any{"processId": start.ProcessID, "chunk": make([]byte, 256<<10), "writeId": "1"}) // nobody reads it
			}
			held := sh("held", "exec sleep 600")
			held.Sandbox, held.Cwd = workspace(dir), "file://"+dir
			p.starts(held)
			p.result(p.ask("fs/open", map[string]any{"handleId": "h", "path": "file://" + dir + "/file"}), nil)
			p.result(p.ask("fs/watchMissing", map[string]any{"watchId": 1, "missing": []string{"file://" + dir + "/none"}, "present": "file://" + dir + "/file"}), nil)
		}
		for _, p := range clients {
			p.drop()
		}
		if round == 0 { // what is kept for later is made
			within(t, patience, "it is at rest", func() bool { before = runtime.NumGoroutine(); return before < 60 })
			continue
		}
		within(t, patience, "they are gone", func() bool { return runtime.NumGoroutine() <= before })
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	within(t, patience, "all are gone", func() bool { return runtime.NumGoroutine() < before })
}
