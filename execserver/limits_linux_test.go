//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What clients give names to is kept, and so the names are not long.
func TestNamesAreShort(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("n", 1025)
	p := dial(t, s.url)
	p.refused(p.ask("initialize", map[string]any{"clientName": long}), -32602)
	p.begins(map[string]any{"clientName": long[1:]})
	cat := sh("p", "exec cat")
	cat.PipeStdin = true
	p.starts(cat)
	for method, params := range map[string]map[string]any{
		"process/start": {"processId": long, "argv": []string{"true"}, "cwd": "/", "env": map[string]string{}, "tty": false},
		"process/write": {"processId": "p", "chunk": "", "writeId": long},
		"fs/open":       {"handleId": long, "path": "/etc/passwd"},
		"http/request":  {"requestId": long, "method": "GET", "url": "http://127.0.0.1:1/"},
	} {
		p.refused(p.ask(method, params), -32602)
	}
	p.lives()
}

// However much waits for a process, others can be asked for, and it can be ended.
func TestWhatWaitsHoldsUpNothing(t *testing.T) {
	s, m := serve(t), newMarker()
	p := greet(t, s.url)
	deaf := sh("deaf", "exec sleep %s", m)
	deaf.PipeStdin = true
	p.starts(deaf)
	p.starts(sh("silent", "exec sleep %s", m))
	for range 4200 {
		p.begin("process/read", map[string]any{"processId": "silent", "waitMs": 1 << 40})
	}
	chunk := base64.StdEncoding.EncodeToString(make([]byte, 1<<20))
	for i := range 80 {
		p.begin("process/write", map[string]any{"processId": "deaf", "chunk": chunk, "writeId": fmt.Sprint(i)})
	}
	if !p.terminates("silent") || !p.terminates("deaf") {
		t.Error("what runs does not run")
	}
	p.closed("silent")
	p.closed("deaf")
	p.lives()
}

// Clients that come and go leave no room taken that another one needs.
func TestSessionsThatAreLeftMakeRoom(t *testing.T) {
	s, m := serve(t, "--session-grace", "600"), newMarker()
	kept := greet(t, s.url)
	kept.starts(sh("p", "exec sleep %s", m))
	for range 1030 {
		p := dial(t, s.url)
		p.begins(map[string]any{"clientName": "x"})
		p.drop()
	}
	greet(t, s.url).lives()
	kept.lives()
	kept.terminates("p")
}

// A connection that breaks off takes nothing with it that the server would wait for.
func TestConnectionsThatBreakOffWhileTheyOpen(t *testing.T) {
	s := serve(t)
	for range 40 {
		p := greet(t, s.url)
		for i := range 200 {
			p.begin("fs/open", map[string]any{"handleId": fmt.Sprint(i), "path": "/etc/passwd"})
			p.begin("fs/close", map[string]any{"handleId": fmt.Sprint(i)})
		}
		p.drop()
	}
	greet(t, s.url).lives()
	must(t, s.cmd.Process.Signal(os.Interrupt))
	within(t, patience, "the server ends", func() bool {
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	if text := s.said.String(); strings.Contains(text, "did not return") {
		t.Errorf("it says %s", text)
	}
}
