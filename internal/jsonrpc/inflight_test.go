package jsonrpc_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
)

func TestInFlight(t *testing.T) {
	var f jsonrpc.InFlight
	var cancelled []string
	cancel := func(name string) func() { return func() { cancelled = append(cancelled, name) } }
	one, text := jsonrpc.IntID(1), jsonrpc.StringID("1")
	steps := []struct {
		name      string
		got, want bool
	}{
		{"cancel what is not there", f.Cancel(one), false},
		{"finish what is not there", f.Done(one), false},
		{"add", f.Add(one, cancel("1")), true},
		{"add twice", f.Add(one, cancel("second")), false},
		{"add a string", f.Add(text, cancel(`"1"`)), true},
		{"cancel", f.Cancel(one), true},
		{"cancel twice", f.Cancel(one), false},
		{"add before the end", f.Add(one, cancel("early")), false},
		{"finish the cancelled", f.Done(one), false},
		{"finish the other", f.Done(text), true},
		{"finish twice", f.Done(text), false},
		{"add anew", f.Add(one, cancel("new")), true},
		{"finish it", f.Done(one), true},
		{"cancel after the end", f.Cancel(one), false},
	}
	for _, s := range steps {
		if s.got != s.want {
			t.Errorf("%s: %t", s.name, s.got)
		}
	}
	if len(cancelled) != 1 || cancelled[0] != "1" {
		t.Errorf("cancelled %q", cancelled)
	}
}

// However a cancellation and the end of a request race, one of them has the last word.
func TestARequestEndsOnce(t *testing.T) {
	var f jsonrpc.InFlight
	for n := range int64(1000) {
		id := jsonrpc.IntID(n)
		var stopped, wanted, hit atomic.Bool
		f.Add(id, func() { stopped.Store(true) })
		var wg sync.WaitGroup
		wg.Go(func() { hit.Store(f.Cancel(id)) })
		wg.Go(func() { wanted.Store(f.Done(id)) })
		wg.Wait()
		if hit.Load() == wanted.Load() || stopped.Load() != hit.Load() {
			t.Fatalf("cancelled %t, stopped %t, answered %t", hit.Load(), stopped.Load(), wanted.Load())
		}
	}
}
