//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// A marker is a number of seconds that nobody else sleeps: it finds the processes of one
// test among all on this machine.
type marker string

var markers atomic.Int64

func newMarker() marker { return marker(fmt.Sprintf("86398.%d%06d", os.Getpid(), markers.Add(1))) }

// alive counts the processes that carry the marker, whoever they belong to.
func (m marker) alive() int {
	return count(func(line string) bool { return strings.Contains(line, string(m)) })
}

// sleeping counts those of them that sleep.
func (m marker) sleeping() int {
	return count(func(line string) bool { return line == "sleep\x00"+string(m)+"\x00" })
}

// count counts the processes with some sort of command line, which is empty for the dead.
func count(sort func(line string) bool) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return len(slices.DeleteFunc(lines, func(file string) bool {
		line, _ := os.ReadFile(file)
		return !sort(string(line))
	}))
}

// escapees starts processes that try to outlive the one that starts them, and none of which
// holds its streams: plain, in a session of their own with an empty environment, orphans of
// a double fork, deaf to TERM, stopped.
func escapees(m marker) string {
	return fmt.Sprintf(`(
exec < /dev/null > /dev/null 2>&1
sleep %[1]s &
setsid env -i sleep %[1]s &
(sleep %[1]s &)
(setsid sleep %[1]s &)
(trap "" TERM INT HUP; exec setsid sleep %[1]s) &
sleep %[1]s & kill -STOP $!
);`, m)
}

// escaped is the number of processes that escapees starts.
const escaped = 6
