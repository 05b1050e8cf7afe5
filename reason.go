package durward

// A Reason is a closed word for one case of a [Kind]. Contracts, audit records and
// tests use it; a door may answer a reason with a code of its own. The words keep the
// spelling of the contract that coined them.
type Reason string

// Calls.
const (
	ToolNotFound     Reason = "tool_not_found"
	BadCall          Reason = "bad_call"
	ArgvEmpty        Reason = "argv_empty"
	ArgNUL           Reason = "argNul"
	ArgNotUTF8       Reason = "arg_not_utf8"
	TooManyArgs      Reason = "tooManyArgs"
	ArgTooLong       Reason = "argTooLong"
	BadEnvName       Reason = "badEnvName"
	StdinTooLarge    Reason = "stdin_too_large"
	OutputTooLarge   Reason = "output_too_large"
	DeadlineExceeded Reason = "timeout"
	CallCancelled    Reason = "cancelled"
	QueueFull        Reason = "busy"
	ShuttingDown     Reason = "shutting_down"
	NotSupported     Reason = "not_supported"
	Defect           Reason = "internal"
	BadUsage         Reason = "usage"
	LimitCPU         Reason = "LIMIT_CPU"
	LimitMemory      Reason = "LIMIT_MEMORY"
	LimitOutput      Reason = "LIMIT_OUTPUT"
	InputClosed      Reason = "input_closed"
	MissingField     Reason = "missingField"
	UnknownField     Reason = "unknownField"
	WrongType        Reason = "wrongType"
	BadEncoding      Reason = "badEncoding"
	BadBase64        Reason = "badBase64"
	BadOffset        Reason = "badOffset"
	BadLength        Reason = "badLength"
	BadTimeout       Reason = "badTimeout"
	OutOfRange       Reason = "outOfRange"
	QueueTimeout     Reason = "queue_timeout"
	InputMismatch    Reason = "input_schema"
	KeyReused        Reason = "idempotency_key_reused"
)

// Policy.
const (
	PolicyInvalid Reason = "policy_invalid"
	LimitDenied   Reason = "limit_denied"
	EnvDenied     Reason = "envNotAllowed"
	NetworkDenied Reason = "network_denied"
	ModeDenied    Reason = "mode_denied"
	DirDenied     Reason = "cwdOutsideRoots"
	DirNotAllowed Reason = "cwdNotAllowed"
	CommandExists Reason = "commandExists"
)

// Sandbox.
const (
	SandboxUnavailable   Reason = "SANDBOX_UNAVAILABLE"
	SandboxError         Reason = "SANDBOX_ERROR"
	ProgramNotFound      Reason = "program_not_found"
	ProgramNotExecutable Reason = "exec_failed"
	DirUnavailable       Reason = "cwdNotADirectory"
	DirUnreadable        Reason = "dir_unreadable"
	ExecFailed           Reason = "spawnFailed"
	ProtectedPath        Reason = "protected_path"
)

// Audit.
const (
	AuditUnavailable Reason = "auditUnavailable"
	AuditBroken      Reason = "audit_broken"
	RecordNotFound   Reason = "record_not_found"
	AuditNotFound    Reason = "audit_not_found"
	AuditUnreadable  Reason = "audit_unreadable"
)

// Files.
const (
	EmptyPath         Reason = "emptyPath"
	NULInPath         Reason = "nulInPath"
	PathTooLong       Reason = "pathTooLong"
	OutsideRoot       Reason = "outsideAllowedRoots"
	SymlinkTarget     Reason = "symlinkTarget"
	NotRegularFile    Reason = "notRegularFile"
	SpecialFilesystem Reason = "specialFilesystem"
	NetworkFS         Reason = "denyNetworkFS"
	HardLink          Reason = "hardLink"
	MaxFileBytes      Reason = "maxFileBytes"
	FileNotFound      Reason = "notFound"
	FileExists        Reason = "exists"
	ParentMissing     Reason = "parentMissing"
	NotADirectory     Reason = "notADirectory"
	SymlinkLoop       Reason = "symlinkLoop"
	FilePermission    Reason = "permission"
	NoSpace           Reason = "noSpace"
	FileIO            Reason = "io"
	SetIDBits         Reason = "setIdBits"
	NameNotText       Reason = "nameNotText"
	ChangedMeanwhile  Reason = "changedMeanwhile"
	TooManyChanges    Reason = "tooManyChanges"
	PartlyApplied     Reason = "partlyApplied"
	OutsideZones      Reason = "outsideWriteZones"
	NotUTF8           Reason = "notUtf8"
	BadPath           Reason = "badPath"
	PathElsewhere     Reason = "pathElsewhere"
	// DotDotInMissingPath is of a path in which ".." follows what does not exist.
	DotDotInMissingPath Reason = "dotDotInMissingPath"
	IsDirectory         Reason = "isDirectory"
	DirectoryNotEmpty   Reason = "directoryNotEmpty"
	// NeedsRecursive is of a directory that is to be copied with all beneath it, unasked.
	NeedsRecursive Reason = "needsRecursive"
	IntoItself     Reason = "intoItself"
	HandleUnknown  Reason = "handleUnknown"
	// HandleOtherWay is of a handle for reading that is written to, or the other way round.
	HandleOtherWay Reason = "handleOtherWay"
)

// Network.
const (
	BadHost        Reason = "bad_host"
	HostDenied     Reason = "url_denied"
	AddressRefused Reason = "address_refused"
	LookupFailed   Reason = "lookup_failed"
	ConnectFailed  Reason = "network"
	// EgressOpen is of a network with a way out that it should not have.
	EgressOpen Reason = "egress_open"
)

// Pages.
const (
	NoFrontmatter     Reason = "no_frontmatter"
	BadFrontmatter    Reason = "bad_frontmatter"
	CommandNotAllowed Reason = "not_allowed"
	ArgDenied         Reason = "arg_denied"
)

// Commands.
const (
	CommandUnknown    Reason = "commandNotFound"
	ArgMetachar       Reason = "argMetachar"
	ArgNotAllowed     Reason = "argNotAllowed"
	ArgDashNotAllowed Reason = "argDashNotAllowed"
	ArgOutsideRoots   Reason = "argOutsideRoots"
)

// HTTP.
const (
	BadRequest       Reason = "bad_request"
	BodyTooLarge     Reason = "body_too_large"
	BadContentType   Reason = "bad_content_type"
	OriginDenied     Reason = "origin_denied"
	MethodNotAllowed Reason = "method"
	BadJSON          Reason = "bad_json"
	Unauthenticated  Reason = "unauthenticated"
	RequestTimeout   Reason = "request_timeout"
	RemoteDenied     Reason = "remote_denied"
	ListenFailed     Reason = "listen_failed"
	Unhealthy        Reason = "unhealthy"
)

// Configuration.
const (
	ConfigInvalid Reason = "config_invalid"
	// DomainNotLoaded is of a gateway whose manifest, policies or schemas have mistakes.
	DomainNotLoaded Reason = "domain_not_loaded"
	// NotTrusted is of a file of a project that is not what somebody trusted.
	NotTrusted Reason = "not_trusted"
	// TrustUnavailable is of a list of trusted files that cannot be read or written.
	TrustUnavailable Reason = "trust_unavailable"
)

// Workers.
const (
	WorkerUnreachable Reason = "worker_unreachable"
	// NonStandardReply is of a worker whose answer is no envelope.
	NonStandardReply Reason = "non_standard_response"
	ReplyTooLarge    Reason = "response_too_large"
	OutputMismatch   Reason = "output_schema"
	CircuitOpen      Reason = "circuit_open"
	// EgressDenied is of a worker that says it calls hosts which its tool's list does not hold.
	EgressDenied Reason = "egress"
)

// MCP servers.
const (
	// ServerStopped is of a call for a server that does not run: nothing was sent to it.
	ServerStopped Reason = "server_stopped"
	// ServerDisconnected is of a server that ended while it worked on the call.
	ServerDisconnected Reason = "server_disconnected"
	ServerError        Reason = "server_error"
	MalformedResult    Reason = "malformed_result"
	InputRequired      Reason = "input_required"
	// ServerUnknown is of a name that the configuration of the hub does not have.
	ServerUnknown Reason = "server_unknown"
	// ServerFailed is of a server that could not be started.
	ServerFailed Reason = "server_failed"
	// ToolsChanged is of tools that are not what they were when they were approved.
	ToolsChanged Reason = "tools_changed"
)

// Releases.
const (
	// ReleaseUnverified is of a release that is not what it pretends to be.
	ReleaseUnverified Reason = "release_unverified"
	ReleaseNotFound   Reason = "release_not_found"
	// ReleaseUnread is of a release of which a file could not be had.
	ReleaseUnread Reason = "release_unread"
	ReleaseOlder  Reason = "release_older"
	// ProgramForeign is of a program that others put where it is, and will replace.
	ProgramForeign Reason = "program_foreign"
	// ProgramUnfit is of a program that does not start, or is not what it was said to be.
	ProgramUnfit Reason = "program_unfit"
	InstallBusy  Reason = "install_busy"
	// NothingKept is of a rollback where there is no former program.
	NothingKept Reason = "nothing_kept"
)

type reasonRow struct {
	word    Reason
	kind    Kind
	code    string
	summary string
}

// reasonTable is the one place that knows what a reason means, sorted by code within
// an area. A code is stable and never given to another case. It is a slice and not a
// map so that no start of the program pays for building it.
var reasonTable = []reasonRow{
	{ToolNotFound, NotFound, "DWD-CALL-001", "no such tool"},
	{BadCall, Invalid, "DWD-CALL-002", "the call is malformed"},
	{ArgvEmpty, Invalid, "DWD-CALL-003", "no command was given"},
	{ArgNUL, Invalid, "DWD-CALL-004", "an argument holds a NUL byte"},
	{ArgNotUTF8, Invalid, "DWD-CALL-005", "an argument is not valid UTF-8"},
	{TooManyArgs, Invalid, "DWD-CALL-006", "too many arguments"},
	{ArgTooLong, Invalid, "DWD-CALL-007", "an argument is too long"},
	{BadEnvName, Invalid, "DWD-CALL-008", "an environment name or value is malformed"},
	{StdinTooLarge, TooLarge, "DWD-CALL-009", "the input is over its limit"},
	{OutputTooLarge, TooLarge, "DWD-CALL-010", "the output is over its limit"},
	{DeadlineExceeded, Timeout, "DWD-CALL-011", "the deadline passed"},
	{CallCancelled, Cancelled, "DWD-CALL-012", "the call was cancelled"},
	{QueueFull, Busy, "DWD-CALL-013", "no slot is free and the queue is full"},
	{ShuttingDown, Unavailable, "DWD-CALL-014", "the runtime is shutting down"},
	{NotSupported, Invalid, "DWD-CALL-015", "the tool cannot be used in this way"},
	{Defect, Internal, "DWD-CALL-016", "internal error"},
	{BadUsage, Invalid, "DWD-CALL-017", "the command line is wrong"},
	{LimitCPU, Timeout, "DWD-CALL-018", "the command used more processor time than it may"},
	{LimitMemory, TooLarge, "DWD-CALL-019", "the command used more memory than it may"},
	{LimitOutput, TooLarge, "DWD-CALL-020", "the command printed more than it may"},
	{InputClosed, Conflict, "DWD-CALL-021", "the command's input is closed"},
	{MissingField, Invalid, "DWD-CALL-022", "a member that is needed is missing"},
	{UnknownField, Invalid, "DWD-CALL-023", "a member is unknown"},
	{WrongType, Invalid, "DWD-CALL-024", "a member has the wrong type"},
	{BadEncoding, Invalid, "DWD-CALL-025", "the encoding is neither utf8 nor base64"},
	{BadBase64, Invalid, "DWD-CALL-026", "the data is not strict base64"},
	{BadOffset, Invalid, "DWD-CALL-027", "the offset is no integer from 0"},
	{BadLength, Invalid, "DWD-CALL-028", "the length is no integer from 0"},
	{BadTimeout, Invalid, "DWD-CALL-029", "the time limit is not a whole number of milliseconds from 1"},
	{OutOfRange, Invalid, "DWD-CALL-030", "a number is out of its range"},
	{QueueTimeout, Busy, "DWD-CALL-031", "no slot came free in time"},
	{InputMismatch, Invalid, "DWD-CALL-032", "the input does not fit the tool's schema"},
	{KeyReused, Conflict, "DWD-CALL-033", "the idempotency key was used with another input"},

	{PolicyInvalid, Invalid, "DWD-POLICY-001", "the policy is invalid"},
	{LimitDenied, Denied, "DWD-POLICY-002", "the request asks for more than the policy's limit"},
	{EnvDenied, Denied, "DWD-POLICY-003", "an environment variable is refused"},
	{NetworkDenied, Denied, "DWD-POLICY-004", "the request asks for more network than the policy gives"},
	{ModeDenied, Denied, "DWD-POLICY-005", "the request asks for a wider mode or a lower level than the policy gives"},
	{DirDenied, Denied, "DWD-POLICY-006", "the working directory is outside the root"},
	{DirNotAllowed, Denied, "DWD-POLICY-007", "the command takes no such working directory"},
	{CommandExists, Conflict, "DWD-POLICY-008", "there is a command of this id"},

	{SandboxUnavailable, Unavailable, "DWD-SANDBOX-001", "a protection that was asked for cannot be had here"},
	{SandboxError, Unavailable, "DWD-SANDBOX-002", "the sandbox could not be set up"},
	{ProgramNotFound, NotFound, "DWD-SANDBOX-003", "the program was not found"},
	{ProgramNotExecutable, Upstream, "DWD-SANDBOX-004", "the program cannot be executed"},
	{DirUnavailable, NotFound, "DWD-SANDBOX-005", "the working directory does not exist or is not a directory"},
	{DirUnreadable, Denied, "DWD-SANDBOX-006", "the working directory cannot be read by the user the command runs as"},
	{ExecFailed, Internal, "DWD-SANDBOX-007", "the command could not be started"},
	{ProtectedPath, Denied, "DWD-SANDBOX-008", "a protected path changed while the command ran, so it was ended"},

	{AuditUnavailable, Unavailable, "DWD-AUDIT-001", "the audit record could not be written"},
	{AuditBroken, Unavailable, "DWD-AUDIT-002", "the audit log does not prove itself"},
	{RecordNotFound, NotFound, "DWD-AUDIT-003", "no such audit record"},
	{AuditNotFound, NotFound, "DWD-AUDIT-004", "no such audit log"},
	{AuditUnreadable, Unavailable, "DWD-AUDIT-005", "the audit log could not be read"},

	{EmptyPath, Invalid, "DWD-FS-001", "the path is empty"},
	{NULInPath, Invalid, "DWD-FS-002", "the path holds a NUL byte"},
	{PathTooLong, Invalid, "DWD-FS-003", "the path is too long"},
	{OutsideRoot, Denied, "DWD-FS-004", "the path is outside the allowed roots"},
	{SymlinkTarget, Denied, "DWD-FS-005", "the path is a symbolic link"},
	{NotRegularFile, Denied, "DWD-FS-006", "not a regular file"},
	{SpecialFilesystem, Denied, "DWD-FS-007", "the file is on a special file system"},
	{NetworkFS, Denied, "DWD-FS-008", "the file is on a network file system"},
	{HardLink, Denied, "DWD-FS-009", "the file has more than one link"},
	{MaxFileBytes, TooLarge, "DWD-FS-010", "the file is over its size limit"},
	{FileNotFound, NotFound, "DWD-FS-011", "no such file or directory"},
	{FileExists, Conflict, "DWD-FS-012", "the file exists"},
	{ParentMissing, NotFound, "DWD-FS-013", "the parent directory does not exist"},
	{NotADirectory, Invalid, "DWD-FS-014", "not a directory"},
	{SymlinkLoop, Invalid, "DWD-FS-015", "too many symbolic links"},
	{FilePermission, Denied, "DWD-FS-016", "permission denied"},
	{NoSpace, Unavailable, "DWD-FS-017", "no space left on the device"},
	{FileIO, Internal, "DWD-FS-018", "input/output error"},
	{SetIDBits, Denied, "DWD-FS-019", "the file would give rights to whoever runs it"},
	{NameNotText, Denied, "DWD-FS-020", "the name holds bytes that are not plain text"},
	{ChangedMeanwhile, Conflict, "DWD-FS-021", "the file is not what it was when the changes were read"},
	{TooManyChanges, TooLarge, "DWD-FS-022", "the command changed more than can be compared"},
	{PartlyApplied, Conflict, "DWD-FS-023", "only some of the changes were applied"},
	{OutsideZones, Denied, "DWD-FS-024", "the path is in no zone that may be written"},
	{NotUTF8, Invalid, "DWD-FS-025", "the file does not hold UTF-8"},
	{DotDotInMissingPath, Invalid, "DWD-FS-026", "a .. stands behind what does not exist"},
	{BadPath, Invalid, "DWD-FS-027", "the path is malformed"},
	{PathElsewhere, Invalid, "DWD-FS-028", "the path is on another host"},
	{IsDirectory, Invalid, "DWD-FS-029", "it is a directory"},
	{DirectoryNotEmpty, Conflict, "DWD-FS-030", "the directory is not empty"},
	{NeedsRecursive, Invalid, "DWD-FS-031", "a directory is copied only with recursive"},
	{IntoItself, Invalid, "DWD-FS-032", "a directory cannot be copied into itself"},
	{HandleUnknown, NotFound, "DWD-FS-033", "no file is open under that handle"},
	{HandleOtherWay, Invalid, "DWD-FS-034", "the handle was opened for the other use"},

	{BadHost, Invalid, "DWD-NET-001", "the host is not in its canonical form"},
	{HostDenied, Denied, "DWD-NET-002", "the host or port is not allowed"},
	{AddressRefused, Denied, "DWD-NET-003", "the address may not be reached"},
	{LookupFailed, Upstream, "DWD-NET-004", "the name could not be resolved"},
	{ConnectFailed, Upstream, "DWD-NET-005", "the connection failed"},
	{EgressOpen, Unavailable, "DWD-NET-006", "a way out is open that should not be"},

	{NoFrontmatter, Invalid, "DWD-PAGE-001", "the page allows no commands"},
	{BadFrontmatter, Invalid, "DWD-PAGE-002", "the page's frontmatter is invalid"},
	{CommandNotAllowed, Denied, "DWD-PAGE-003", "the page does not allow this command"},
	{ArgDenied, Denied, "DWD-PAGE-004", "an argument leads out of the page's directory"},

	{CommandUnknown, Denied, "DWD-COMMAND-001", "the policy has no such command"},
	{ArgMetachar, Denied, "DWD-COMMAND-002", "an argument holds a character that means something to a shell"},
	{ArgNotAllowed, Denied, "DWD-COMMAND-003", "an argument is not allowed"},
	{ArgDashNotAllowed, Denied, "DWD-COMMAND-004", "an option is not allowed"},
	{ArgOutsideRoots, Denied, "DWD-COMMAND-005", "an argument names a path outside the allowed roots"},

	{BadRequest, Invalid, "DWD-HTTP-001", "the request is malformed"},
	{BodyTooLarge, TooLarge, "DWD-HTTP-002", "the request body is over its limit"},
	{BadContentType, Invalid, "DWD-HTTP-003", "the body is not sent as plain application/json"},
	{OriginDenied, Denied, "DWD-HTTP-004", "the Host or Origin is not allowed"},
	{MethodNotAllowed, Invalid, "DWD-HTTP-005", "the method is not allowed"},
	{BadJSON, Invalid, "DWD-HTTP-006", "the body is not strict JSON"},
	{Unauthenticated, Denied, "DWD-HTTP-007", "the credential is missing or wrong"},
	{RequestTimeout, Timeout, "DWD-HTTP-008", "the request took too long to arrive"},
	{RemoteDenied, Denied, "DWD-HTTP-009", "listening beyond loopback needs authentication"},
	{ListenFailed, Internal, "DWD-HTTP-010", "the address could not be listened on"},
	{Unhealthy, Upstream, "DWD-HTTP-011", "the service is not healthy"},

	{ConfigInvalid, Invalid, "DWD-CONFIG-001", "the configuration is invalid"},
	{DomainNotLoaded, Internal, "DWD-CONFIG-002", "the domain package could not be loaded"},
	{NotTrusted, Conflict, "DWD-CONFIG-003", "the file is not trusted as it is"},
	{TrustUnavailable, Unavailable, "DWD-CONFIG-004", "the list of trusted files cannot be used"},

	{WorkerUnreachable, Upstream, "DWD-WORKER-001", "the worker could not be reached"},
	{NonStandardReply, Upstream, "DWD-WORKER-002", "the worker did not answer with an envelope"},
	{ReplyTooLarge, TooLarge, "DWD-WORKER-003", "the worker's reply is over its limit"},
	{OutputMismatch, Upstream, "DWD-WORKER-004", "the worker's output does not fit its schema"},
	{CircuitOpen, Busy, "DWD-WORKER-005", "the worker failed too often and is left alone for a moment"},
	{EgressDenied, Denied, "DWD-WORKER-006", "the tool's worker calls a host that its egress list does not hold"},

	{ServerStopped, Unavailable, "DWD-SERVER-001", "the tool's MCP server is not running"},
	{ServerDisconnected, Upstream, "DWD-SERVER-002", "the MCP server ended during the call; the tool may have run"},
	{ServerError, Upstream, "DWD-SERVER-003", "the MCP server answered with an error"},
	{MalformedResult, Upstream, "DWD-SERVER-004", "the MCP server answered with a malformed result"},
	{InputRequired, Upstream, "DWD-SERVER-005", "the tool wants more input from its caller"},
	{ServerUnknown, NotFound, "DWD-SERVER-006", "no such MCP server"},
	{ServerFailed, Upstream, "DWD-SERVER-007", "the MCP server could not be started"},
	{ToolsChanged, Conflict, "DWD-SERVER-008", "a tool is not what was approved"},

	{ReleaseUnverified, Denied, "DWD-RELEASE-001", "the release could not be verified"},
	{ReleaseNotFound, NotFound, "DWD-RELEASE-002", "there is no such release"},
	{ReleaseUnread, Upstream, "DWD-RELEASE-003", "the release could not be fetched"},
	{ReleaseOlder, Conflict, "DWD-RELEASE-004", "the release is older than the program that is installed"},
	{ProgramForeign, Conflict, "DWD-RELEASE-005", "the program is not for durward to replace"},
	{ProgramUnfit, Upstream, "DWD-RELEASE-006", "the program does not work here"},
	{InstallBusy, Busy, "DWD-RELEASE-007", "another installation goes on"},
	{NothingKept, NotFound, "DWD-RELEASE-008", "no former program is kept"},
}

func (r Reason) row() reasonRow {
	for _, row := range reasonTable {
		if row.word == r {
			return row
		}
	}
	return reasonRow{kind: Internal}
}

// Reasons lists every reason, in the order of the table.
func Reasons() []Reason {
	words := make([]Reason, len(reasonTable))
	for i, row := range reasonTable {
		words[i] = row.word
	}
	return words
}

// Kind is the class of the reason; Internal for a word that is not in the set.
func (r Reason) Kind() Kind { return r.row().kind }

// Code is the stable error code a person can look up: "DWD-POLICY-002".
func (r Reason) Code() string { return r.row().code }

// Summary says in a few words what happened. It holds nothing of the request or of
// this machine, so any caller may see it.
func (r Reason) Summary() string { return r.row().summary }
