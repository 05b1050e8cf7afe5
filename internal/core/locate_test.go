package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A placed policy knows where everything was written.
type placed struct{ core.Policy }

func (placed) Locate(rule string) (string, durward.Position) {
	if rule == "unknown" {
		return rule, durward.Position{}
	}
	return "sandbox." + rule, durward.Position{File: "p.yaml", Line: 3, Column: 9}
}

// TestAProtectionThatCannotBeHadNamesWhoAskedForIt asks it of the core's own refusal
// and of an engine's.
func TestAProtectionThatCannotBeHadNamesWhoAskedForIt(t *testing.T) {
	unavailable := func(rule string) error {
		return &durward.Error{Reason: durward.SandboxUnavailable, Op: "sandbox", Rule: rule, Err: errors.New("no")}
	}
	for _, test := range []struct {
		name        string
		grant       durward.Grant
		prepare     error
		rule, where string
	}{
		{"by the core", durward.Grant{Mode: durward.ReadOnly}, nil, "sandbox.files", "p.yaml:3"},
		{"by the engine", durward.Grant{}, unavailable("require"), "sandbox.require", "p.yaml:3"},
		{"asked for by the call", durward.Grant{}, unavailable("unknown"), "unknown", ""},
	} {
		r := newRoad()
		r.Holds = []durward.GrantField{durward.FieldLimits}
		r.decide = func(durward.Call) durward.Decision { return allowed(test.grant) }
		r.OnPrepare = func(context.Context, durward.Call) error { return test.prepare }
		runtime := r.runtime(t, func(o *core.Options) { o.Policy = placed{r} })
		_, err := runtime.Do(t.Context(), command("x"))
		checkKind(t, err, durward.Unavailable)
		checkRecord(t, r.last(t), map[string]any{"phase": "deny", "rule": test.rule, "code": string(durward.SandboxUnavailable)})
		if where, _ := r.last(t)["where"].(string); where != test.where {
			t.Errorf("%s: the record says where: %q, want %q", test.name, where, test.where)
		}
	}
}
