package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/source/mcpservers"
)

// openMCP makes the surface for clients of MCP.
func (h *hubServer) openMCP() (err error) {
	var search hub.Searcher
	if h.config.Search {
		search = (&hubSearch{hub: h}).find
	}
	h.mcp, err = hub.NewMCP(hub.MCPOptions{
		Search: search, Begun: h.opening.wait,
		Runtime: h.runtime, Version: h.version, Expose: h.config.Expose, Show: h.shown, Metrics: h.metrics, Logger: h.logger,
		Tool: func(name string) (hub.Listed, json.RawMessage, bool) {
			e, ok := h.source.View().OfMCP(name)
			if !ok {
				return hub.Listed{}, nil, false
			}
			return listedOf(e), e.Input, true
		},
		Prompt: func(name string) (hub.Listed, string, bool) {
			e, ok := h.source.View().OfPrompt(name)
			if !ok {
				return hub.Listed{}, "", false
			}
			return listedOf(e), e.Original, true
		},
		Resource: func(uri string) (string, bool) { return h.source.View().OfResource(uri) },
		Knows: func(caller durward.Caller, id durward.ToolID) bool {
			tool, err := h.source.Find(context.Background(), id)
			return err == nil && h.policy.Allows(caller, tool)
		},
		Hears:    h.allowsAll,
		Timeout:  func(id durward.ToolID) time.Duration { return h.policy.Timeout(h.serverOf(id), 0) },
		SetLevel: h.setLevel,
	})
	return err
}

// setLevel has servers log from another level on, soon. It does not wait; the last one counts.
func (h *hubServer) setLevel(level string) {
	for {
		select {
		case h.levels <- level:
			return
		default:
		}
		select {
		case <-h.levels:
		default:
		}
	}
}

// listedOf is an entry as clients of MCP see it.
func listedOf(e *mcpservers.Entry) hub.Listed {
	return hub.Listed{Name: e.MCPName, ID: e.ID, Server: e.Server, Raw: e.Said.Raw}
}

// allowsAll reports whether a caller may know of everything.
func (h *hubServer) allowsAll(caller durward.Caller) bool {
	return h.policy.Allows(caller, durward.Tool{Spec: &hubconfig.Target{Method: hubconfig.ReadResource}})
}

// shown gives a list of what a caller may know.
func (h *hubServer) shown(kind string, caller durward.Caller) hub.Shown {
	v := h.source.View()
	switch kind {
	case "tools":
		return h.entries(v.Version, v.MCP, caller)
	case "prompts":
		return h.entries(v.PromptsVersion, v.Prompts, caller)
	}
	shown, list := hub.Shown{Version: v.ResourcesVersion}, v.Resources
	if kind != "resources" {
		list = v.Templates
	}
	if !h.allowsAll(caller) {
		return shown
	}
	for _, one := range list {
		shown.Items = append(shown.Items, hub.Listed{Server: one.Server, Raw: one.Raw})
	}
	return shown
}

func (h *hubServer) entries(version string, all []*mcpservers.Entry, caller durward.Caller) hub.Shown {
	shown := hub.Shown{Version: version}
	for _, e := range all {
		if h.policy.Allows(caller, e.Tool) {
			shown.Items = append(shown.Items, listedOf(e))
		}
	}
	return shown
}

// refresh asks for what servers have anew, and tells clients which lists are others. Before they know
// any there is nothing to tell.
func (h *hubServer) refresh() {
	known := h.opening.isKnown()
	before := h.source.View()
	h.source.Refresh()
	now := h.source.View()
	for _, list := range []struct {
		kind    string
		changed bool
	}{
		{"tools", now.Version != before.Version},
		{"prompts", now.PromptsVersion != before.PromptsVersion},
		{"resources", now.ResourcesVersion != before.ResourcesVersion},
	} {
		if list.changed && known {
			h.mcp.Changed(list.kind)
		}
	}
}

// tellLevels has servers log from the level on that clients want, until ctx ends.
func (h *hubServer) tellLevels(ctx context.Context) {
	for {
		select {
		case level := <-h.levels:
			h.engine.SetLevel(ctx, level)
		case <-ctx.Done():
			return
		}
	}
}
