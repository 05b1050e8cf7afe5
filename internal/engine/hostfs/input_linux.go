package hostfs

import (
	"errors"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fileuri"
	"github.com/durward/durward/internal/jsonx"
)

// read decodes the input.
func (r *request) read(into any) error {
	err := jsonx.Decode(r.call.Input, into, jsonx.Options{
		Limits: jsonx.Limits{Bytes: int64(len(r.call.Input))}, IgnoreUnknown: true, // the door has bounded it
	})
	if err == nil {
		return nil
	}
	return &durward.Error{Reason: durward.WrongType, Op: r.op, Hint: "see the method's parameters", Err: err}
}

// A named is a path that a client gave.
type named struct {
	text  string // as it was given
	path  string // absolute and clean
	asURI bool
}

// name reads a path that has to be there.
func (r *request) name(member string, text *string) (named, error) {
	if text == nil {
		return named{}, r.missing(member)
	}
	path, asURI, err := fileuri.Parse(*text)
	if err != nil {
		return named{}, err
	}
	return named{*text, path, asURI}, nil
}

func (r *request) missing(member string) error {
	return &durward.Error{Reason: durward.MissingField, Op: r.op, Hint: "see the method's parameters", Err: fmt.Errorf("%q is missing", member)}
}

// answer gives a path in the form in which the client gave this one.
func (n named) answer(path string) string {
	if n.asURI {
		return fileuri.Format(path)
	}
	return path
}

// orTrue gives what a member says, and true where it is left out.
func orTrue(member *bool) bool { return member == nil || *member }

// ranged refuses a number that is not within.
func (r *request) ranged(member string, n, least, most uint64) error {
	if n >= least && n <= most {
		return nil
	}
	return &durward.Error{Reason: durward.OutOfRange, Op: r.op, Hint: fmt.Sprintf("send %d to %d", least, most), Err: fmt.Errorf("%q is %d", member, n)}
}

// fixed is a refusal of ours, as opposed to one by the kernel.
func (r *request) refuse(reason durward.Reason, n named) error {
	return &durward.Error{Reason: reason, Op: r.op, Path: n.text, Err: fmt.Errorf("%q: %w", n.text, errors.New(reason.Summary()))}
}
