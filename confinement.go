package durward

// A Confinement is what a caller wants its call to be held to. It gives no right: the
// grant is what policy and Confinement both allow.
//
// What no entry names is not accessible in a mode that confines files. Of the entries
// that name or contain a path the most specific wins; of several that are equally
// specific deny wins over write and write over read.
type Confinement struct {
	// Mode is the widest mode asked for. In a mode that confines no files Entries is empty.
	Mode Mode
	// Entries are in the order in which they were written, and at most MaxEntries.
	Entries []Entry
	// Network is NetNone or NetFull.
	Network NetworkMode
}

// MaxEntries bounds the entries of a [Confinement]: each is compared with the others.
const MaxEntries = 512

// An Entry says what may be done with a path and all beneath it.
type Entry struct {
	// Path is absolute and clean, not necessarily physical. It is empty where Platform says
	// what the entry is about.
	Path string
	// Pattern is a glob of paths beneath Path: * ? [abc] within a name, ** for any number of
	// names. Its Access is AccessDeny.
	Pattern string
	// Platform stands for the files that programs of this machine need to run.
	Platform bool
	Access   Access
	// IfThere leaves the entry out when Path does not exist.
	IfThere bool
	// Member is what the caller wrote it in, for a refusal: "sandbox.permissions".
	Member string
}

// An Access says what an [Entry] allows.
type Access string

// The accesses.
const (
	AccessRead  Access = "read"
	AccessWrite Access = "write"
	AccessDeny  Access = "deny"
	// AccessProtect lets be read what is otherwise written. Nothing can be made or removed
	// there either, nor anything that leads there be moved.
	AccessProtect Access = "protect"
)
