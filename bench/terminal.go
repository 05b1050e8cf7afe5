//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A terminal is a program on a terminal of which we have the other side.
type terminal struct {
	side *os.File
	cmd  *exec.Cmd
	got  []byte
}

func openTerminal(program string) (*terminal, error) {
	side, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(side.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(side.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return nil, errors.Join(err, side.Close())
	}
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Join(err, side.Close())
	}
	t := &terminal{side: side, cmd: exec.Command(program), got: make([]byte, 4096)}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = other, other, other
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return t, errors.Join(t.cmd.Start(), other.Close())
}

// echo writes a line and reads until what came ends in a text.
func (t *terminal) echo(line, back string) error {
	if _, err := t.side.WriteString(line); err != nil {
		return err
	}
	got := ""
	for !strings.HasSuffix(got, back) {
		n, err := t.side.Read(t.got)
		if err != nil {
			return err
		}
		got += string(t.got[:n])
	}
	return nil
}

func (t *terminal) close() {
	_ = t.side.Close() // which ends the program
	_ = t.cmd.Wait()
}
