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

// Settled reports whether a directory has stood for a moment: its maker has had the
// time to lock it.
func Settled(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) > time.Second
}
