package domain

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

func specOf(d *Domain, i int) durward.Tool { return durward.Tool{ID: d.Tools[i].ID, Spec: d.Tools[i]} }

func TestDecide(t *testing.T) {
	d := mustJoin(t, sampleManifest, samplePolicies)
	d.Hash = "sha256:x"
	got := NewPolicy(d).Decide(durward.Call{Input: json.RawMessage(`{}`)}, specOf(d, 0))
	if !got.Allow || got.Rule != "tools[0].timeout_sec" || got.Where.String() != "m:11" || got.PolicyHash != "sha256:x" || got.Grant.Keep != durward.KeepRefuse {
		t.Errorf("%+v", got)
	}
	if l := got.Grant.Limits; l.Wall != time.Minute || l.Output != 16<<20 || l.WithDefaults() != got.Grant.Limits.WithDefaults() {
		t.Errorf("%+v", l)
	}
	if asks := got.Grant.Asks(); !slices.Equal(asks, []durward.GrantField{durward.FieldLimits}) {
		t.Errorf("the grant asks for %q", asks)
	}
}

func TestTheRuleIsWhatGivesTheTimeout(t *testing.T) {
	for policies, want := range map[string]string{"": "tools[0] m:4", "timeouts:\n  default_tool_timeout_sec: 5\n": "timeouts.default_tool_timeout_sec p:2"} {
		d := mustJoin(t, tool(), policies)
		got := NewPolicy(d).Decide(durward.Call{}, specOf(d, 0))
		if rule := got.Rule + " " + got.Where.String(); rule != want {
			t.Errorf("%q; want %q", rule, want)
		}
	}
}

func TestACallerCanOnlyShorten(t *testing.T) {
	d := mustJoin(t, tool("timeout_sec: 10"), "")
	p := NewPolicy(d)
	for ask, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Second: time.Second, time.Hour: 10 * time.Second, -1: 10 * time.Second} {
		got := p.Decide(durward.Call{Ask: durward.Ask{Limits: durward.Limits{Wall: ask, Output: int64(ask)}}}, specOf(d, 0))
		if !got.Allow || got.Grant.Limits.Wall != want || got.Grant.Limits.Output > 16<<20 || got.Grant.Limits.Output < 1 {
			t.Errorf("%s: %+v", ask, got)
		}
	}
	for _, ask := range []durward.Ask{{Mode: durward.ReadOnly}, {Network: durward.NetNone}, {MinLevel: durward.LevelNone}, {Confinement: &durward.Confinement{}}} {
		if got := p.Decide(durward.Call{Ask: ask}, specOf(d, 0)); got.Allow || got.Code != durward.BadCall {
			t.Errorf("%+v: %+v", ask, got)
		}
	}
	if got := p.Decide(durward.Call{}, durward.Tool{ID: "else"}); got.Allow || got.Code != durward.Defect {
		t.Errorf("%+v", got)
	}
}

func TestUpstreamsMustBeCovered(t *testing.T) {
	for _, test := range []struct {
		name, policies string
		lines          []string
		host           string // that is refused
		port           uint16
	}{
		{"no upstreams", "", []string{"egress_allowlist: []"}, "", 0},
		{"nothing at all", "", nil, "", 0},
		{"covered", "", []string{"egress_allowlist: ['a.b:443']", "upstreams: ['A.b.:443']"}, "", 0},
		{"covered by those below", "", []string{"egress_allowlist: ['*.b:443']", "upstreams: ['a.b:443']"}, "", 0},
		{"not itself", "", []string{"egress_allowlist: ['*.b:443']", "upstreams: ['b:443']"}, "b", 443},
		{"another port", "", []string{"egress_allowlist: ['a.b:443']", "upstreams: ['a.b:443', 'a.b:80']"}, "a.b", 80},
		{"no list", "", []string{"upstreams: ['a.b:443']"}, "a.b", 443},
		{"allowed by default", "network: {default_egress_policy: allow}", []string{"upstreams: ['a.b:443']"}, "", 0},
	} {
		d := mustJoin(t, tool(test.lines...), test.policies)
		got := NewPolicy(d).Decide(durward.Call{Input: json.RawMessage(`{"url": "https://elsewhere.example"}`)}, specOf(d, 0))
		if got.Allow != (test.host == "") {
			t.Errorf("%s: %+v", test.name, got)
			continue
		}
		if got.Allow {
			continue
		}
		want := map[string]any{"rule": "egress", "host": test.host, "port": test.port}
		if diff := cmp.Diff(want, got.Detail.Members); diff != "" || got.Code != durward.EgressDenied || got.Rule != "egress" || durward.KindOf(got.Err("decide")) != durward.Denied {
			t.Errorf("%s: %+v %s", test.name, got, diff)
		}
		if got.Where.Line < 4 || !strings.Contains(got.Remedy, test.host) || strings.Contains(got.Reason, "elsewhere") {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestAHookIsToldWhatItNeeds(t *testing.T) {
	d := mustJoin(t, tool("egress_allowlist: ['A.b:443']"), "")
	var told EgressCheck
	p := NewPolicyWith(d, func(c EgressCheck) *EgressRefusal {
		told = c
		return &EgressRefusal{Host: "h", Port: 1, Reason: "no", Remedy: "do"}
	})
	got := p.Decide(durward.Call{Input: json.RawMessage(`{"a":1}`)}, specOf(d, 0))
	want := EgressCheck{ToolID: "a.b", EgressAllowlist: []string{"a.b:443"}, DefaultEgressPolicy: "deny", Input: json.RawMessage(`{"a":1}`)}
	if diff := cmp.Diff(want, told); diff != "" || got.Allow || got.Reason != "no" || got.Remedy != "do" || got.Where.String() != "m:7" {
		t.Errorf("%+v %s", got, diff)
	}
}
