//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
)

// startup compares `durward version` with a Go program that does nothing.
func startup(rounds int, quick bool) error {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	empty, err := buildEmpty(dir)
	ours, failed := buildDurward(dir)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	m, err := interleaved(max(rounds/3, 5),
		func() error { return exec.Command(empty).Run() },
		func() error { return exec.Command(ours, "version").Run() },
	)
	if err != nil {
		return err
	}
	reportStart("start of durward version", m[0], m[1], "<= +15 ms")
	return nil
}
