package execserver

import (
	"sync"
	"sync/atomic"
	"testing"
)

// All is done, also by many at once of which more wait for each other than may rest.
func TestHandsDoAll(t *testing.T) {
	h := newHands()
	var done atomic.Int64
	for range 3 {
		var together, left sync.WaitGroup
		together.Add(3 * mostResting)
		for range 3 * mostResting {
			left.Add(1)
			h.do(func() {
				defer left.Done()
				together.Done()
				together.Wait()
				done.Add(1)
			})
		}
		left.Wait()
	}
	h.do(func() { done.Add(1) }) // end waits for it
	h.end()
	h.end()
	if n := done.Load(); n != 9*mostResting+1 {
		t.Errorf("%d were done", n)
	}
	if len(h.resting) != 0 {
		t.Errorf("%d rest behind the end", len(h.resting))
	}
}
