// Package dirlock marks a directory as in use for as long as its process lives.
//
// A process id in the name would not tell: whoever looks may live in another
// process-id namespace. Whoever makes such a directory locks it within a moment; one
// that is [Settled] and can be locked belongs to nobody any more.
package dirlock

import (
	"os"
	"time"
)

// Await is [Lock] that waits for who has the lock, for no longer than most.
func Await(path string, most time.Duration) (lock *os.File, err error) {
	While(most, func() bool {
		lock, err = Lock(path)
		return taken(err)
	})
	return lock, err
}

// While tries every millisecond for a lock of any kind that is taken, once or more, until it is not
// or most has passed. It reports whether it still is.
func While(most time.Duration, taken func() bool) bool {
	for end := time.Now().Add(most); taken(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return true
		}
	}
	return false
}

// Settled reports whether a directory has stood for a moment: its maker has had the
// time to lock it.
func Settled(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) > time.Second
}
