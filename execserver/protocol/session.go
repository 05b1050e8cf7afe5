package protocol

import "encoding/json"

// InitializeParams are those of [Initialize].
type InitializeParams struct {
	ClientName      string            `json:"clientName"`
	ResumeSessionID Resume            `json:"resumeSessionId,omitzero"`
	Durward         *InitializeExtras `json:"durward,omitempty"`
}

// Resume is the one member whose null is not its absence: a client that sends it at all
// knows how to resume, so its session outlives a connection. The zero value is absence.
type Resume struct {
	Sent bool
	ID   *string // nil for null
}

// ResumeNull says that the client can resume, and has nothing to resume.
func ResumeNull() Resume { return Resume{Sent: true} }

// ResumeSession asks for a session.
func ResumeSession(id string) Resume { return Resume{Sent: true, ID: &id} }

// IsZero reports whether the member is absent.
func (r Resume) IsZero() bool { return !r.Sent }

// MarshalJSON writes the id, or null.
func (r Resume) MarshalJSON() ([]byte, error) { return json.Marshal(r.ID) }

// InitializeExtras are durward's own params of [Initialize].
type InitializeExtras struct {
	Limits *Limits `json:"limits,omitempty"`
}

// Limits bound the processes of a session, below what the operator allows. A member that
// is absent asks for nothing.
type Limits struct {
	WallMs      *uint64 `json:"wallMs,omitempty"`      // per process
	CPUMs       *uint64 `json:"cpuMs,omitempty"`       // per process
	MemoryBytes *uint64 `json:"memoryBytes,omitempty"` // per process and its descendants
	Pids        *uint64 `json:"pids,omitempty"`        // per process and its descendants
	Processes   *uint64 `json:"processes,omitempty"`   // of the session at once
}

// InitializeResult is that of [Initialize]. Old servers send none of it.
type InitializeResult struct {
	SessionID       string           `json:"sessionId,omitempty"`
	EnvironmentInfo *EnvironmentInfo `json:"environmentInfo,omitempty"`
}

// EnvironmentInfo describes the machine, also as the result of [EnvironmentInfoCall].
type EnvironmentInfo struct {
	Shell                Shell        `json:"shell"`
	Cwd                  *string      `json:"cwd"`
	UserHomeDir          string       `json:"userHomeDir,omitempty"`
	TempDir              string       `json:"tempDir,omitempty"`
	TemporaryDirectories []string     `json:"temporaryDirectories,omitempty"`
	PrependPathDirs      []string     `json:"prependPathDirs,omitempty"`
	PlatformOS           string       `json:"platformOs,omitempty"`
	ExecutorVersion      string       `json:"executorVersion,omitempty"`
	ProviderID           string       `json:"providerId,omitempty"`
	Capabilities         Capabilities `json:"capabilities,omitzero"`
}

// Shell is the shell of the server's user.
type Shell struct {
	Name string `json:"name"` // bash
	Path string `json:"path"` // /bin/bash
}

// Capabilities say what a server can do beyond the first version of the protocol.
type Capabilities struct {
	NetworkProxyLaunch                          bool `json:"networkProxyLaunch,omitempty"`
	NetworkProxyReviewDomains                   bool `json:"networkProxyReviewDomains,omitempty"`
	CredentialMasking                           bool `json:"credentialMasking,omitempty"`
	CredentialMaskingCustomProviders            bool `json:"credentialMaskingCustomProviders,omitempty"`
	CapabilityDiscoverySandbox                  bool `json:"capabilityDiscoverySandbox,omitempty"`
	FSWatchMissing                              bool `json:"fsWatchMissing,omitempty"`
	CapabilityDiscoveryV2                       bool `json:"capabilityDiscoveryV2,omitempty"`
	EnvironmentConfigRead                       bool `json:"environmentConfigRead,omitempty"`
	HTTPHeaderEnvVars                           bool `json:"httpHeaderEnvVars,omitempty"`
	SandboxedFileStreaming                      bool `json:"sandboxedFileStreaming,omitempty"`
	FileWriteStreaming                          bool `json:"fileWriteStreaming,omitempty"`
	ShellSnapshotV2                             bool `json:"shellSnapshotV2,omitempty"`
	WindowsMxc                                  bool `json:"windowsMxc,omitempty"`
	LinuxRootWritePreservesDevices              bool `json:"linuxRootWritePreservesDevices,omitempty"`
	LinuxApprovedRootWritePreservesRestrictions bool `json:"linuxApprovedRootWritePreservesRestrictions,omitempty"`

	DurwardResize         bool `json:"durwardResize,omitempty"`
	DurwardCloseStdin     bool `json:"durwardCloseStdin,omitempty"`
	DurwardTerminateGrace bool `json:"durwardTerminateGrace,omitempty"`
	DurwardList           bool `json:"durwardList,omitempty"`
	DurwardLimits         bool `json:"durwardLimits,omitempty"`
	DurwardFlow           bool `json:"durwardFlow,omitempty"`
}

// EnvironmentStatusResult is that of [EnvironmentStatus].
type EnvironmentStatusResult struct {
	Status string `json:"status"` // StatusReady
}

// StatusReady is the status of a server that takes calls.
const StatusReady = "ready"

// Empty is the result of methods that have nothing to tell, and the params of those that
// need nothing.
type Empty struct{}

// Error is what stands in the place of a result that could not be had.
type Error struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}
