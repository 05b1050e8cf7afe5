package seccomp

import "golang.org/x/sys/unix"

const (
	archName = "arm64"
	arch     = unix.AUDIT_ARCH_AARCH64
)

// Only amd64 has rules and calls of its own.
func archRules() []rule      { return nil }
func archRelics() []call     { return nil }
func archByArgument() []rule { return nil }
func archSetID() []rule      { return nil }
