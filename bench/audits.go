//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
)

// audits measures the two records of an allowed call, one call after the other, as
// they stand in the path of each.
func audits(rounds int, quick bool) error {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	c, d, r := recordedCall()
	calls := 10 * rounds
	began := time.Now()
	for i := range calls {
		c.ID = durward.CallID(fmt.Sprintf("0190-%d", i))
		if err := log.Intent(c, d); err != nil {
			return err
		}
		if err := log.Outcome(c, d, r, nil); err != nil {
			return err
		}
	}
	mean := time.Since(began) / time.Duration(calls)
	report("both audit records of a call, mean", "-", fmt.Sprintf("%.3f ms", float64(mean)/1e6), "<= 0.1 ms")
	return nil
}

// recordedCall is a call with everything a record of a command has.
func recordedCall() (durward.Call, durward.Decision, durward.Result) {
	code := 0
	c := durward.Call{
		Door: "exec", Caller: durward.Caller{Name: "local:1000"}, Tool: "exec", Path: "git",
		Argv: []string{"git", "log", "--oneline"}, Dir: "/home/user/project",
	}
	d := durward.Decision{
		Allow: true, Rule: "sandbox.mode", Where: durward.Position{File: "policy.yaml", Line: 3},
		PolicyHash: "sha256:0000000000000000000000000000000000000000000000000000000000000000",
		Grant:      durward.Grant{Mode: durward.DangerFullAccess, Limits: durward.DefaultLimits()},
	}
	guarantees := make(map[durward.Guarantee]durward.Held)
	for _, g := range durward.Guarantees() {
		guarantees[g] = durward.Held{Held: durward.HeldNone}
	}
	return c, d, durward.Result{
		Exit: &code, Took: 3 * time.Millisecond,
		Stdout: durward.Capture{Head: []byte("abc"), Total: 3, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		Report: &durward.Report{Mode: durward.DangerFullAccess, Guarantees: guarantees, End: durward.ReportEnd{Cause: durward.CauseExit}},
	}
}
