//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/engine/process"
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

func runChild(bytes string) {
	e := process.New(process.Options{})
	defer e.Close()
	l := durward.DefaultLimits()
	l.Wall, l.OutputHard, l.CPU = 10*time.Minute, durward.Unlimited, durward.Unlimited
	g := durward.Grant{
		Mode: durward.ReadOnly, StepDown: true, Limits: l, Keep: durward.KeepHeadTail,
		Env: map[string]string{"PATH": "/usr/bin:/bin"},
	}
	run := func(n string) durward.Result {
		c := durward.Call{ID: durward.CallID("bench-" + n), Argv: []string{"head", "-c", n, "/dev/zero"}, Dir: "/"}
		p, err := e.Prepare(context.Background(), durward.Tool{}, c, g)
		if err == nil {
			defer p.Close()
			var r durward.Result
			if r, err = p.Run(context.Background()); err == nil {
				return r
			}
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
		panic("unreachable")
	}
	run("1")
	debug.FreeOSMemory()
	idle, peak := resident(), int64(0)
	done := make(chan durward.Result)
	go func() { done <- run(bytes) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case r := <-done:
			fmt.Printf("+%.1f MiB (idle %.1f, %d bytes counted)\n", float64(peak-idle)/(1<<20), float64(idle)/(1<<20), r.Stdout.Total)
			return
		case <-tick.C:
			peak = max(peak, resident())
		}
	}
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
