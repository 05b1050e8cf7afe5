package durward

import (
	"errors"
	"strconv"
)

// A Decision says whether a call may run, and with what rights.
type Decision struct {
	Allow bool
	// Rule names the one rule that decided: "sandbox.limits.wallMs", "default".
	Rule string
	// Code is the closed word of a denial; empty when Allow is true.
	Code Reason
	// Reason tells a person why; Remedy tells what to type or change.
	Reason, Remedy string
	// Detail says in numbers what a denial is about. Its Err is not looked at.
	Detail Detail
	// Where is the place of the rule in its document.
	Where Position
	// PolicyHash is "sha256:" and the digest of the policy that decided.
	PolicyHash string
	// Grant is the zero value unless Allow is true.
	Grant Grant
}

// Err gives the denial as an error of kind [Denied] (or the kind of its code), and
// nil for a decision that allows.
func (d Decision) Err(op string) error {
	if d.Allow {
		return nil
	}
	cause := d.Detail
	cause.Err = errors.New(d.Reason)
	return &Error{
		Kind: d.Code.Kind(), Reason: d.Code, Op: op, Rule: d.Rule, Where: d.Where,
		Hint: d.Remedy, Err: cause,
	}
}

// A Position is a place in a document. Line and Column count from 1; zero means
// unknown. The zero value is nowhere.
type Position struct {
	File         string
	Line, Column int
}

// String gives "file", "file:line" or "file:line:column", as far as known.
func (p Position) String() string {
	s := p.File
	for _, n := range []int{p.Line, p.Column} {
		if n == 0 {
			break
		}
		s += ":" + strconv.Itoa(n)
	}
	return s
}
