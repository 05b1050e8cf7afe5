package durward

import (
	"context"
	"encoding/json"
	"time"
)

// A Session is a call that is still going on. All methods are safe for concurrent
// use.
type Session interface {
	// Write gives bytes to the command's input, in the order of calls. It blocks
	// while the command does not read.
	Write(ctx context.Context, p []byte) (int, error)
	// CloseInput ends the command's input; on a terminal it sends end-of-file.
	CloseInput() error
	// Signal sends a signal to the command's process group.
	Signal(number int) error
	// Resize sets the size of the terminal; an error of kind [Invalid] without one.
	Resize(size WindowSize) error
	// Read gives the chunks behind the cursor after, oldest first, waiting up to wait
	// for the first one. It consumes nothing: any number of readers see the same
	// chunks while they are retained.
	Read(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (Page, error)
	// Ack says that every chunk up to a number has been taken, where the grant keeps what is
	// not ([KeepAcked]); a number that was given out, and that is higher than the last one.
	// math.MaxUint64 has nothing be kept any more that is not taken.
	Ack(seq uint64)
	// Cancel begins the end of the call: TERM, the grace, KILL. It does not wait.
	Cancel()
	// Kill kills the whole tree at once. It does not wait.
	Kill()
	// Wait blocks until the call has ended and its tree is dead.
	Wait(ctx context.Context) (Result, error)
	// Close cancels, waits for the end and frees what the session holds.
	Close() error
}

// A Chunk is a piece of output. Seq counts from 1 in one session, together with the number
// that the exit of the main process takes, without holes.
type Chunk struct {
	Seq    uint64
	Stream Stream
	Data   []byte
}

// A Stream is where a chunk came from.
type Stream string

// The streams.
const (
	Stdout   Stream = "stdout"
	Stderr   Stream = "stderr"
	Terminal Stream = "pty"
	// Head and Body are the two parts of a reply that comes piece by piece.
	Head Stream = "head"
	Body Stream = "body"
)

// An Exit is how the main process of a session ended. Processes that it started may
// outlive it, and chunks may follow.
type Exit struct {
	Seq uint64
	// Code is the exit status, or 128 plus the signal that ended the process.
	Code int
	// Last is set when nothing will follow any more, and the end of the session is only to be
	// put on record.
	Last bool
}

// A Page is what one read of a session gives.
type Page struct {
	Chunks []Chunk
	// Next is the cursor to read from afterwards.
	Next uint64
	// Lost is the number of chunks that had already been dropped behind the cursor.
	Lost uint64
	// Exit is how the main process ended; nil while it runs.
	Exit *Exit
	// Last is the newest number that a chunk or the exit has.
	Last uint64
	// Ended is set when the call is over and no chunk will follow the last of Chunks.
	Ended bool
}

// An ExitWatcher is an [Events] that is told when the main process has ended, in its order
// between the chunks.
type ExitWatcher interface{ Exited(Exit) }

// An Asker is an [Events] that says what its caller can be asked. One that is none takes all
// questions.
type Asker interface {
	// CanAsk reports whether questions of a kind can be put. It may be called at any time.
	CanAsk(kind string) bool
	// Answers reports whether the caller answers questions of a kind at all: those put to it, or
	// those that it finds in the result of its call. It may be called at any time.
	Answers(kind string) bool
}

// A ProgressReader is an [Events] that takes progress as a tool reports it, in the place of
// [Events.Progress]: the params of a notification of MCP, whose token means nothing.
type ProgressReader interface{ RawProgress(params json.RawMessage) }

// A LogReader is an [Events] that says from which level of MCP on its caller wants to hear what the
// tool's server logs meanwhile. Empty is none.
type LogReader interface{ LogLevel() string }

// Events receives what happens during a session. Calls come one at a time and in
// order; a method must not block for long. Ask alone may, and does not hold up the others: it
// comes back soon after its context has ended.
type Events interface {
	Output(Chunk)
	Progress(done, total float64, message string)
	Log(level, message string)
	// Ask puts a question to the caller and gives the answer.
	Ask(ctx context.Context, kind string, question json.RawMessage) (json.RawMessage, error)
	// Ended is the last event of a session.
	Ended(Result)
}
