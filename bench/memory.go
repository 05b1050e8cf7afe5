//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/sandbox"
)

// memory measures, in a process of its own, how much the runtime grows while a
// command prints 10 GB that are drained.
func memory(rounds int, quick bool) error {
	bytes := "10000000000"
	if quick {
		bytes = "1000000000"
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.Command(self, "-child", bytes).Output()
	if err != nil {
		return err
	}
	report("RSS while a command prints "+bytes+" bytes", "idle RSS", strings.TrimSpace(string(out)), "<= +16 MiB")
	return nil
}

// runChild has the command print so many bytes, and prints how far this process grew.
func runChild(bytes string) error {
	e := process.New(process.Options{})
	defer e.Close()
	if _, err := printed(e, "1"); err != nil {
		return err
	}
	debug.FreeOSMemory()
	idle, peak := resident(), int64(0)
	var total int64
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		total, failed = printed(e, bytes)
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			fmt.Printf("+%.1f MiB (idle %.1f, %d bytes counted)\n", float64(peak-idle)/(1<<20), float64(idle)/(1<<20), total)
			return errors.Join(failed, sandbox.Probe().Release())
		case <-tick.C:
			peak = max(peak, resident())
		}
	}
}

// printed runs a command that prints so many bytes and gives how many were counted.
func printed(e *process.Engine, bytes string) (int64, error) {
	l := durward.DefaultLimits()
	l.Wall, l.OutputHard, l.CPU = 10*time.Minute, durward.Unlimited, durward.Unlimited
	g := durward.Grant{
		Mode: durward.ReadOnly, StepDown: true, Limits: l, Keep: durward.KeepHeadTail,
		Env: map[string]string{"PATH": "/usr/bin:/bin"},
	}
	c := durward.Call{ID: durward.CallID("bench-" + bytes), Argv: []string{"head", "-c", bytes, "/dev/zero"}, Dir: "/"}
	p, err := e.Prepare(context.Background(), durward.Tool{}, c, g)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	r, err := p.Run(context.Background())
	return r.Stdout.Total, err
}

// resident is the second field of /proc/self/statm, in pages.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	field := strings.Fields(string(text))
	if len(field) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(field[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
