package landlock

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// An ABI is a version of the kernel's interface; each knows all that those before it
// knew.
type ABI int

// Newest is the last version that is made use of; of a later one no more is.
const Newest ABI = 10

// FiltersSockets is the first version that keeps a process from connecting to sockets by
// their paths.
const FiltersSockets ABI = 9

// String gives "landlock:7".
func (a ABI) String() string { return "landlock:" + strconv.Itoa(int(a)) }

// A rightClass is a set of bits that one argument holds.
type rightClass uint8

const (
	fsRight rightClass = iota
	netRight
	scopeRight
	flagRight
)

// A right is one bit that some version brought.
type right struct {
	since ABI
	class rightClass
	bit   uint64
	name  string
	// breaks lists what does not hold where the bit is unknown.
	breaks []durward.Guarantee
}

// rights is all that is known of the interface. Without refer, nothing may be moved or
// linked from one directory to another at all: that breaks no guarantee.
func rights() []right {
	write, net := []durward.Guarantee{durward.FSWrite}, []durward.Guarantee{durward.Net}
	return []right{
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_EXECUTE, "execute", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_WRITE_FILE, "write_file", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_READ_FILE, "read_file", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_READ_DIR, "read_dir", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_REMOVE_DIR, "remove_dir", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_REMOVE_FILE, "remove_file", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_CHAR, "make_char", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_DIR, "make_dir", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_REG, "make_reg", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_SOCK, "make_sock", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_FIFO, "make_fifo", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK, "make_block", nil},
		{1, fsRight, unix.LANDLOCK_ACCESS_FS_MAKE_SYM, "make_sym", nil},
		{2, fsRight, unix.LANDLOCK_ACCESS_FS_REFER, "refer", nil},
		{3, fsRight, unix.LANDLOCK_ACCESS_FS_TRUNCATE, "truncate", write},
		{4, netRight, unix.LANDLOCK_ACCESS_NET_BIND_TCP, "bind_tcp", net},
		{4, netRight, unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, "connect_tcp", net},
		{5, fsRight, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, "ioctl_dev", write},
		{6, scopeRight, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, "abstract_unix_socket", []durward.Guarantee{durward.Unix, durward.IPC}},
		{6, scopeRight, unix.LANDLOCK_SCOPE_SIGNAL, "signal", []durward.Guarantee{durward.Proc}},
		{7, flagRight, unix.LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF, "log_same_exec_off", nil},
		{7, flagRight, unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON, "log_new_exec_on", nil},
		{7, flagRight, unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF, "log_subdomains_off", nil},
		{8, flagRight, unix.LANDLOCK_RESTRICT_SELF_TSYNC, "tsync", nil},
		{9, fsRight, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, "resolve_unix", []durward.Guarantee{durward.Unix}},
		{10, netRight, unix.LANDLOCK_ACCESS_NET_BIND_UDP, "bind_udp", net},
		{10, netRight, unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, "connect_send_udp", net},
	}
}

// bits are those of a class that a version knows.
func (a ABI) bits(c rightClass) uint64 {
	var all uint64
	for _, r := range rights() {
		if r.class == c && r.since <= a {
			all |= r.bit
		}
	}
	return all
}

// words names the bits of a class.
func words(c rightClass, bits uint64) string {
	var names []string
	for _, r := range rights() {
		if r.class == c && bits&r.bit != 0 {
			names = append(names, r.name)
		}
	}
	return strings.Join(names, " ")
}
