package durward

import (
	"errors"
	"fmt"
	"strings"
)

// A Detail is a cause that says in numbers what an error is about, for protocols that
// have members for them. It names an argument by its place and never holds its value.
// The zero value says nothing.
type Detail struct {
	// ArgIndex is the place, from 0, of the argument that was refused; nil for none. The
	// program or command id does not count.
	ArgIndex *int
	// Limit is what would have been permitted, and Actual what there was, both in the
	// unit of the limit. Zero means unknown.
	Limit, Actual int64
	// Members are what a protocol may tell a remote caller beside, by the names it has for
	// it. They hold nothing that the caller must not see, and are not changed.
	Members map[string]any
	// Err is the cause in words; it may be nil.
	Err error
}

// Error gives the cause in words, or the numbers where there are none.
func (d Detail) Error() string {
	if d.Err != nil {
		return d.Err.Error()
	}
	var says []string
	if d.ArgIndex != nil {
		says = append(says, fmt.Sprintf("argument %d", *d.ArgIndex))
	}
	if d.Limit != 0 {
		says = append(says, fmt.Sprintf("the limit is %d", d.Limit))
	}
	if d.Actual != 0 {
		says = append(says, fmt.Sprintf("there are %d", d.Actual))
	}
	return strings.Join(says, ", ")
}

// Unwrap gives the cause in words.
func (d Detail) Unwrap() error { return d.Err }

// DetailOf gives the outermost Detail in err's chain, or the zero value.
func DetailOf(err error) Detail {
	var d Detail
	if errors.As(err, &d) {
		return d
	}
	return Detail{}
}
