package core

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
)

// While a call runs a timer is always due within a second, and behind the last one none is.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Runtime{calls: make(map[durward.CallID]context.CancelFunc)}
		for _, id := range []durward.CallID{"one", "two"} { // it starts again, too
			if err := r.enlist(id, func() {}); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				time.Sleep(pulseTime - 1)
				synctest.Wait()
				if !r.pulse.timer.Stop() {
					t.Fatalf("no timer is due while call %s runs", id)
				}
				r.beat()
			}
			r.dismiss(id)
			time.Sleep(pulseTime)
			synctest.Wait()
			if r.pulse.timer.Stop() {
				t.Fatalf("a timer is due behind call %s", id)
			}
		}
	})
}
