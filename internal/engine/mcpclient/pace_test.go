package mcpclient

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/durward/durward/internal/hubconfig"
)

// even is a pace without chance.
func even(policy string) *pace {
	p := newPace(hubconfig.Restart{Policy: policy})
	p.random = func() float64 { return 0.5 }
	return p
}

func waits(t *testing.T, got time.Duration, again bool, want time.Duration) {
	t.Helper()
	if !again || got.Round(time.Millisecond) != want {
		t.Errorf("it waits %s, again: %t; want %s", got, again, want)
	}
}

// Pauses grow up to a minute while a server crashes soon after its start, and no number of such
// crashes stops it.
func TestPausesGrow(t *testing.T) {
	p := even("always")
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60, 60} {
		wait, again := p.ended(wellAfter-1, false)
		waits(t, wait, again, want*time.Second)
	}
	wait, again := p.ended(wellAfter, false)
	waits(t, wait, again, 0)
	wait, again = p.ended(0, false)
	waits(t, wait, again, 60*time.Second) // ten seconds are not enough to forget
	wait, again = p.ended(soundAfter, false)
	waits(t, wait, again, 0)
	wait, again = p.ended(0, false)
	waits(t, wait, again, time.Second)
}

// Five starts in a row may fail; one that goes well between them, or somebody who asks, begins
// the count again.
func TestStartsAreCounted(t *testing.T) {
	for name, between := range map[string]func(p *pace){
		"a good start": func(p *pace) { p.ended(0, false) },
		"a wish":       func(p *pace) { p.forget() },
	} {
		p := even("")
		for range 4 {
			if _, again := p.unstarted(); !again {
				t.Fatalf("%s: it has stopped too early", name)
			}
		}
		between(p)
		for n := 1; n <= 5; n++ {
			if _, again := p.unstarted(); again != (n < 5) {
				t.Fatalf("%s: after %d more it starts again: %t", name, n, again)
			}
		}
	}
}

// Whatever happens, a pause is no longer than the longest, by a fifth, and no shorter than the
// first by as much.
func TestPausesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := hubconfig.Restart{Initial: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "initial"))}
		r.Max = r.Initial + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))
		p := newPace(r)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			wait, again := p.ended(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "ran")), false)
			if !again || wait != 0 && (float64(wait) < float64(r.Initial)*0.79-1 || float64(wait) > float64(r.Max)*1.21) {
				t.Fatalf("%+v: it waits %s, again: %t", r, wait, again)
			}
		}
	})
}
