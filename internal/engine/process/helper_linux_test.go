//go:build linux && (amd64 || arm64)

package process

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/durward/durward"
)

func signalOf(c *exec.Cmd) syscall.Signal {
	status, _ := c.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signal()
}

func itoa(n int) string { return strconv.Itoa(n) }

func asError(err error, into **durward.Error) bool { return errors.As(err, into) }
