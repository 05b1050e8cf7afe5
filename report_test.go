package durward_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
)

// TestHoldingIsWrittenLikeAnyMap compares the quick way with the usual one.
func TestHoldingIsWrittenLikeAnyMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHolding(t)
		quick, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		usual, err := json.Marshal(map[durward.Guarantee]durward.Held(h))
		if err != nil || string(quick) != string(usual) {
			t.Fatalf("got  %s\nwant %s, %v", quick, usual, err)
		}
	})
	if text, err := json.Marshal(durward.Holding(nil)); err != nil || string(text) != "null" {
		t.Errorf("none is %s, %v", text, err)
	}
}

// TestReportIsWrittenLikeAnyStruct compares the quick way with the usual one.
func TestReportIsWrittenLikeAnyStruct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := durward.Report{
			Mode: durward.Mode(rapid.String().Draw(t, "mode")), Level: rapid.Int().Draw(t, "level"), PolicyHash: rapid.String().Draw(t, "hash"),
			Identity:   durward.ReportIdentity{Inner: rapid.Uint32().Draw(t, "inner"), Host: rapid.Uint32().Draw(t, "host")},
			Guarantees: drawHolding(t), Weak: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "weak"), SetupUs: rapid.Int64().Draw(t, "setup"),
			End: durward.ReportEnd{
				Cause: durward.Cause(rapid.String().Draw(t, "cause")), KilledBy: rapid.Ptr(rapid.String(), true).Draw(t, "killed"),
				Survivors: rapid.Int().Draw(t, "survivors"),
			},
		}
		usual, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if quick := r.AppendJSON([]byte("before ")); string(quick) != "before "+string(usual) {
			t.Fatalf("got  %s\nwant %s", quick, usual)
		}
	})
}

func drawHolding(t *rapid.T) durward.Holding {
	return durward.Holding(rapid.MapOf(
		rapid.Custom(func(t *rapid.T) durward.Guarantee { return durward.Guarantee(rapid.String().Draw(t, "name")) }),
		rapid.Custom(func(t *rapid.T) durward.Held {
			return durward.Held{
				Held: durward.Holder(rapid.String().Draw(t, "held")), Mode: rapid.SampledFrom([]string{"", "none", "<&>"}).Draw(t, "mode"),
				By: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "by"),
			}
		}),
	).Draw(t, "holding"))
}
