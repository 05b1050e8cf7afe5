package landlock

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// Rules say what is given; all else is denied. Zero Rules give nothing.
type Rules struct {
	Paths []Rule
	// Network leaves the network alone. Otherwise there is no TCP, and where the kernel
	// can deny it no UDP; multipath TCP and the like want a filter of system calls.
	Network bool
	// FilesOnly leaves network, signals and abstract sockets alone: for a thread whose
	// process goes on without it.
	FilesOnly bool
}

// A Rule gives rights to a file, or to a directory and all beneath it. The path is
// absolute and physical.
type Rule struct {
	Path   string
	Rights Right
	// Optional means that it may be missing, which gives nothing.
	Optional bool
}

// A Right is a set of what may be done.
type Right uint8

// The rights.
const (
	// Read opens files for reading and lists directories.
	Read Right = 1 << iota
	// Write changes and makes files, directories, symlinks, FIFOs and sockets, moves,
	// links and removes them, and connects to sockets. It makes no devices, and gives
	// no Read.
	Write
	// Execute executes files, which takes Read, too.
	Execute
	// Device opens for reading and writing and controls by ioctl.
	Device
	// Connect connects to a socket.
	Connect
)

// String gives "read write".
func (r Right) String() string {
	var names []string
	for i, name := range []string{"read", "write", "execute", "device", "connect"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, " "), "nothing")
}

const (
	readAccess  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeAccess = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	deviceAccess = readAccess | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// fileAccess is all that can be given to what is no directory.
	fileAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// access is what the rights come to for a file or a directory.
func (r Right) access(dir bool) uint64 {
	var all uint64
	for _, m := range []struct {
		right  Right
		access uint64
	}{
		{Read, readAccess},
		{Write, writeAccess},
		{Execute, unix.LANDLOCK_ACCESS_FS_EXECUTE},
		{Device, deviceAccess},
		{Connect, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if r&m.right != 0 {
			all |= m.access
		}
	}
	if !dir {
		all &= fileAccess
	}
	return all
}

// String prints one rule to a line, in the order of the paths.
func (r Rules) String() string {
	b := new(strings.Builder)
	for _, rule := range r.normal().Paths {
		fmt.Fprintf(b, "%s: %s", printable(rule.Path), rule.Rights)
		if rule.Optional {
			b.WriteString(", if it exists")
		}
		b.WriteByte('\n')
	}
	switch {
	case r.FilesOnly:
		b.WriteString("network, signals, abstract sockets: as before\n")
	case r.Network:
		b.WriteString("network: as before\nsignals, abstract sockets: own processes only\n")
	default:
		b.WriteString("network: none\nsignals, abstract sockets: own processes only\n")
	}
	return b.String()
}

// normal gives each path one rule, in the order of the paths.
func (r Rules) normal() Rules {
	paths := slices.Clone(r.Paths)
	slices.SortStableFunc(paths, func(a, b Rule) int { return cmp.Compare(a.Path, b.Path) })
	r.Paths = paths[:0]
	for _, rule := range paths {
		if n := len(r.Paths); n > 0 && r.Paths[n-1].Path == rule.Path {
			r.Paths[n-1].Rights |= rule.Rights
			r.Paths[n-1].Optional = r.Paths[n-1].Optional && rule.Optional
			continue
		}
		r.Paths = append(r.Paths, rule)
	}
	return r
}

// key tells rules apart that are not the same; it wants them normal.
func (r Rules) key() string {
	key := strconv.AppendBool(strconv.AppendBool(nil, r.Network), r.FilesOnly)
	for _, rule := range r.Paths {
		key = append(key, byte(rule.Rights))
		key = append(strconv.AppendBool(key, rule.Optional), rule.Path...)
		key = append(key, 0) // no path holds it
	}
	return string(key)
}

// check refuses paths that mean another file to the kernel than to a reader.
func (r Rules) check() error {
	for _, rule := range r.Paths {
		if !filepath.IsAbs(rule.Path) || filepath.Clean(rule.Path) != rule.Path || strings.ContainsRune(rule.Path, 0) {
			return failed(fmt.Sprintf("take the path %q", rule.Path), errors.New("it is not an absolute, clean path"))
		}
	}
	return nil
}

// attributes is all that one version can deny.
func (r Rules) attributes(abi ABI) attributes {
	a := attributes{fs: abi.bits(fsRight)}
	if r.FilesOnly {
		return a
	}
	a.scoped = abi.bits(scopeRight)
	if !r.Network {
		a.net = abi.bits(netRight)
	}
	return a
}

// gaps names what would be denied if the version knew it.
func (r Rules) gaps(abi ABI) []Gap {
	var list []Gap
	for _, right := range rights() {
		if right.since > abi && len(right.breaks) > 0 && r.denies(right.class) {
			list = append(list, Gap{What: right.name, Breaks: right.breaks})
		}
	}
	if r.denies(netRight) {
		list = append(list, Gap{What: "other_protocols", Breaks: []durward.Guarantee{durward.Net}})
	}
	return list
}

func (r Rules) denies(c rightClass) bool {
	switch c {
	case fsRight:
		return true
	case netRight:
		return !r.Network && !r.FilesOnly
	}
	return !r.FilesOnly
}

// names gives the names of an absolute path.
func names(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.SplitSeq(path, "/") {
			if name != "" && !yield(name) {
				return
			}
		}
	}
}

// printable gives a path that fits one line and is nobody else's.
func printable(path string) string {
	if quoted := strconv.Quote(path); quoted[1:len(quoted)-1] != path {
		return quoted
	}
	return path
}
