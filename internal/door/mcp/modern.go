package mcp

import (
	"context"
	"slices"

	"github.com/durward/durward/internal/jsonrpc"
)

// modernVersion is the revision without a handshake.
const modernVersion = "2026-07-28"

// codeVersion is the error for a revision that is not known.
const codeVersion = -32022

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
	if !r.meta.modern {
		return mark{}
	}
	return mark{ResultType: "complete"}
}

func (r request) listMark() listMark {
	if !r.meta.modern {
		return listMark{}
	}
	keep := ttlMs
	return listMark{mark: r.mark(), TTLMs: &keep, CacheScope: "private"}
}

// modern answers a request that says everything itself.
func (s *session) modern(ctx context.Context, r request) reply {
	switch {
	case r.meta.version == "":
		return refuse(jsonrpc.InvalidParams, metaVersion+" is missing")
	case !r.meta.capabilities:
		return refuse(jsonrpc.InvalidParams, metaCapabilities+" is missing")
	case r.meta.version != modernVersion:
		return unsupported(r.meta.version)
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

func supportedVersions() []string { return slices.Insert(legacyVersions(), 0, modernVersion) }

func unsupported(version string) reply {
	data, _ := encode(struct { // strings are never refused
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{supportedVersions(), version})
	return reply{bad: &jsonrpc.Error{Code: codeVersion, Message: "the protocol version is not supported", Data: data}}
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
	}{m.mark, supportedVersions(), capabilitiesOf(r.surface), instructions(r.surface), m.TTLMs, m.CacheScope, map[string]serverInfo{metaServerInfo: s.info()}}}
}
