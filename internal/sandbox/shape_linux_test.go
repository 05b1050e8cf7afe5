//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// Whatever is required is still required, each once, after it went through a key.
func TestNeedsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) durward.Requirement {
			return durward.Requirement{
				Guarantee: rapid.SampledFrom(durward.Guarantees()).Draw(t, "guarantee"),
				Kernel:    rapid.Bool().Draw(t, "kernel"), Firm: rapid.Bool().Draw(t, "firm"),
			}
		})).Draw(t, "list")
		n, err := needsOf(list)
		if err != nil {
			t.Fatal(err)
		}
		got := n.list()
		for _, q := range list {
			if !slices.Contains(got, q) {
				t.Fatalf("%+v is lost: %+v", q, got)
			}
		}
		for i, q := range got {
			if !slices.Contains(list, q) || slices.Contains(got[:i], q) {
				t.Fatalf("%+v was not asked for, or is there twice: %+v", q, got)
			}
		}
	})
	if len(durward.Guarantees()) != len(needs{}) {
		t.Fatal("there are guarantees that nobody can require")
	}
	if _, err := needsOf([]durward.Requirement{{Guarantee: "peace"}}); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Fatalf("an unknown guarantee: %v", err)
	}
}

// A plan that is remembered is the plan of its shape, and what a call puts into its copy
// is not another's.
func TestCallsOfOneShapeHaveOnePlan(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		first := r.compile(t)
		r.request.Argv = []string{"other"}
		second := r.compile(t)
		r.request.Argv = []string{"third"}
		r.request.Grant.Limits.OpenFiles = 77
		third := r.compile(t)
		r.host.plans = &plans{}
		if fresh := r.compile(t); fresh.String() != third.String() {
			t.Fatalf("remembered:\n%s\nfresh:\n%s", third, fresh)
		}
		if third.String() == second.String() {
			t.Fatal("two limits, one plan")
		}
		if first.argv[0] != "touch" || second.argv[0] != "other" {
			t.Fatalf("%q, %q", first.argv, second.argv)
		}
		if !first.direct {
			return
		}
		last := len(first.Command) - 1
		if a, b := first.Command[last].String(), second.Command[last].String(); a == b {
			t.Fatalf("both run %s", a)
		}
	})
}

func TestPlansAreBounded(t *testing.T) {
	r := newTrial(t, Probe())
	r.host.plans = &plans{}
	for n := range int64(3 * mostPlans) {
		r.request.Grant.Limits.OpenFiles = 100 + n
		r.compile(t)
	}
	if n := len(r.host.plans.known); n > mostPlans {
		t.Fatalf("%d plans are kept", n)
	}
}
