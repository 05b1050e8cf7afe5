//go:build !linux

package process

import "time"

var started = time.Now()

// sinceBoot counts what the clock of the process counts: a sleep of the machine may be
// left out.
func sinceBoot() time.Duration { return time.Since(started) }
