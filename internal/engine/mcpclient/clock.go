package mcpclient

import "time"

// A clock tells the time, and when some of it has passed.
type clock interface {
	now() time.Time
	// timer gives a channel that receives once after d, and what lets go of it.
	timer(d time.Duration) (<-chan time.Time, func())
}

type system struct{}

func (system) now() time.Time { return time.Now() }

func (system) timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
