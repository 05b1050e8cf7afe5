//go:build !linux && !darwin

package pathguard

import (
	"errors"

	"github.com/durward/durward"
)

// A walk goes nowhere on this system: files cannot be opened contained by descriptor.
type walk struct{}

func newWalk(lastLink) *walk { return &walk{} }

func (*walk) close() {}

func (*walk) remembered(string) bool { return false }

func (*walk) along(string) error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "path", Hint: "use Linux or macOS",
		Err: errors.New("paths cannot be followed by descriptor on this system"),
	}
}

func (*walk) end() end { return end{} }
