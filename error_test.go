package durward

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("cause")
	for _, test := range []struct {
		name string
		err  *Error
		want string
	}{
		{"a cause", &Error{Reason: FileNotFound, Op: "file.read", Err: cause}, "file.read: cause"},
		{"no cause", &Error{Reason: FileNotFound, Op: "file.read"}, "file.read: no such file or directory"},
		{"no operation", &Error{Reason: FileNotFound}, "no such file or directory"},
		{"a kind alone", &Error{Kind: Busy, Op: "core.admit"}, "core.admit: busy"},
		{"nothing", &Error{}, "internal"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestKindOfAndReasonOf(t *testing.T) {
	inner := &Error{Reason: SymlinkTarget}
	for _, test := range []struct {
		name   string
		err    error
		kind   Kind
		reason Reason
	}{
		{"nil", nil, 0, ""},
		{"a foreign error", fs.ErrNotExist, Internal, ""},
		{"the kind of the reason", inner, Denied, SymlinkTarget},
		{"a kind beside the reason", &Error{Kind: Conflict, Reason: SymlinkTarget}, Conflict, SymlinkTarget},
		{"neither", &Error{Err: fs.ErrNotExist}, Internal, ""},
		{"a word outside the set", &Error{Reason: "made_up"}, Internal, "made_up"},
		{"wrapped in text", fmt.Errorf("while reading: %w", inner), Denied, SymlinkTarget},
		{"the outer reason wins", &Error{Reason: Defect, Err: inner}, Internal, Defect},
		{"the inner reason counts when the outer has none", &Error{Kind: Upstream, Err: inner}, Upstream, SymlinkTarget},
		{"joined", errors.Join(fs.ErrNotExist, inner), Denied, SymlinkTarget},
	} {
		if got := KindOf(test.err); got != test.kind {
			t.Errorf("%s: kind %v, want %v", test.name, got, test.kind)
		}
		if got := ReasonOf(test.err); got != test.reason {
			t.Errorf("%s: reason %q, want %q", test.name, got, test.reason)
		}
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	err := fmt.Errorf("call: %w", &Error{Kind: Cancelled, Err: context.Canceled})
	if !errors.Is(err, context.Canceled) {
		t.Error("the cause is not found")
	}
}
