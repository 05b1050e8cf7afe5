//go:build linux && (amd64 || arm64)

package sandbox

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// A cgroup may be another call's as soon as nobody lives in it: whoever kills the call that
// had it before, a moment too late, kills nobody.
func TestALateKillIsNobodyElses(t *testing.T) {
	h := ProbeAll().With(Cgroup)
	if h.best() != Cgroup {
		t.Logf("no cgroup to be had here: %v", h.Trials)
		return
	}
	r := newTrial(t, h)
	r.shell(t, "/bin/sleep 0 & exit 0") // it does not end alone
	r.request.Grant.Mode = "danger-full-access"
	plan := r.compile(t)
	if !plan.direct {
		t.Fatal("the command is not our own child")
	}
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for i := range 200 {
				p, err := Start(t.Context(), plan, r.request, Stdio{r.null, r.null, r.null}, r.host)
				if err != nil {
					t.Error(err)
					return
				}
				<-p.Exited()
				if exit := p.Exit(); exit.Status != 0 {
					t.Errorf("another call was killed: %v", exit.Status.Signal() == syscall.SIGKILL)
				}
				for range i % 5 {
					runtime.Gosched()
				}
				p.Kill()
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
}
