package core

import "time"

// pulseTime bounds how long a stopped program stands still while calls run.
const pulseTime = time.Second

// A pulse is a timer that is due within a second for as long as calls run. Go (1.26 and 1.27)
// needs one now and then: where one goroutine begins to collect garbage in the instant in which
// another enters a system call that waits, all stand still until that call returns, a timer is due
// or a minute is over. The zero value is at rest.
type pulse struct {
	timer *time.Timer // nil before the first call
	beats bool        // timer is to fire
}

// start has beat called in a second, unless that is to happen anyway.
func (p *pulse) start(beat func()) {
	switch {
	case p.beats:
	case p.timer == nil:
		p.timer = time.AfterFunc(pulseTime, beat)
	default:
		p.timer.Reset(pulseTime)
	}
	p.beats = true
}

func (r *Runtime) beat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pulse.beats = false
	if len(r.calls) > 0 {
		r.pulse.start(r.beat)
	}
}
