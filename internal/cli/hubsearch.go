package cli

import (
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/source/mcpservers"
	"github.com/durward/durward/internal/toolsearch"
)

// A hubSearch searches the tools of a hub. It is safe for concurrent use.
type hubSearch struct {
	hub *hubServer

	mu    sync.Mutex
	of    *mcpservers.View  // guarded by mu; what index is of
	index *toolsearch.Index // guarded by mu
}

// find gives the tools that a caller may know and that fit best.
func (s *hubSearch) find(caller durward.Caller, query string, limit int) []hub.Listed {
	view, index := s.current()
	var found []hub.Listed
	may := func(entry int) bool { return s.hub.policy.Allows(caller, view.MCP[entry].Tool) }
	for _, match := range index.Find(query, limit, may) {
		found = append(found, listedOf(view.MCP[match.Entry]))
	}
	return found
}

// current gives what is offered now, with its index.
func (s *hubSearch) current() (*mcpservers.View, *toolsearch.Index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.hub.source.View(); s.of == nil || s.of.Version != now.Version {
		entries := make([]toolsearch.Entry, len(now.MCP))
		for i, e := range now.MCP {
			entries[i] = toolsearch.Entry{Name: e.MCPName, Title: e.Title, Description: e.Doc, Schema: e.Input}
		}
		s.of, s.index = now, toolsearch.New(entries)
	}
	return s.of, s.index
}
