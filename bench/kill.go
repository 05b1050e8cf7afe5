//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// family makes eight processes: two plain children, two in sessions of their own, two
// orphans of a double fork, one that ignores TERM, and itself.
const family = `
sleep 300 & sleep 300 &
setsid sleep 300 & setsid sleep 300 &
(sleep 300 &) ; (setsid sleep 300 &)
sh -c 'trap "" TERM; sleep 300' &
sleep 0.05; echo ready; wait
`

// kills measures the time from the kill to the death of the last process.
func kills(rounds int, quick bool) error {
	var times []time.Duration
	for range max(rounds/10, 5) {
		d, err := killOnce()
		if err != nil {
			return err
		}
		times = append(times, d)
	}
	report("kill of 8 processes, escapees among them", "-", fmt.Sprintf("%.2f ms", float64(median(times))/1e6), "<= 5 ms")
	return nil
}

func killOnce() (time.Duration, error) {
	dir, err := os.Open("/")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	program, err := sandbox.FindProgram("sh", "/usr/bin:/bin", "/")
	if err != nil {
		return 0, err
	}
	defer program.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer read.Close()
	r := sandbox.Request{
		Argv: []string{"sh", "-c", family}, Env: []string{"PATH=/usr/bin:/bin"}, Program: program, Dir: dir,
		Grant: durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelNone, StepDown: true, Limits: durward.DefaultLimits()},
	}
	h := sandbox.Probe()
	plan, err := sandbox.Compile(context.Background(), r, h)
	if err != nil {
		return 0, err
	}
	p, err := sandbox.Start(context.Background(), plan, r, sandbox.Stdio{Stdin: null, Stdout: write, Stderr: null}, h)
	write.Close()
	if err != nil {
		return 0, err
	}
	if _, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		return 0, err
	}
	began := time.Now()
	p.Kill()
	<-p.Gone()
	return time.Since(began), p.Close()
}
