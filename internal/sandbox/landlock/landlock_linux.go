// Package landlock makes rulesets that the kernel holds a process or a thread to.
//
// [For] gives the [Rules] of a grant, [New] builds them into a [Ruleset] in this
// process. A child that is to live under it makes two calls and needs nothing else:
//
//	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
//	landlock_restrict_self(ruleset.FD(), ruleset.Flags())
//
// All that no rule gives is denied, for good, and to all its descendants. What this
// kernel is too old to deny is named by [Ruleset.Gaps]. A ruleset prints as
//
//	landlock:7
//	  dir  /usr: execute read_file read_dir
//	  file /dev/null: write_file read_file ioctl_dev
//	  denied: bind_tcp connect_tcp
//	  scope: abstract_unix_socket signal
//	  not held: resolve_unix (unix), bind_udp (net), connect_send_udp (net), other_protocols (net)
//
// Landlock judges the opening, making, renaming, linking and removing of files. It does
// not hide names, and it does not judge stat, chmod, chown, utime, setxattr, access,
// readlink or chdir, nor what is done by a descriptor that was opened before. A file has
// the rights of the name it is opened by, and may have several names. Execute keeps no
// code from running: a program may be run from memory, or handed to an interpreter or
// loader that may run.
package landlock

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A Ruleset is a hold on a ruleset in the kernel, which lives until the last of its
// holds is closed. What it restricted stays so. Its methods may be called
// concurrently, but FD and Restrict not after Close.
type Ruleset struct {
	made   *made
	closed atomic.Bool
}

// made is what the holds on one ruleset share. Nothing in it changes but the count, and
// when its folders were seen.
type made struct {
	fd      int
	holds   atomic.Int32
	rules   Rules
	abi     ABI
	denies  attributes // unless a rule gives it
	given   []given
	missing []string // optional paths that did not exist
	folders []*folder
}

// A given is a rule as the kernel has it.
type given struct {
	path     string
	dir      bool
	access   uint64
	dev, ino uint64
}

// New opens what the rules name, without following a symlink, and builds a ruleset of
// it. The rules go with the files that have these names now, wherever they are moved.
// Until Close the ruleset keeps them from being forgotten by the kernel, but neither
// from being deleted nor from being unmounted. An error has reason SandboxUnavailable
// where the kernel offers no Landlock, else SandboxError.
func New(r Rules) (*Ruleset, error) {
	abi, err := Probe()
	if err != nil {
		return nil, err
	}
	return build(r, abi)
}

// build makes a ruleset of what one interface knows.
func build(r Rules, abi ABI) (*Ruleset, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	m := &made{rules: r.normal(), abi: abi, denies: r.attributes(abi)}
	var err error
	if m.fd, err = createRuleset(m.denies); err != nil {
		return nil, failed("create the ruleset", err)
	}
	for _, rule := range m.rules.Paths {
		if err := m.add(rule); err != nil {
			unix.Close(m.fd)
			return nil, err
		}
	}
	m.folders = foldersOf(m.given, m.missing)
	m.holds.Store(1)
	return &Ruleset{made: m}, nil
}

func (m *made) add(rule Rule) error {
	fd, err := openPath(rule.Path)
	if absent(err) && rule.Optional {
		m.missing = append(m.missing, rule.Path)
		return nil
	}
	if err != nil {
		return unopened(rule.Path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return unopened(rule.Path, err)
	}
	g := given{path: rule.Path, dir: isDir(&st), dev: st.Dev, ino: st.Ino}
	g.access = m.access(rule.Rights, g.dir)
	m.given = append(m.given, g)
	if g.access == 0 {
		return nil // it gives only what this kernel denies to nobody
	}
	if err := addRule(m.fd, beneath(g.access, fd)); err != nil {
		return failed("add a rule for "+rule.Path, err)
	}
	return nil
}

// access is what the rights come to, for a file or a directory, in this ruleset.
func (m *made) access(r Right, dir bool) uint64 { return r.access(dir) & m.denies.fs }

// FD is the descriptor of the ruleset. It is closed on exec and serves any number of
// processes; it is valid until Close.
func (r *Ruleset) FD() int { return r.made.fd }

// Flags are the flags to restrict a process with.
func (r *Ruleset) Flags() uint32 { return r.made.abi.Flags() }

// ABI is what is used of the kernel's interface.
func (r *Ruleset) ABI() ABI { return r.made.abi }

// Restrict holds the calling thread to the ruleset until it ends, and whatever thread or
// process it starts. The goroutine must be locked to the thread, and must never be
// unlocked from it.
func (r *Ruleset) Restrict() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failed("set no-new-privileges", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.FD()), uintptr(r.Flags()), 0)
	if errno == unix.E2BIG {
		return unavailable("restrict a thread", errno, "durward itself runs inside too many Landlock sandboxes; run it in fewer")
	}
	if errno != 0 {
		return failed("restrict a thread", errno)
	}
	return nil
}

// Share gives another hold, to be closed by itself. It fails once r is closed.
func (r *Ruleset) Share() (*Ruleset, error) {
	for {
		n := r.made.holds.Load()
		if n == 0 || r.closed.Load() {
			return nil, os.ErrClosed
		}
		if r.made.holds.CompareAndSwap(n, n+1) {
			return &Ruleset{made: r.made}, nil
		}
	}
}

// Close gives up the hold. It may be called again.
func (r *Ruleset) Close() error {
	if r.closed.Swap(true) || r.made.holds.Add(-1) > 0 {
		return nil
	}
	return unix.Close(r.made.fd)
}

// String prints what the kernel was told and what it cannot hold.
func (r *Ruleset) String() string {
	m, b := r.made, new(strings.Builder)
	fmt.Fprintf(b, "%s\n", m.abi)
	for _, g := range m.given {
		kind := "file"
		if g.dir {
			kind = "dir "
		}
		fmt.Fprintf(b, "  %s %s: %s\n", kind, printable(g.path), words(fsRight, g.access))
	}
	for _, path := range m.missing {
		fmt.Fprintf(b, "  none %s\n", printable(path))
	}
	if m.denies.net != 0 {
		fmt.Fprintf(b, "  denied: %s\n", words(netRight, m.denies.net))
	}
	if m.denies.scoped != 0 {
		fmt.Fprintf(b, "  scope: %s\n", words(scopeRight, m.denies.scoped))
	}
	if gaps := r.Gaps(); len(gaps) > 0 {
		fmt.Fprintf(b, "  not held: %s\n", joined(gaps))
	}
	return b.String()
}

// A Gap is something that was asked for and is not held.
type Gap struct {
	// What names it: a right that the kernel does not know, "truncate", or what no rule
	// can take back, "deny /work/.env".
	What string
	// Breaks lists the guarantees that do not hold because of it.
	Breaks []durward.Guarantee
}

// String gives "truncate (fs.write)".
func (g Gap) String() string {
	names := make([]string, len(g.Breaks))
	for i, guarantee := range g.Breaks {
		names[i] = string(guarantee)
	}
	return fmt.Sprintf("%s (%s)", g.What, strings.Join(names, " "))
}

func joined(gaps []Gap) string {
	texts := make([]string, len(gaps))
	for i, g := range gaps {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}

// Gaps names what the rules deny and this kernel's Landlock cannot, in the order in
// which kernels learnt it. What no kernel has learnt comes last: "other_protocols" are
// multipath TCP, SCTP, raw sockets and the like.
func (r *Ruleset) Gaps() []Gap { return r.made.rules.gaps(r.made.abi) }

func failed(what string, err error) error {
	return &durward.Error{Reason: durward.SandboxError, Op: "landlock", Hint: "run durward doctor", Err: fmt.Errorf("%s: %w", what, err)}
}

func unavailable(what string, err error, hint string) error {
	return &durward.Error{Reason: durward.SandboxUnavailable, Op: "landlock", Hint: hint, Err: fmt.Errorf("%s: %w", what, err)}
}

// unopened says what became of a path since the policy was read.
func unopened(path string, err error) error {
	hint := "make it exist, or end it with ? in the policy if it may be missing"
	if !absent(err) {
		hint = "check the path; it may have become a symlink since the policy was read: reload the policy"
	}
	return &durward.Error{Reason: durward.SandboxError, Op: "landlock", Hint: hint, Err: &os.PathError{Op: "open", Path: path, Err: err}}
}

func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }
