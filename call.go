package durward

import (
	"encoding/json"
	"time"
)

// A CallID names one call. It is a UUIDv7 in its 36-byte text form and stands in
// every log line, audit record and reply that belongs to the call.
type CallID string

// A ToolID names a tool within one catalogue, for example "firecrawl.crawl".
type ToolID string

// A Call is one request to run one tool, whatever door it came through.
//
// Argv and Input are two forms of the same thing: a command tool reads Argv, a
// structured tool reads Input, and the other one is nil.
type Call struct {
	// ID is given by the core when it is empty.
	ID    CallID
	Trace TraceContext
	// TraceID is the id that answers, records and workers show, where it is not Trace's own.
	TraceID string
	// Door is the protocol the call came through: "exec", "site", "mcp", ….
	Door string
	// Surface is the part of the door the call came in by, where it has several:
	// "direct", "mcp".
	Surface string
	// Client is what the client says of itself. It is recorded, never trusted.
	Client Client
	// ClientID is the id the client gave its own request, verbatim. It is recorded,
	// never trusted.
	ClientID string
	Caller   Caller
	Tool     ToolID
	// Server is that of the tool. The core gives it, for the record.
	Server string
	// Arrived is when the door took the call; among calls that wait for the same thing the
	// earliest is the next. Zero means the moment at which the core takes it.
	Arrived time.Time

	Argv []string
	// Program names what is executed, where that is not what Argv[0] names.
	Program string
	// Input holds exactly the caller's bytes, already checked to be strict JSON.
	Input json.RawMessage
	// Resume is what the caller brings to a call that a server of MCP had answered with its wish
	// for more: an object with inputResponses and requestState, or nil.
	Resume json.RawMessage
	// Fresh has the call be done, though there be a result of an equal one that could be given.
	Fresh bool
	// Path and CommandID are the file or program and the command id that the call
	// names, as the caller wrote them. They are for the record: nothing is decided or
	// opened by them.
	Path, CommandID string

	// Env is what the caller adds to the environment; policy decides each name.
	Env map[string]string
	// Dir is the working directory asked for. Empty means the tool's own.
	Dir string
	// Stdin is what a command reads first, or the content that a file tool writes.
	Stdin []byte
	// NoInput has a session's command read the end of file behind Stdin at once.
	NoInput bool
	// Terminal asks for a pseudo-terminal of this size. Nil means pipes.
	Terminal *WindowSize

	// Ask is what the caller wants less of. The grant is policy ∩ ask; asking for
	// more than policy gives is Denied.
	Ask Ask
	// Deadline is the one budget of the call: the queue, the work, the child process
	// and its cancellation all spend it. Zero means the grant's wall-clock limit.
	Deadline time.Time

	// Captured, if set, is told how many bytes a command has printed so far, now and
	// then and from any goroutine, until the call has ended. It does not block.
	Captured func(bytes int64)

	// Explain, if set, is told each step of an engine that prepares the call, in their
	// order and before it is prepared. The step that refuses may be missing.
	Explain func(Step)
}

// TraceName gives the id by which answers, records and workers name the trace.
func (c Call) TraceName() string {
	if c.TraceID != "" {
		return c.TraceID
	}
	return c.Trace.ID()
}

// An Ask narrows a grant for one call. Its zero value asks for nothing.
type Ask struct {
	// Limits: a zero member asks for nothing.
	Limits Limits
	// Network asks for a mode no wider than policy's. Empty asks for nothing.
	Network NetworkMode
	// Mode asks for a mode no wider than policy's. Empty asks for nothing.
	Mode Mode
	// MinLevel asks for at least this level. Zero asks for nothing.
	MinLevel Level
	// Lossless asks that a session wait with its output rather than lose any, until it is
	// acknowledged.
	Lossless bool
	// Confinement asks to be held to path sets and a mode. Nil asks for nothing.
	Confinement *Confinement
}

// A Caller is an authenticated identity. It never comes from the payload of a call.
type Caller struct {
	// Name is what the audit log shows: "local:1000", "token:ci", "anonymous".
	Name string
	// Method says how the name was established: "process", "bearer", "none".
	Method string
}

// A Client is the name and version that a client gives itself.
type Client struct {
	Name, Version string
}

// A WindowSize is the size of a terminal in character cells.
type WindowSize struct {
	Rows, Cols uint16
}
