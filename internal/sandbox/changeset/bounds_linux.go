package changeset

import (
	"fmt"

	"github.com/durward/durward"
)

// What one set may come to, besides the bytes in upper.
const (
	maxEntries   = 200_000  // looked at in both trees
	maxNameBytes = 32 << 20 // of all their paths together
	maxPathBytes = 4095
	maxDepth     = 128
)

// bounds are what may still be looked at.
type bounds struct {
	entries, nameBytes int
	bytes, allBytes    int64 // negative without a limit
}

func newBounds(maxBytes int64) bounds {
	if maxBytes == 0 {
		maxBytes = durward.DefaultLimits().Tmp
	}
	return bounds{entries: maxEntries, nameBytes: maxNameBytes, bytes: maxBytes, allBytes: maxBytes}
}

// entry counts one more.
func (b *bounds) entry(dir, name string) error {
	length := len(dir) + 1 + len(name)
	b.entries--
	b.nameBytes -= length
	switch {
	case length > maxPathBytes:
		return b.over(dir, "a path in it is longer than %d bytes", maxPathBytes)
	case b.entries < 0:
		return b.over(dir, "there are more than %d files and directories to compare", maxEntries)
	case b.nameBytes < 0:
		return b.over(dir, "the paths to compare are more than %d bytes together", maxNameBytes)
	}
	return nil
}

// content counts the bytes of a file in upper. A file may be larger than the space it takes.
func (b *bounds) content(path string, size int64) error {
	if b.allBytes < 0 {
		return nil
	}
	if b.bytes -= size; b.bytes < 0 {
		return b.over(path, "with it the changed files are larger than %d bytes, which is limits.tmpBytes", b.allBytes)
	}
	return nil
}

func (b *bounds) depth(path string, depth int) error {
	if depth > maxDepth {
		return b.over(path, "it is more than %d directories deep", maxDepth)
	}
	return nil
}

func (b *bounds) over(path, format string, args ...any) error {
	const hint = "let the command change less at once, or run it without copyOnWrite"
	return refusal(opRead, durward.TooManyChanges, "filesystem.copyOnWrite", hint, path, "%w", fmt.Errorf(format, args...))
}
