//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// gaps are what the rules of level 1 leave open.
type gaps struct {
	broken [12]bool // by the order of [durward.Guarantees]
	what   string   // a line each, for a report
}

// mostLines bounds what a report says of gaps.
const mostLines = 8

// networkGap begins the name of a gap that the filter of system calls cannot close.
const networkGap = "network "

// gapsOf keeps what the filter of system calls does not close: it lets no sockets be made
// that the rules could not judge.
func gapsOf(list []landlock.Gap) gaps {
	var g gaps
	var lines []string
	for _, gap := range list {
		open := slices.DeleteFunc(slices.Clone(gap.Breaks), func(b durward.Guarantee) bool {
			return b == durward.Unix || b == durward.IPC || b == durward.Net && !strings.HasPrefix(gap.What, networkGap)
		})
		for _, guarantee := range open {
			g.broken[slices.Index(durward.Guarantees(), guarantee)] = true
			lines = append(lines, string(guarantee)+": "+gap.What+" is not held at level 1")
		}
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("%d more of the policy's paths are not held at level 1", more))
	}
	g.what = strings.Join(lines, "\n")
	return g
}

func (g gaps) breaks(guarantee durward.Guarantee) bool {
	return g.broken[slices.Index(durward.Guarantees(), guarantee)]
}

// weak gives the lines.
func (g gaps) weak() []string {
	if g.what == "" {
		return nil
	}
	return strings.Split(g.what, "\n")
}

// because gives the first line, as the end of a sentence.
func (g gaps) because() string {
	if g.what == "" {
		return ""
	}
	return " (" + g.weak()[0] + ")"
}
