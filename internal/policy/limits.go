package policy

import (
	"time"

	"github.com/durward/durward"
)

// A limitRow is what there is to know about one limit.
type limitRow struct {
	name string
	of   func(*durward.Limits) *int64
	unit int64 // of the document, in the unit of the field
	max  int64 // in the unit of the document
}

const (
	ms = int64(time.Millisecond)
	// maxMs is a leap year, and maxCount the last integer that every JSON reader knows.
	maxMs    = int64(366*24*time.Hour) / ms
	maxCount = 1<<53 - 1
)

// limitRows lists the limits in the order of a document.
var limitRows = [...]limitRow{
	{"limits.wallMs", func(l *durward.Limits) *int64 { return (*int64)(&l.Wall) }, ms, maxMs},
	{"limits.graceMs", func(l *durward.Limits) *int64 { return (*int64)(&l.Grace) }, ms, maxMs},
	{"limits.cpuMs", func(l *durward.Limits) *int64 { return (*int64)(&l.CPU) }, ms, maxMs},
	{"limits.memoryBytes", func(l *durward.Limits) *int64 { return &l.Memory }, 1, maxCount},
	{"limits.addressSpaceBytes", func(l *durward.Limits) *int64 { return &l.AddressSpace }, 1, maxCount},
	{"limits.pids", func(l *durward.Limits) *int64 { return &l.Pids }, 1, maxCount},
	{"limits.openFiles", func(l *durward.Limits) *int64 { return &l.OpenFiles }, 1, maxCount},
	{"limits.fileSizeBytes", func(l *durward.Limits) *int64 { return &l.FileSize }, 1, maxCount},
	{"limits.tmpBytes", func(l *durward.Limits) *int64 { return &l.Tmp }, 1, maxCount},
	{"limits.stdinBytes", func(l *durward.Limits) *int64 { return &l.Stdin }, 1, maxCount},
	{"limits.outputBytes", func(l *durward.Limits) *int64 { return &l.Output }, 1, maxCount},
	{"limits.outputHardBytes", func(l *durward.Limits) *int64 { return &l.OutputHard }, 1, maxCount},
}

// exceeds reports whether limit a lets more pass than limit b. A limit of zero, which
// only the address space may have, bounds nothing.
func exceeds(a, b int64) bool {
	switch {
	case b <= 0:
		return false
	case a <= 0:
		return true
	}
	return a > b
}

// NarrowLimits gives the stricter value of each limit.
func NarrowLimits(a, b durward.Limits) durward.Limits {
	for _, row := range limitRows {
		if into, other := row.of(&a), row.of(&b); exceeds(*into, *other) {
			*into = *other
		}
	}
	return a
}
