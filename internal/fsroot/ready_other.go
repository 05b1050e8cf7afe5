//go:build !linux

package fsroot

// ReadReady reports false: what would have to be waited for cannot be told.
func (*File) ReadReady([]byte, int64) bool { return false }
