package durward

import (
	"errors"
	"testing"
)

func TestOutcomeOf(t *testing.T) {
	zero, one := 0, 1
	for _, test := range []struct {
		name   string
		result Result
		err    error
		want   Outcome
	}{
		{"no process", Result{}, nil, OutcomeOK},
		{"exit 0", Result{Exit: &zero}, nil, OutcomeOK},
		{"exit 1", Result{Exit: &one}, nil, OutcomeToolError},
		{"a signal", Result{Signal: 9}, nil, OutcomeToolError},
		{"the tool says it failed", Result{Exit: &zero, Failed: true}, nil, OutcomeToolError},
		{"denied", Result{}, &Error{Reason: LimitDenied}, OutcomeDenied},
		{"denied by a file's kind", Result{}, &Error{Reason: SymlinkTarget}, OutcomeDenied},
		{"timeout, though the command ended well", Result{Exit: &zero}, &Error{Kind: Timeout}, OutcomeTimeout},
		{"cancelled", Result{}, &Error{Kind: Cancelled}, OutcomeCancelled},
		{"too large", Result{}, &Error{Kind: TooLarge}, OutcomeToolError},
		{"a foreign error", Result{}, errors.New("?"), OutcomeToolError},
	} {
		if got := OutcomeOf(test.result, test.err); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestEveryKindHasAnOutcome(t *testing.T) {
	want := map[Kind]Outcome{Denied: OutcomeDenied, Timeout: OutcomeTimeout, Cancelled: OutcomeCancelled}
	for _, k := range Kinds() {
		if want[k] == "" {
			want[k] = OutcomeToolError
		}
		if got := OutcomeOf(Result{}, &Error{Kind: k}); got != want[k] {
			t.Errorf("%v ends as %s, want %s", k, got, want[k])
		}
	}
}
