package mcppolicy

import (
	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// A Document is a policy as somebody wrote it, with the defaults filled in: nothing in
// it has been expanded or looked up.
type Document struct {
	Where durward.Position

	Version             Value[int64]
	DenyNetworkFS       Value[bool]
	AllowedRoots        Value[[]Text]
	WriteRules          []WriteEntry
	Commands            []CommandEntry
	Logging             LoggingEntry
	Limits              LimitsEntry
	DenyHardLinks       Value[bool]
	AllowRootFilesystem Value[bool]
	StrictVirtual       Value[bool]
	OutputRetention     Text
	Sandbox             Sandbox
	Profiles            []ProfileEntry

	hash string
	// mistakes are those that were found in reading. What was refused is empty, whatever
	// it holds otherwise.
	mistakes config.Problems
}

// A Value is a member of a document. Its place is zero where the default stands.
type Value[T any] struct {
	Value T
	Where durward.Position
}

// A Text is a string with its place.
type Text = Value[string]

// A WriteEntry is an item of "writeRules".
type WriteEntry struct {
	Where           durward.Position
	Path            Text
	Recursive       Value[bool]
	MaxFileBytes    Value[int64]
	CreateIfMissing Value[bool]
}

// A CommandEntry is an item of "commands".
type CommandEntry struct {
	Where          durward.Position
	ID             Text
	Exec           Text
	Description    Text
	Args           ArgsEntry
	CwdPolicy      Text
	Cwd            Text
	EnvAllowlist   Value[[]Text]
	Env            map[string]Text
	TimeoutMs      Value[int64]
	MaxOutputBytes Value[int64]
	Platform       Value[[]Text]
	Sandbox        Sandbox
}

// An ArgsEntry is the "args" member of a command.
type ArgsEntry struct {
	Where               durward.Position
	Allow               Value[[]Text]
	Fixed               Value[[]Text]
	Patterns            []PatternEntry
	Any                 Value[bool]
	AllowMetacharacters Value[bool]
	PathScope           Text
}

// A PatternEntry is an item of "args.patterns".
type PatternEntry struct {
	Where durward.Position
	Type  Text
	Value Text
}

// A LoggingEntry is the "logging" member. File is empty where there is none.
type LoggingEntry struct {
	Where    durward.Position
	Level    Text
	File     Text
	Redact   Value[[]Text]
	MaxBytes Value[int64]
	Keep     Value[int64]
}

// A LimitsEntry is the "limits" member. Zero means that there is no such limit.
type LimitsEntry struct {
	Where                durward.Position
	MaxReadBytes         Value[int64]
	MaxCmdConcurrency    Value[int64]
	MaxAddressSpaceBytes Value[int64]
}

// A ProfileEntry is an item of "profiles". A limit of zero is that of the policy.
type ProfileEntry struct {
	Where      durward.Position
	Name       Text
	Commands   Value[[]Text]
	WriteRules Text
	Limits     LimitsEntry
}

// A Sandbox is a "sandbox" member. Document is nil where there is none.
type Sandbox struct {
	Document *policy.Document
	// written is the mapping as JSON has it, for the hash.
	written any
}
