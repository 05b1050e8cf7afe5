package protocol

import "encoding/json"

// PathParams are those of [FSReadFile], [FSGetMetadata], [FSReadDirectory] and
// [FSCanonicalize].
type PathParams struct {
	Path    string          `json:"path"`
	Sandbox json.RawMessage `json:"sandbox,omitempty"`
}

// ReadFileResult is that of [FSReadFile].
type ReadFileResult struct {
	DataBase64 Base64 `json:"dataBase64"`
}

// WriteFileParams are those of [FSWriteFile]; the result is [Empty].
type WriteFileParams struct {
	Path       string          `json:"path"`
	DataBase64 Base64          `json:"dataBase64"`
	Sandbox    json.RawMessage `json:"sandbox,omitempty"`
}

// CreateDirectoryParams are those of [FSCreateDirectory]; the result is [Empty].
type CreateDirectoryParams struct {
	Path      string          `json:"path"`
	Recursive *bool           `json:"recursive,omitempty"` // absent means true
	Sandbox   json.RawMessage `json:"sandbox,omitempty"`
}

// Metadata is the result of [FSGetMetadata]. Times are milliseconds since the epoch, 0
// where the platform has none.
type Metadata struct {
	IsDirectory  bool   `json:"isDirectory"`
	IsFile       bool   `json:"isFile"`
	IsSymlink    bool   `json:"isSymlink" wire:"optional"`
	Size         uint64 `json:"size" wire:"optional"`
	CreatedAtMs  int64  `json:"createdAtMs"`
	ModifiedAtMs int64  `json:"modifiedAtMs"`
}

// ReadDirectoryResult is that of [FSReadDirectory], in no order.
type ReadDirectoryResult struct {
	Entries []DirectoryEntry `json:"entries"`
}

// A DirectoryEntry is one name in a directory, and what it leads to.
type DirectoryEntry struct {
	FileName    string `json:"fileName"`
	IsDirectory bool   `json:"isDirectory"`
	IsFile      bool   `json:"isFile"`
}

// RemoveParams are those of [FSRemove]; the result is [Empty].
type RemoveParams struct {
	Path      string          `json:"path"`
	Recursive *bool           `json:"recursive,omitempty"` // absent means true
	Force     *bool           `json:"force,omitempty"`     // absent means true
	Sandbox   json.RawMessage `json:"sandbox,omitempty"`
}

// CopyParams are those of [FSCopy]; the result is [Empty].
type CopyParams struct {
	SourcePath      string          `json:"sourcePath"`
	DestinationPath string          `json:"destinationPath"`
	Recursive       bool            `json:"recursive"`
	Sandbox         json.RawMessage `json:"sandbox,omitempty"`
}

// CanonicalizeResult is that of [FSCanonicalize].
type CanonicalizeResult struct {
	Path string `json:"path"`
}

// WalkParams are those of [FSWalk].
type WalkParams struct {
	Path    string          `json:"path"`
	Options WalkOptions     `json:"options"`
	Sandbox json.RawMessage `json:"sandbox,omitempty"`
}

// WalkOptions bound a walk.
type WalkOptions struct {
	MaxDepth                uint64 `json:"maxDepth"`       // up to 64; 0 lists the children of the root
	MaxDirectories          uint64 `json:"maxDirectories"` // 1 to 10 000
	MaxEntries              uint64 `json:"maxEntries"`     // 1 to 50 000
	FollowDirectorySymlinks bool   `json:"followDirectorySymlinks"`
	PruneHiddenDirectories  bool   `json:"pruneHiddenDirectories"`
}

// WalkResult is that of [FSWalk].
type WalkResult struct {
	Entries   []WalkEntry `json:"entries"`
	Errors    []WalkError `json:"errors"`
	Truncated bool        `json:"truncated"` // a bound was met
}

// A WalkEntry is a file or directory that a walk came by.
type WalkEntry struct {
	Path string    `json:"path"`
	Kind EntryKind `json:"kind"`
}

// An EntryKind says what a walk came by.
type EntryKind string

// What a walk comes by.
const (
	KindFile      EntryKind = "file"
	KindDirectory EntryKind = "directory"
)

// A WalkError is a place that a walk could not look into.
type WalkError struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// OpenParams are those of [FSOpen].
type OpenParams struct {
	// HandleID is chosen by the client, and stands for one open file of its connection.
	HandleID string          `json:"handleId"`
	Path     string          `json:"path"`
	Mode     OpenMode        `json:"mode,omitempty"` // absent means OpenRead
	Sandbox  json.RawMessage `json:"sandbox,omitempty"`
}

// An OpenMode says what a file is opened for.
type OpenMode string

// What a file is opened for.
const (
	OpenRead    OpenMode = "read"
	OpenReplace OpenMode = "replace" // made or emptied, then written
)

func (m OpenMode) check() error { return oneOf(m, OpenRead, OpenReplace) }

// OpenResult is that of [FSOpen].
type OpenResult struct {
	HandleID string `json:"handleId"`
}

// ReadBlockParams are those of [FSReadBlock].
type ReadBlockParams struct {
	HandleID string `json:"handleId"`
	Offset   uint64 `json:"offset"`
	Len      uint64 `json:"len"` // 1 to MaxBlock
}

// ReadBlockResult is that of [FSReadBlock].
type ReadBlockResult struct {
	Chunk Base64 `json:"chunk"`
	EOF   bool   `json:"eof"` // the block reaches the end of the file
}

// WriteBlockParams are those of [FSWriteBlock]; the result is [Empty].
type WriteBlockParams struct {
	HandleID string `json:"handleId"`
	Offset   uint64 `json:"offset"`
	Chunk    Base64 `json:"chunk"`
}

// CloseParams are those of [FSClose]; the result is [Empty].
type CloseParams struct {
	HandleID string `json:"handleId"`
}

// WatchMissingParams are those of [FSWatchMissing].
type WatchMissingParams struct {
	WatchID uint64          `json:"watchId"`
	Missing []string        `json:"missing"`
	Present string          `json:"present"`
	Sandbox json.RawMessage `json:"sandbox,omitempty"`
}

// WatchMissingResult is that of [FSWatchMissing].
type WatchMissingResult struct {
	Watching bool `json:"watching"`
}

// MissingChangedParams are those of the notification [FSMissingChanged].
type MissingChangedParams struct {
	WatchID uint64 `json:"watchId"`
}
