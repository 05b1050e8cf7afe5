package mcpclient

import (
	"math/rand/v2"
	"time"

	"github.com/durward/durward/internal/hubconfig"
)

const (
	// wellAfter is how long a server has to run for its next start to be at once, and
	// soundAfter for everything before to be forgotten.
	wellAfter  = 10 * time.Second
	soundAfter = 60 * time.Second
	// mostFailed is how many starts in a row may fail.
	mostFailed = 5
	// spread is how much shorter or longer a pause may be than its name.
	spread = 0.2

	firstPause   = time.Second
	longestPause = 60 * time.Second
)

// A pace says when a server that has ended is started again. It has no clock of its own.
type pace struct {
	policy         string
	initial, most  time.Duration
	failed, paused int // starts that failed in a row, and pauses since the last sound run
	random         func() float64
}

func newPace(r hubconfig.Restart) *pace {
	p := &pace{policy: r.Policy, initial: r.Initial, most: r.Max, random: rand.Float64}
	if p.initial <= 0 {
		p.initial = firstPause
	}
	if p.most <= 0 {
		p.most = max(longestPause, p.initial)
	}
	return p
}

// forget has the next start be as if it were the first.
func (p *pace) forget() { p.failed, p.paused = 0, 0 }

// unstarted tells after a start that failed how long to wait for the next, if there is one.
func (p *pace) unstarted() (wait time.Duration, again bool) {
	p.failed++
	if p.policy == "never" || p.failed >= mostFailed {
		return 0, false
	}
	return p.pause(), true
}

// ended tells the same of a server that ran for so long. Clean is set where it ended by itself
// and said that all was well.
func (p *pace) ended(ran time.Duration, clean bool) (wait time.Duration, again bool) {
	p.failed = 0
	if ran >= soundAfter {
		p.paused = 0
	}
	switch {
	case p.policy == "never" || p.policy == "on-failure" && clean:
		return 0, false
	case ran >= wellAfter:
		return 0, true
	}
	return p.pause(), true
}

func (p *pace) pause() time.Duration {
	d := p.initial
	for range p.paused {
		if d >= p.most/2 {
			d = p.most
			break
		}
		d *= 2
	}
	p.paused++
	return time.Duration(float64(min(d, p.most)) * (1 - spread + 2*spread*p.random()))
}
