//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"sync"
	"testing"
	"time"
)

// The reaper that is told to end does so even while a crowd of processes comes and
// goes, and whoever stops it is told to go on. It is stopped once it has said that the
// command runs: a start waits for that.
func TestKillIsPrompt(t *testing.T) {
	for c, h := range eachHost() {
		r := newTrial(t, h)
		r.shell(t, "read -r begin; kill -STOP $PPID; while :; do (sleep 0.001 & sleep 0.001) & sleep 0.002; done")
		r.request.Follow = true
		stdin, begin := pipe(t)
		p, err := Start(t.Context(), r.compile(t), r.request, Stdio{stdin, r.null, r.null}, r.host)
		stdin.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := begin.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		begin.Close()
		time.AfterFunc(100*time.Millisecond, p.Kill)
		select {
		case <-p.Gone():
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the tree lives on", c)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The end of a call that comes while its process is being started never reaches the
// process of a neighbour, whose descriptor may have the same number a moment later.
func TestAnEndDuringTheStartIsNobodyElses(t *testing.T) {
	t.Run("shared", func(t *testing.T) { testAnEndDuringTheStart(t, Probe().SharedErr, 700) })
	t.Run("copied", func(t *testing.T) { testAnEndDuringTheStart(t, errNotHere, 40) })
}

func testAnEndDuringTheStart(t *testing.T, shared error, rounds int) {
	r := newTrial(t, Probe())
	r.host.SharedErr = shared
	plan := r.compile(t)
	stop := make(chan struct{})
	var hasty sync.WaitGroup
	for range 4 {
		hasty.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%40)*20*time.Microsecond)
				if p, err := Start(ctx, plan, r.request, Stdio{r.null, r.null, r.null}, r.host); err == nil {
					p.Kill()
					_ = p.Close() // it was killed
				}
				cancel()
			}
		})
	}
	for range rounds {
		p, err := Start(t.Context(), plan, r.request, Stdio{r.null, r.null, r.null}, r.host)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
		if exit := p.Exit(); exit.Lost || exit.Status != 0 {
			t.Errorf("a neighbour was hit: %+v", exit)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	hasty.Wait()
}

// A command that stops its reaper before that has said that the command runs does not hold
// the start up.
func TestAStoppedReaperStarts(t *testing.T) {
	for _, h := range eachHost() {
		r := newTrial(t, h)
		r.shell(t, "kill -STOP $PPID; exec sleep 300")
		r.request.Follow = true
		for range 5 {
			p, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
			if err != nil {
				t.Fatal(err)
			}
			p.Kill()
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
