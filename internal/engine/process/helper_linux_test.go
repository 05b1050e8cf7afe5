//go:build linux && (amd64 || arm64)

package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
)

func signalOf(c *exec.Cmd) syscall.Signal {
	status, _ := c.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signal()
}

// zombies counts the children of this process that have ended and wait to be reaped.
func zombies(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		if _, after, ok := strings.Cut(string(stat), ") Z "); ok && strings.HasPrefix(after, strconv.Itoa(os.Getpid())+" ") {
			n++
		}
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

func asError(err error, into **durward.Error) bool { return errors.As(err, into) }
