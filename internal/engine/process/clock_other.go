//go:build !linux

package process

import "time"

var started = time.Now()

// sinceBoot counts what the clock of the process counts: no command runs on this system.
func sinceBoot() time.Duration { return time.Since(started) }
