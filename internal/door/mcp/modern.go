package mcp

import (
	"context"

	"github.com/durward/durward/internal/mcpspec"
)

// ttlMs is how long a client may keep a list, in milliseconds.
const ttlMs = 60_000

// A mark is what results of the modern era begin with. The zero value is that of the
// era before.
type mark struct {
	ResultType string `json:"resultType,omitempty"`
}

// A listMark is the mark of a result that a client may keep.
type listMark struct {
	mark
	TTLMs      *int   `json:"ttlMs,omitempty"`
	CacheScope string `json:"cacheScope,omitempty"`
}

func (r request) mark() mark {
	if !r.meta.Modern {
		return mark{}
	}
	return mark{ResultType: "complete"}
}

func (r request) listMark() listMark {
	if !r.meta.Modern {
		return listMark{}
	}
	keep := ttlMs
	return listMark{mark: r.mark(), TTLMs: &keep, CacheScope: "private"}
}

// modern answers a request that says everything itself.
func (s *session) modern(ctx context.Context, r request) reply {
	if bad := r.meta.Complete(); bad != nil {
		return reply{bad: bad}
	}
	answer := s.shared(r)
	switch r.Method {
	case "server/discover":
		answer = s.discover
	case "subscriptions/listen":
		answer = s.subscribe
	}
	if answer == nil {
		return unknownMethod()
	}
	return answer(ctx, r)
}

func (s *session) discover(_ context.Context, r request) reply {
	m := r.listMark()
	return reply{result: struct {
		mark
		SupportedVersions []string     `json:"supportedVersions"`
		Capabilities      capabilities `json:"capabilities"`
		Instructions      string       `json:"instructions"`
		TTLMs             *int         `json:"ttlMs"`
		CacheScope        string       `json:"cacheScope"`
		Meta              any          `json:"_meta"`
	}{m.mark, mcpspec.Supported(), capabilitiesOf(r.surface), instructions(r.surface), m.TTLMs, m.CacheScope, map[string]serverInfo{mcpspec.MetaServerInfo: s.info()}}}
}
