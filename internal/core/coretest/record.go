package coretest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A Record is one whole audit record, as JSON tells it.
type Record map[string]any

// The phases that a record of a call has.
const (
	PhaseIntent  = "intent"
	PhaseOutcome = "outcome"
	PhaseEvent   = "event"
	PhaseDeny    = "deny"
)

// A Book is a recorder with a way to read what it has written.
type Book struct {
	Recorder core.Recorder
	// Records gives all records so far, oldest first.
	Records func(t testing.TB) []Record
	// Break makes every later record impossible to write.
	Break func(t testing.TB)
}

// calls gives the records of calls and leaves out those a recorder makes for itself.
func (b Book) calls(t testing.TB) []Record {
	t.Helper()
	return callsOnly(b.Records(t))
}

func callsOnly(records []Record) []Record {
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		return !slices.Contains([]any{PhaseIntent, PhaseOutcome, PhaseDeny}, r["phase"])
	})
}

// phases lists the phases of records in their order.
func phases(records []Record) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = fmt.Sprint(r["phase"])
	}
	return out
}

// says reports whether the record has the member with that value.
func (r Record) says(member string, value any) bool {
	return fmt.Sprint(r[member]) == fmt.Sprint(value)
}

// denial is a decision as a recorder is given it.
func denial() durward.Decision {
	return durward.Decision{
		Rule: "limits.wallMs", Code: durward.LimitDenied, Reason: "more than the policy's limit", Remedy: "ask for less",
		Where: durward.Position{File: "policy.yaml", Line: 7, Column: 3}, PolicyHash: "sha256:0a",
	}
}

// permission is the same for a call that may run.
func permission() durward.Decision {
	return durward.Decision{Allow: true, Rule: "default", PolicyHash: "sha256:0a", Grant: durward.Grant{Limits: durward.DefaultLimits()}}
}
