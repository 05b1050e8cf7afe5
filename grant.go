package durward

import "time"

// A Grant is everything an engine may use for one call. An engine honours every
// field of it or refuses; it never sees the policy the grant came from.
type Grant struct {
	Mode Mode
	// Level is the level to run at. LevelAuto lets the engine take the highest it
	// has that holds Require.
	Level Level
	// MinLevel refuses anything below it.
	MinLevel Level
	// Require lists what must be held; what cannot be is a refusal.
	Require []Requirement
	// StepDown marks a built-in default: what Require names and this host cannot hold
	// is named in the report instead of being refused. No document can set it.
	StepDown bool

	Files   Files
	Network Network
	// BeginAtRoot lets the command begin in "/", which is in no set. It gives no right to
	// what is there.
	BeginAtRoot bool
	// Env is the complete environment of the command, but for the names in PrivateDir.
	Env map[string]string
	// PrivateDir lists the variables (HOME, TMPDIR) that are to name a private, empty
	// directory which lives as long as the call.
	PrivateDir []string
	Identity   Identity
	Limits     Limits
	// Keep says which bytes of the output are kept once Limits.Output is reached.
	Keep Keep
}

// A Mode says what is allowed; the level says how strongly that is held.
type Mode string

// The modes, from the narrowest to the widest.
const (
	ReadOnly         Mode = "read-only"
	WorkspaceWrite   Mode = "workspace-write"
	DangerFullAccess Mode = "danger-full-access"
	// External means that the operator vouches for a sandbox around the runtime.
	External Mode = "external"
)

// Confines reports whether a mode keeps a command from files at all.
func (m Mode) Confines() bool { return m == ReadOnly || m == WorkspaceWrite }

// A Level says how strongly a mode is held.
type Level int

// The levels. LevelAuto is the zero value.
const (
	LevelAuto Level = iota
	// LevelNone has a clean environment, closed descriptors, an own session,
	// limits, output caps, whole-tree kill and privilege drop.
	LevelNone
	// LevelRestrict adds Landlock, seccomp, no-new-privileges and no capabilities.
	LevelRestrict
	// LevelIsolate adds namespaces and a private root.
	LevelIsolate
	// LevelContainer and LevelMicroVM are reserved.
	LevelContainer
	LevelMicroVM
)

// Number gives the level as the contracts count: 0 for LevelNone, 1 for
// LevelRestrict, …, and -1 for LevelAuto.
func (l Level) Number() int { return int(l) - 1 }

// A Guarantee is one thing a sandbox can hold.
type Guarantee string

// The guarantees, in the order of a report.
const (
	FSRead   Guarantee = "fs.read"
	FSWrite  Guarantee = "fs.write"
	FSMeta   Guarantee = "fs.meta"
	Net      Guarantee = "net"
	Unix     Guarantee = "unix"
	Proc     Guarantee = "proc"
	IPC      Guarantee = "ipc"
	Kill     Guarantee = "kill"
	Mem      Guarantee = "mem"
	Pids     Guarantee = "pids"
	Priv     Guarantee = "priv"
	Syscalls Guarantee = "syscalls"
)

// Guarantees lists all guarantees in the order of a report.
func Guarantees() []Guarantee {
	return []Guarantee{FSRead, FSWrite, FSMeta, Net, Unix, Proc, IPC, Kill, Mem, Pids, Priv, Syscalls}
}

// A Requirement is a guarantee that must be held; Kernel asks that the kernel alone
// holds it (written "mem!"). Firm asks for it even where the rest of the grant may step
// down: the operator wrote what this guarantee holds.
type Requirement struct {
	Guarantee Guarantee
	Kernel    bool
	Firm      bool
}

// String gives the form a policy uses: "mem", "mem!".
func (r Requirement) String() string {
	if r.Kernel {
		return string(r.Guarantee) + "!"
	}
	return string(r.Guarantee)
}

// PrivateTmp stands in Files.Write and Files.Exec for the private, empty temporary
// directory of a call.
const PrivateTmp = "@tmp"

// Files are the path sets of a grant. All paths are absolute and physical, but for
// [PrivateTmp]. Between Read and Write the most specific path wins, Write where both
// name it; Deny and Protect win over both. In a mode that confines no files, no sets at
// all mean every file.
type Files struct {
	Read, Write, Deny, Protect, Exec []string
	// Links are symlinks outside the sets by which something in them was named. They
	// give no right.
	Links []Link
	// DenyGlobs are patterns of paths to deny, expanded at each run: * ? [abc] within a
	// name, ** for any number of names. "[*]" stands for the character itself.
	DenyGlobs []string
	// HostReadOnly shows the whole host read-only instead of a private view.
	HostReadOnly bool
	CopyOnWrite  bool
}

// A Link is a symlink: Path leads to To. Both are absolute.
type Link struct{ Path, To string }

// A NetworkMode says what a command may reach.
type NetworkMode string

// The network modes, from the narrowest to the widest.
const (
	NetNone      NetworkMode = "none"
	NetLoopback  NetworkMode = "loopback"
	NetAllowlist NetworkMode = "allowlist"
	NetFull      NetworkMode = "full"
)

// Network is the network part of a grant.
type Network struct {
	Mode NetworkMode
	// Allow holds canonical "host:port" entries.
	Allow        []string
	AllowPrivate []string
	RequireSNI   bool
	UnixSockets  []string
}

// Identity says whom a command runs as. The zero value is "auto": the owner of the
// workspace, or a dedicated unprivileged id, never host user 0.
type Identity struct {
	// Keep runs the command as the runtime's own user.
	Keep bool
	// Fixed runs it as UID and GID.
	Fixed    bool
	UID, GID uint32
}

// Limits bound one call. A zero member means the default of [Limits.WithDefaults];
// there is no "never" but [Unlimited], which only the operator's policy may hold.
type Limits struct {
	// Wall is the time from the start of the call, its wait for a slot included, to the
	// end of the main process.
	Wall time.Duration
	// Grace is the time between TERM and KILL.
	Grace time.Duration
	// CPU is processor time, user and system, of the whole tree.
	CPU time.Duration
	// Memory is bytes of memory of the whole tree: all that the kernel charges it with
	// where it keeps the limit, else what is resident.
	Memory int64
	// AddressSpace is bytes of address space per process; it has no default.
	AddressSpace int64
	// Pids is processes and threads at once.
	Pids int64
	// OpenFiles is per process.
	OpenFiles int64
	// FileSize is the size of the largest file a process may write, in bytes.
	FileSize int64
	// Tmp is bytes in the private temporary directory where the level has one.
	Tmp int64
	// Stdin is bytes of input.
	Stdin int64
	// Output is bytes kept per stream.
	Output int64
	// OutputHard is bytes produced by both streams together before the tree is killed.
	OutputHard int64
}

// Unlimited lifts a limit. Zero does not: it means the default.
const Unlimited = -1

// DefaultLimits are the limits of a call whose policy names none.
func DefaultLimits() Limits {
	return Limits{
		Wall:       30 * time.Second,
		Grace:      2 * time.Second,
		CPU:        60 * time.Second,
		Memory:     2 << 30,
		Pids:       256,
		OpenFiles:  1024,
		FileSize:   1 << 30,
		Tmp:        256 << 20,
		Stdin:      1 << 20,
		Output:     1 << 20,
		OutputHard: 256 << 20,
	}
}

// WithDefaults fills each zero member from [DefaultLimits].
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	for _, m := range []struct{ into, from *int64 }{
		{(*int64)(&l.Wall), (*int64)(&d.Wall)},
		{(*int64)(&l.Grace), (*int64)(&d.Grace)},
		{(*int64)(&l.CPU), (*int64)(&d.CPU)},
		{&l.Memory, &d.Memory},
		{&l.Pids, &d.Pids},
		{&l.OpenFiles, &d.OpenFiles},
		{&l.FileSize, &d.FileSize},
		{&l.Tmp, &d.Tmp},
		{&l.Stdin, &d.Stdin},
		{&l.Output, &d.Output},
		{&l.OutputHard, &d.OutputHard},
	} {
		if *m.into == 0 {
			*m.into = *m.from
		}
	}
	return l
}

// Keep says which bytes of an output are kept at the cap.
type Keep string

// The ways to keep output.
const (
	// KeepHead keeps the first bytes.
	KeepHead Keep = "head"
	// KeepFirst keeps the first bytes of both streams together, in the order in which
	// they are read: the cap is for the two of them.
	KeepFirst Keep = "first"
	// KeepLast keeps the last bytes of both streams: the cap is for the two of them, half of
	// it for each and what the other one leaves.
	KeepLast Keep = "last"
	// KeepHeadTail keeps the first half and the last half.
	KeepHeadTail Keep = "headtail"
	// KeepRefuse ends the call with [TooLarge] at the first byte over the cap.
	KeepRefuse Keep = "refuse"
	// KeepStream keeps the newest bytes and hands every byte to the session's reader. It and
	// KeepAcked let a session go on until nobody has its output open any more, and not only
	// until its main process ends.
	KeepStream Keep = "stream"
	// KeepFlow hands every byte to the session's reader and loses none: while as much
	// as the cap waits to be read, the command waits.
	KeepFlow Keep = "flow"
	// KeepAcked is KeepFlow for a reader that may fail on its way: a chunk waits until it is
	// acknowledged.
	KeepAcked Keep = "acked"
)

// A GrantField is a part of a grant that an engine may or may not be able to hold.
type GrantField string

// The fields.
const (
	FieldLevel    GrantField = "level"
	FieldFiles    GrantField = "files"
	FieldNetwork  GrantField = "network"
	FieldEnv      GrantField = "env"
	FieldIdentity GrantField = "identity"
	FieldLimits   GrantField = "limits"
)

// Asks lists the fields in which g asks for something to be held. Of an external
// sandbox's network it asks nothing: the operator vouches for that.
func (g Grant) Asks() []GrantField {
	confined := g.Mode.Confines()
	var fields []GrantField
	for _, f := range []struct {
		field GrantField
		asked bool
	}{
		{FieldLevel, max(g.Level, g.MinLevel) > LevelNone},
		{FieldFiles, confined || g.Files.asks()},
		{FieldNetwork, confined || (g.Mode != External && g.Network.Mode != "" && g.Network.Mode != NetFull)},
		{FieldEnv, g.Env != nil || len(g.PrivateDir) > 0},
		{FieldIdentity, g.Identity.Fixed},
		{FieldLimits, g.Limits != Limits{}},
	} {
		if f.asked {
			fields = append(fields, f.field)
		}
	}
	return fields
}

func (f Files) asks() bool {
	return len(f.Read)+len(f.Write)+len(f.Deny)+len(f.DenyGlobs)+len(f.Protect)+len(f.Exec) > 0 || f.CopyOnWrite || f.HostReadOnly
}
