package domain

import (
	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// Join makes one domain of both documents, and finds what only both together show. Either may
// be nil, or have mistakes of its own. id is what the domain must be called; empty asks for
// nothing. The domain is complete once its tools have their schemas and it has its hashes; it
// is of no use where there are problems, in Join or before.
func Join(m *Manifest, p *PolicyFile, id string) (*Domain, config.Problems) {
	if m == nil || p == nil {
		return nil, nil
	}
	var found config.Problems
	if m.ID != "" && id != "" && m.ID != id {
		found.Add(m.IDWhere, "domain_id: is %q, and DOMAIN_ID asks for %q", m.ID, id)
	}
	byID := make(map[string]*Tool, len(m.Tools))
	for _, t := range m.Tools {
		byID[string(t.ID)], t.DomainID = t, m.ID
		if t.TimeoutRule == "" {
			t.Timeout, t.TimeoutRule, t.TimeoutWhere = p.DefaultTimeout, timeoutRule, p.TimeoutWhere
		}
	}
	for _, limit := range p.perTool {
		if t, ok := byID[limit.tool]; ok && limit.tool != "" {
			t.MaxInflight = limit.most
			continue
		}
		found.Add(limit.where, "concurrency.per_tool_max_inflight: the manifest has no tool %q%s", limit.tool, config.DidYouMean(limit.tool, m.ids))
	}
	return &Domain{ID: m.ID, Version: m.Version, Tools: m.Tools, Policies: p.Policies}, found
}

// rule names what gives the tool its timeout, or the tool where nobody wrote one.
func (t *Tool) rule() (string, durward.Position) {
	if t.TimeoutWhere == (durward.Position{}) {
		return t.Place, t.Where
	}
	return t.TimeoutRule, t.TimeoutWhere
}
