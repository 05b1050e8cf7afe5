package domain

import (
	"encoding/json"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// A Policy decides the calls of a domain. It is pure and safe for concurrent use.
type Policy struct {
	domain *Domain
	egress EgressHook
}

// An EgressHook is asked about every call before it runs, and gives nil where there is nothing
// against it. It is pure and safe for concurrent use.
type EgressHook func(EgressCheck) *EgressRefusal

// An EgressCheck is what a hook is told.
type EgressCheck struct {
	ToolID durward.ToolID
	// EgressAllowlist holds canonical entries.
	EgressAllowlist []string
	// DefaultEgressPolicy is "deny" or "allow".
	DefaultEgressPolicy string
	// Input is the caller's.
	Input json.RawMessage
}

// An EgressRefusal says which host the tool's worker may not reach.
type EgressRefusal struct {
	Host string
	Port uint16
	// Reason is told in the log and to who asks beforehand, and Remedy beside it.
	Reason, Remedy string
}

// NewPolicy makes the policy of a domain with the stock hook.
func NewPolicy(d *Domain) *Policy { return NewPolicyWith(d, UpstreamsWithinEgress(d)) }

// NewPolicyWith makes the policy of a domain with a hook of its own.
func NewPolicyWith(d *Domain, hook EgressHook) *Policy { return &Policy{domain: d, egress: hook} }

// UpstreamsWithinEgress is the stock hook. Where the domain denies egress by default, a tool is
// refused whose worker says that it calls what the tool's list does not hold. Whatever host the
// input names is not for it: the worker's upstream goes there, and not the worker.
func UpstreamsWithinEgress(d *Domain) EgressHook {
	refused := map[durward.ToolID]*EgressRefusal{}
	for _, t := range d.Tools {
		for _, to := range t.Upstreams {
			if _, covered := t.Egress.Match(to.Host, to.Port); !covered {
				refused[t.ID] = &EgressRefusal{
					Host: string(to.Host), Port: to.Port,
					Reason: fmt.Sprintf("the worker of %s calls %s, which its egress_allowlist does not hold", t.ID, to),
					Remedy: fmt.Sprintf("add %q to egress_allowlist of %s", to, t.ID),
				}
				break
			}
		}
	}
	return func(c EgressCheck) *EgressRefusal {
		if c.DefaultEgressPolicy != egressWord(true) {
			return nil
		}
		return refused[c.ToolID]
	}
}

func egressWord(deny bool) string {
	if deny {
		return "deny"
	}
	return "allow"
}

// egressRule names the rule by which a hook refuses.
const egressRule = "egress"

// Decide tells whether a call may run. A call may ask for less time, and gets no more than the
// tool has if it asks for more.
func (p *Policy) Decide(c durward.Call, t durward.Tool) durward.Decision {
	d := p.decide(c, t)
	d.PolicyHash = p.domain.Hash
	return d
}

func (p *Policy) decide(c durward.Call, t durward.Tool) durward.Decision {
	tool, ok := t.Spec.(*Tool)
	if !ok {
		return durward.Decision{Code: durward.Defect, Reason: fmt.Sprintf("the tool %q is none of the domain", t.ID)}
	}
	if a := c.Ask; a.Mode != "" || a.Network != "" || a.MinLevel != durward.LevelAuto || a.Confinement != nil {
		return durward.Decision{
			Code: durward.BadCall, Rule: "call.ask", Reason: "a worker runs elsewhere: it can be given less time, and nothing else",
			Remedy: "ask for a shorter time alone",
		}
	}
	if refused := p.egress(p.check(tool, c)); refused != nil {
		return durward.Decision{
			Code: durward.EgressDenied, Rule: egressRule, Where: tool.EgressWhere, Reason: refused.Reason, Remedy: refused.Remedy,
			Detail: durward.Detail{Members: map[string]any{"rule": egressRule, "host": refused.Host, "port": refused.Port}},
		}
	}
	d := durward.Decision{Allow: true, Reason: "the manifest has the tool", Grant: p.grant(tool, c.Ask.Limits)}
	d.Rule, d.Where = tool.rule()
	return d
}

func (p *Policy) check(t *Tool, c durward.Call) EgressCheck {
	return EgressCheck{
		ToolID: t.ID, EgressAllowlist: t.Egress.Entries(),
		DefaultEgressPolicy: egressWord(p.domain.Policies.DenyEgress), Input: c.Input,
	}
}

// grant gives a call the tool's time and the size of a reply. What confines the worker is for
// whoever runs it.
func (p *Policy) grant(t *Tool, ask durward.Limits) durward.Grant {
	most := durward.Limits{
		Wall: t.Timeout, Output: p.domain.Policies.MaxResponseBytes, OutputHard: durward.Unlimited,
		CPU: durward.Unlimited, Memory: durward.Unlimited, Pids: durward.Unlimited, OpenFiles: durward.Unlimited,
		FileSize: durward.Unlimited, Tmp: durward.Unlimited, Stdin: durward.Unlimited,
	}
	return durward.Grant{
		Mode: durward.External, Level: durward.LevelNone, Identity: durward.Identity{Keep: true},
		Limits: policy.NarrowLimits(most, ask), Keep: durward.KeepRefuse,
	}
}
