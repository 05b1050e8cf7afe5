package durward

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPositionString(t *testing.T) {
	for _, test := range []struct {
		at   Position
		want string
	}{
		{Position{}, ""},
		{Position{File: "policy.yaml"}, "policy.yaml"},
		{Position{File: "policy.yaml", Line: 14}, "policy.yaml:14"},
		{Position{File: "policy.yaml", Line: 14, Column: 5}, "policy.yaml:14:5"},
		{Position{File: "policy.yaml", Column: 5}, "policy.yaml"},
	} {
		if got := test.at.String(); got != test.want {
			t.Errorf("%#v is %q, want %q", test.at, got, test.want)
		}
	}
}

func TestDecisionErr(t *testing.T) {
	if err := (Decision{Allow: true, Rule: "default"}).Err("core.decide"); err != nil {
		t.Errorf("an allowed call fails: %v", err)
	}
	denied := Decision{
		Rule: "sandbox.limits.wallMs", Code: LimitDenied, Reason: "60 s is over the limit of 30 s",
		Remedy: "ask for less", Where: Position{File: "policy.yaml", Line: 3},
	}
	want := &Error{
		Kind: Denied, Reason: LimitDenied, Op: "core.decide", Rule: "sandbox.limits.wallMs",
		Where: Position{File: "policy.yaml", Line: 3}, Hint: "ask for less",
	}
	var got *Error
	if !errors.As(denied.Err("core.decide"), &got) {
		t.Fatal("a denial gives no *Error")
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Error{}, "Err")); diff != "" {
		t.Error(diff)
	}
	if got, want := got.Error(), "core.decide: 60 s is over the limit of 30 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
