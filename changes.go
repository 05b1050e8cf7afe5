package durward

import (
	"context"
	"io"
)

// Changes are what a command wrote to a copy of its workspace. None of it has reached the
// machine, and none will unless Apply is called. They are for one goroutine, hold memory,
// and go when they are closed.
type Changes interface {
	// List gives them by the directories that were copied, each in the order of its names.
	List() []Change
	// Show writes them for a person, text files with what is different in them.
	Show(w io.Writer) error
	// Whole reports whether Show names every one of them: it is bounded.
	Whole() bool
	// Apply makes all of them, or none and gives the reason; a failure that left it half
	// done has reason PartlyApplied. It may be called again after a failure.
	Apply(ctx context.Context) error
	Close() error
}

// A Change is what became of one path.
type Change struct {
	// Path is absolute. Raw has its bytes where they are not UTF-8.
	Path string `json:"path"`
	Raw  []byte `json:"raw,omitempty"`
	// Kind is A for added, M for modified, D for deleted, and T where something of
	// another type stands there now.
	Kind string `json:"kind"`
	// Size is that of a file in bytes; of a deleted one, what it had.
	Size int64 `json:"size"`
	// SHA256 is that of a file's new content, in lower-case hexadecimal.
	SHA256 string `json:"sha256,omitempty"`
}
