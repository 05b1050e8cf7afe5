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
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return len(slices.DeleteFunc(lines, func(file string) bool {
		line, _ := os.ReadFile(file) // empty for the dead
		return !strings.Contains(string(line), string(m))
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
