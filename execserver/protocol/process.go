package protocol

import (
	"encoding/json"
	"errors"
)

// StartParams are those of [ProcessStart].
type StartParams struct {
	// ProcessID is chosen by the client, and stands for one process of its session.
	ProcessID string   `json:"processId"`
	Argv      []string `json:"argv"` // not empty
	Cwd       string   `json:"cwd"`
	// Env is the whole environment of the child, but for what EnvPolicy adds.
	Env       map[string]string `json:"env"`
	TTY       bool              `json:"tty"`
	Arg0      *string           `json:"arg0,omitempty"`
	PipeStdin bool              `json:"pipeStdin,omitempty"` // keep stdin open for writes
	EnvPolicy *EnvPolicy        `json:"envPolicy,omitempty"`
	Sandbox   json.RawMessage   `json:"sandbox,omitempty"`

	EnforceManagedNetwork bool            `json:"enforceManagedNetwork,omitempty"`
	ManagedNetwork        json.RawMessage `json:"managedNetwork,omitempty"`
	NetworkProxy          json.RawMessage `json:"networkProxy,omitempty"`
	ShellSnapshot         json.RawMessage `json:"shellSnapshot,omitempty"`
	Metadata              json.RawMessage `json:"metadata,omitempty"`

	Durward *StartExtras `json:"durward,omitempty"`
}

func (p StartParams) check() error {
	if len(p.Argv) == 0 {
		return errors.New("argv must not be empty")
	}
	return nil
}

// StartExtras are durward's own params of [ProcessStart].
type StartExtras struct {
	// Flow makes the child wait for the client instead of losing output; see the
	// package's comment.
	Flow bool `json:"flow,omitempty"`
}

// EnvPolicy makes an environment out of the server's own; Env is laid on top of it.
type EnvPolicy struct {
	Inherit               Inherit           `json:"inherit"`
	IgnoreDefaultExcludes bool              `json:"ignoreDefaultExcludes"`
	Exclude               []string          `json:"exclude"`
	Set                   map[string]string `json:"set"`
	IncludeOnly           []string          `json:"includeOnly"`
}

// Inherit says what an environment begins with.
type Inherit string

// What an environment can begin with.
const (
	InheritAll  Inherit = "all"
	InheritCore Inherit = "core"
	InheritNone Inherit = "none"
)

func (i Inherit) check() error { return oneOf(i, InheritAll, InheritCore, InheritNone) }

// StartResult is that of [ProcessStart].
type StartResult struct {
	ProcessID   string `json:"processId"`
	SandboxType string `json:"sandboxType,omitempty"` // "none", "linuxSeccomp", …
}

// ReadParams are those of [ProcessRead].
type ReadParams struct {
	ProcessID string  `json:"processId"`
	AfterSeq  *uint64 `json:"afterSeq,omitempty"` // absent means 0
	MaxBytes  *uint64 `json:"maxBytes,omitempty"` // absent means no limit
	WaitMs    *uint64 `json:"waitMs,omitempty"`   // absent means 0
}

// ReadResult is that of [ProcessRead].
type ReadResult struct {
	Chunks []Chunk `json:"chunks"`
	// NextSeq is one more than the last chunk's number in an answer that MaxBytes cut
	// short, else the next number that the process has not used.
	NextSeq       uint64  `json:"nextSeq"`
	Exited        bool    `json:"exited"`
	ExitCode      *int    `json:"exitCode"`
	Closed        bool    `json:"closed"`
	Failure       *string `json:"failure"`
	SandboxDenied bool    `json:"sandboxDenied" wire:"optional"`
}

// A Chunk is a piece of output.
type Chunk struct {
	Seq    uint64 `json:"seq"`
	Stream Stream `json:"stream"`
	Chunk  Base64 `json:"chunk"`
}

// A Stream is where output came from.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	PTY    Stream = "pty"
)

// WriteParams are those of [ProcessWrite].
type WriteParams struct {
	ProcessID string `json:"processId"`
	Chunk     Base64 `json:"chunk"`
	// WriteID makes it safe to send a write again: a process takes each id once.
	WriteID *string `json:"writeId,omitempty"`
}

// WriteResult is that of [ProcessWrite].
type WriteResult struct {
	Status WriteStatus `json:"status"`
}

// A WriteStatus says what became of a write.
type WriteStatus string

// What becomes of a write.
const (
	WriteAccepted       WriteStatus = "accepted" // queued
	WriteUnknownProcess WriteStatus = "unknownProcess"
	WriteStdinClosed    WriteStatus = "stdinClosed"
	WriteStarting       WriteStatus = "starting"
)

// SignalParams are those of [ProcessSignal].
type SignalParams struct {
	ProcessID string `json:"processId"`
	Signal    Signal `json:"signal"`
}

// A Signal is what a process group can be sent.
type Signal string

// Interrupt is the one signal, SIGINT.
const Interrupt Signal = "interrupt"

func (s Signal) check() error { return oneOf(s, Interrupt) }

// TerminateParams are those of [ProcessTerminate].
type TerminateParams struct {
	ProcessID string           `json:"processId"`
	Durward   *TerminateExtras `json:"durward,omitempty"`
}

// TerminateExtras are durward's own params of [ProcessTerminate].
type TerminateExtras struct {
	// GraceMs is how long the process may take to end after SIGTERM, before it is
	// killed. Absent or 0 kills at once.
	GraceMs *uint64 `json:"graceMs,omitempty"`
}

// TerminateResult is that of [ProcessTerminate].
type TerminateResult struct {
	Running bool `json:"running"` // whether there was something to terminate
}

// ResizeParams are those of [ProcessResize]; the result is [Empty].
type ResizeParams struct {
	ProcessID string `json:"processId"`
	Rows      uint16 `json:"rows"`
	Cols      uint16 `json:"cols"`
}

// CloseStdinParams are those of [ProcessCloseStdin], which lets a child with a pipe read
// EOF once it has read what was written. The result is [Empty].
type CloseStdinParams struct {
	ProcessID string `json:"processId"`
}

// ListResult is that of [ProcessList], whose params are [Empty]: the processes of the
// session, those included that are closed and still known.
type ListResult struct {
	Processes []ListedProcess `json:"processes"`
}

// A ListedProcess is one process of a session.
type ListedProcess struct {
	ProcessID   string `json:"processId"`
	Argv0       string `json:"argv0,omitempty"`
	StartedAtMs int64  `json:"startedAtMs"` // since the epoch
	Exited      bool   `json:"exited"`
	ExitCode    *int   `json:"exitCode"`
	Closed      bool   `json:"closed"`
	TTY         bool   `json:"tty"`
}

// AckParams are those of the notification [ProcessAck]; see the package's comment.
type AckParams struct {
	ProcessID string `json:"processId"`
	Seq       uint64 `json:"seq"`
}

// OutputParams are those of the notification [ProcessOutput].
type OutputParams struct {
	ProcessID string `json:"processId"`
	Seq       uint64 `json:"seq"`
	Stream    Stream `json:"stream"`
	Chunk     Base64 `json:"chunk"`
}

// ExitedParams are those of the notification [ProcessExited].
type ExitedParams struct {
	ProcessID     string `json:"processId"`
	Seq           uint64 `json:"seq"`
	ExitCode      int    `json:"exitCode"`
	SandboxDenied *bool  `json:"sandboxDenied"`
}

// ClosedParams are those of the notification [ProcessClosed]. Old servers send no number.
type ClosedParams struct {
	ProcessID string  `json:"processId"`
	Seq       *uint64 `json:"seq,omitempty"`
}
