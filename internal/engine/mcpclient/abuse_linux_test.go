//go:build abuse && linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server that is killed fifty times while many call it: every call ends in a way of its own and
// in time, the next ones are carried out, and nothing is left.
func TestFiftyKills(t *testing.T) {
	e := entry("a")
	e.Concurrency = 4
	h := started(t, e, entry("b"))
	h.works(t, "a") // what is opened once
	before := openFiles(t)
	var calls, good atomic.Int64
	known := map[string]bool{"ok": true, "server_stopped": true, "server_disconnected": true}
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for !isClosed(stop) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				got := reason(h.call(ctx, "a", "echo", `{}`))
				cancel()
				if calls.Add(1); !known[got] {
					t.Errorf("a call ended with %s", got)
				}
				if got == "ok" {
					good.Add(1)
				} else {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	for range 50 {
		pid := h.until(t, "a", running).PID
		marker := fmt.Sprint("7", time.Now().UnixNano()%1_000_000_000)
		_, _ = h.call(patient(t), "a", "fork", `{"text":"`+marker+`"}`)
		h.clock.pass(wellAfter)
		sofar := good.Load()
		kill(t, pid)
		h.until(t, "a", func(s Status) bool { return running(s) && s.PID != pid })
		h.works(t, "b")
		for ctx := patient(t); good.Load() < sofar+10 || lives(pid) || sleeps(marker); {
			if ctx.Err() != nil {
				t.Fatal("it does not work again, or somebody lives")
			}
		}
	}
	close(stop)
	callers.Wait()
	if n := h.of("a").Restarts; n != 50 {
		t.Errorf("it was started again %d times", n)
	}
	for ctx := patient(t); openFiles(t) > before; {
		if ctx.Err() != nil {
			t.Fatalf("%d descriptors were open before and %d are after", before, openFiles(t))
		}
	}
	t.Logf("%d calls, %d of them good", calls.Load(), good.Load())
}

func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

const playsHub = "DURWARD_TEST_HUB"

// When we are killed no server is left, and nobody whom it started.
func TestNobodyOutlivesUs(t *testing.T) {
	marker := fmt.Sprint("7", time.Now().UnixNano()%1_000_000_000)
	c := exec.Command(os.Args[0], "-test.run=^TestPlayHub$", "-test.timeout=60s")
	c.Env = append(os.Environ(), playsHub+"="+marker, "TMPDIR="+t.TempDir()) // it removes nothing itself
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	pids := make([]int, 2)
	_, err = fmt.Fscanln(out, &pids[0], &pids[1])
	must(t, err)
	for _, pid := range pids {
		if !lives(pid) {
			t.Errorf("process %d was not there", pid)
		}
	}
	must(t, c.Process.Kill())
	_ = c.Wait()
	for ctx := patient(t); sleeps(marker) || lives(pids[0]) || lives(pids[1]); {
		if ctx.Err() != nil {
			t.Fatal("somebody lives")
		}
	}
}

// TestPlayHub is what TestNobodyOutlivesUs kills.
func TestPlayHub(t *testing.T) {
	marker := os.Getenv(playsHub)
	if marker == "" {
		return
	}
	deaf := entry("deaf", "-c", `trap "" TERM; "$0"; while :; do sleep 1000; done`, fixture)
	deaf.Command = "/bin/sh"
	h := started(t, entry("a"), deaf)
	if got := reason(h.call(patient(t), "a", "fork", `{"text":"`+marker+`"}`)); got != "ok" {
		t.Fatal(got)
	}
	for ctx := patient(t); !sleeps(marker) && ctx.Err() == nil; {
	}
	fmt.Println(h.of("a").PID, h.of("deaf").PID)
	time.Sleep(time.Minute)
}
