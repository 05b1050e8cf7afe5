package mcp

import (
	"context"
	"strings"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// legacy answers a request of the era with a handshake.
func (s *session) legacy(ctx context.Context, r request) reply {
	switch r.Method {
	case "ping":
		return reply{result: struct{}{}}
	case "initialize":
		return s.initialize(r)
	}
	answer := s.shared(r)
	if r.Method == "logging/setLevel" {
		answer = s.setLevel
	}
	switch {
	case answer == nil:
		return unknownMethod()
	case s.version == "":
		return refuse(jsonrpc.InvalidRequest, "initialize comes first, or the _meta of "+mcpspec.Modern)
	}
	return answer(ctx, r)
}

type capabilities struct {
	Tools     listCapability `json:"tools"`
	Logging   struct{}       `json:"logging"`
	Resources *struct{}      `json:"resources,omitempty"`
}

type listCapability struct {
	ListChanged bool `json:"listChanged"`
}

func capabilitiesOf(s Surface) capabilities {
	c := capabilities{Tools: listCapability{ListChanged: true}}
	if s.Resources {
		c.Resources = new(struct{})
	}
	return c
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Title   string `json:"title"`
}

func (s *session) info() serverInfo {
	return serverInfo{Name: "durward", Version: s.Version, Title: "durward"}
}

// initialize agrees on a revision: the one asked for if it has a handshake and is known,
// else the newest of those. What was agreed on holds for the whole stream.
func (s *session) initialize(r request) reply {
	version, ok := jsonx.Text(r.params.protocolVersion)
	client, known := mcpspec.ClientOf(r.params.clientInfo)
	switch {
	case r.batched:
		return refuse(jsonrpc.InvalidRequest, "initialize cannot stand in a batch")
	case s.version != "":
		return refuse(jsonrpc.InvalidRequest, "initialize was answered before: "+s.version+" holds")
	case !ok:
		return refuse(jsonrpc.InvalidParams, "protocolVersion is missing or no string")
	case !known:
		return refuse(jsonrpc.InvalidParams, "clientInfo is not an object of a name and a version")
	}
	version = mcpspec.Agree(version)
	s.version, s.client = version, client
	return reply{result: struct {
		ProtocolVersion string       `json:"protocolVersion"`
		Capabilities    capabilities `json:"capabilities"`
		ServerInfo      serverInfo   `json:"serverInfo"`
		Instructions    string       `json:"instructions"`
	}{version, capabilitiesOf(r.surface), s.info(), instructions(r.surface)}}
}

// instructions tell a model what there is, and what a refusal means.
func instructions(s Surface) string {
	if s.Folder {
		return "The files of one folder are listed, read and written."
	}
	commands := "No command is allowed."
	if ids := s.ids(); len(ids) > 0 {
		commands = "Commands: " + strings.Join(ids, ", ") + "."
	}
	return "Files are read and written, and commands run, under a policy. " + commands +
		" POLICY_DENY is a decision and no fault: do something else, or ask the person to change the policy."
}
