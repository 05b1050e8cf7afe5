package protocol

// Methods that a client calls.
const (
	Initialize          = "initialize"
	ProcessStart        = "process/start"
	ProcessRead         = "process/read"
	ProcessWrite        = "process/write"
	ProcessSignal       = "process/signal"
	ProcessTerminate    = "process/terminate"
	FSReadFile          = "fs/readFile"
	FSWriteFile         = "fs/writeFile"
	FSCreateDirectory   = "fs/createDirectory"
	FSGetMetadata       = "fs/getMetadata"
	FSReadDirectory     = "fs/readDirectory"
	FSRemove            = "fs/remove"
	FSCopy              = "fs/copy"
	FSCanonicalize      = "fs/canonicalize"
	FSWalk              = "fs/walk"
	FSOpen              = "fs/open"
	FSReadBlock         = "fs/readBlock"
	FSWriteBlock        = "fs/writeBlock"
	FSClose             = "fs/close"
	FSWatchMissing      = "fs/watchMissing"
	EnvironmentInfoCall = "environment/info"
	EnvironmentStatus   = "environment/status"
	HTTPRequest         = "http/request"

	ProcessResize     = "durward/process/resize"
	ProcessCloseStdin = "durward/process/closeStdin"
	ProcessList       = "durward/process/list"
)

// Notifications that a client sends.
const (
	Initialized = "initialized"

	ProcessAck = "durward/process/ack"
)

// Notifications that a server sends.
const (
	ProcessOutput    = "process/output"
	ProcessExited    = "process/exited"
	ProcessClosed    = "process/closed"
	HTTPBodyDelta    = "http/request/bodyDelta"
	FSMissingChanged = "fs/missingChanged"
)

// A Code is the number of an error.
type Code int

// The codes that a server answers with.
const (
	InvalidRequest  Code = -32600 // malformed, wrong state, refused, bad base64 of fs/writeFile
	MethodNotFound  Code = -32601
	InvalidParams   Code = -32602 // missing or of the wrong type
	InternalError   Code = -32603 // the operating system failed
	NotFound        Code = -32004 // no such file or handle
	SessionAttached Code = -32010 // another connection holds the session
)

const (
	// FlowBytes is how much output of a process with flow may be unacknowledged.
	FlowBytes = 1 << 20
	// FlowChunks is how many chunks of it may be.
	FlowChunks = 50_000
	// AckAll acknowledges everything that a process puts out, now and later.
	AckAll = 1<<64 - 1
	// MaxBlock is the most that one fs/readBlock asks for.
	MaxBlock = 1 << 20
	// MaxMessage is the size from which on a server refuses a message, in bytes.
	MaxMessage = 16 << 20
)
