package confined

import (
	"fmt"

	"github.com/durward/durward"
)

func unavailable(rule, hint, format string, args ...any) error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "confine files", Rule: rule, Hint: hint, Err: fmt.Errorf(format, args...),
	}
}

func refused(op string, reason durward.Reason, rule, hint string) error {
	return &durward.Error{Reason: reason, Op: op, Rule: rule, Hint: hint}
}

func closed(op string) error {
	return &durward.Error{Reason: durward.ShuttingDown, Op: op}
}
