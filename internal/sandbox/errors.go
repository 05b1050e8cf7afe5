package sandbox

import (
	"fmt"
	"syscall"
)

// A StepError says which step of a start failed, and with what. Nothing of the
// command has run when it is returned.
type StepError struct {
	// Step is the name of the call in the plan.
	Step  string
	Errno syscall.Errno
}

// Error gives "step: kernel's message".
func (e *StepError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Errno) }

// Unwrap gives the kernel's error number.
func (e *StepError) Unwrap() error { return e.Errno }
