package durward

import (
	"encoding/json"
	"time"
)

// A Result is what a call came to. A command that failed by its own account is a
// Result, not an [Error].
type Result struct {
	// Output is the source's own bytes, never re-encoded.
	Output json.RawMessage
	// Stdout and Stderr hold what was kept of a command's streams. A terminal's
	// output is all in Stdout.
	Stdout, Stderr Capture
	// Content describes what the call read or wrote, where that is neither Output nor
	// a command's output.
	Content *Content
	// Exit is the exit code, nil when a signal ended the command.
	Exit *int
	// Signal is the number of the signal that ended the command, or 0.
	Signal int
	// Report says what was enforced; nil for tools that neither run a process nor confine
	// their work with files.
	Report *Report
	// Network says where a command that has an allowlist or a caller's request went; nil
	// for all others.
	Network *Traffic
	// Changes are what a command wrote to a copy; nil unless its grant has copy-on-write.
	// Who gets the result closes them.
	Changes Changes
	// Failed is set when the tool itself reported an error.
	Failed bool
	// Cached is set when it is the result of an equal call, and nothing was done for this one.
	Cached bool
	// Queued is the time spent waiting for a slot, Took the time from admission to
	// the end.
	Queued, Took time.Duration
}

// Discard gives up what the call wrote to a copy, if it did.
func (r Result) Discard() error {
	if r.Changes == nil {
		return nil
	}
	return r.Changes.Close()
}

// ExitStatus gives the status a shell would show: the exit code, or 128+n after
// signal n. It is 0 for a result that came from no process.
func (r Result) ExitStatus() int {
	switch {
	case r.Exit != nil:
		return *r.Exit
	case r.Signal != 0:
		return 128 + r.Signal
	}
	return 0
}

// Truncated reports whether any byte of either stream was dropped.
func (r Result) Truncated() bool { return r.Stdout.Dropped() > 0 || r.Stderr.Dropped() > 0 }

// Content describes bytes by their number and their SHA-256 in lower-case hexadecimal.
type Content struct {
	Bytes  int64
	SHA256 string
}

// A Capture is what was kept of one stream. When bytes were dropped they stood
// between Head and Tail.
type Capture struct {
	Head, Tail []byte
	// Total counts every byte produced, kept or not.
	Total int64
	// SHA256 is the digest, in lower-case hexadecimal, of every byte produced, kept or
	// not. Empty means unknown.
	SHA256 string
	// Passed counts the bytes that were given to the reader of a session instead.
	Passed int64
}

// Bytes joins what was kept.
func (c Capture) Bytes() []byte {
	if len(c.Tail) == 0 {
		return c.Head
	}
	return append(append(make([]byte, 0, len(c.Head)+len(c.Tail)), c.Head...), c.Tail...)
}

// Dropped is the exact number of bytes that nobody got.
func (c Capture) Dropped() int64 {
	return c.Total - c.Passed - int64(len(c.Head)) - int64(len(c.Tail))
}
