//go:build !linux

package fsroot

// A MountTable is of no use here: what a file is on is told without it.
type MountTable struct{}

// Open opens nothing.
func (*MountTable) Open() error { return nil }

// Close closes nothing.
func (*MountTable) Close() {}
