// Package manifest offers the tools of a domain package, which workers behind HTTP carry out:
//
//	manifest.yaml    which tools there are, and who does their work
//	policies.yaml    limits of all of them
//	schemas/*.json   what they take and give
//
// [Load] reads a package and finds every mistake in it, [New] makes a source of what was read.
package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/domain"
)

// Engine is the engine that the tools name. Their Spec is a *[domain.Tool].
const Engine = "worker"

// A Source is a [core.Source] and a [core.Binder]. It never changes and is safe for concurrent
// use.
type Source struct {
	tools []durward.Tool // sorted by id
	byID  map[durward.ToolID]durward.Tool
}

// New makes a source of the tools of a domain.
func New(d *domain.Domain) *Source {
	s := &Source{byID: make(map[durward.ToolID]durward.Tool, len(d.Tools))}
	for _, t := range d.Tools {
		tool := toolOf(t)
		s.tools = append(s.tools, tool)
		s.byID[t.ID] = tool
	}
	slices.SortFunc(s.tools, func(a, b durward.Tool) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return s
}

func toolOf(t *domain.Tool) durward.Tool {
	return durward.Tool{
		ID: t.ID, Title: t.DisplayName, Doc: t.Description, Input: t.Input.Document(), Output: t.Output.Document(),
		Engine: Engine, Spec: t, Concurrent: t.MaxInflight,
	}
}

// Find gives the tool of that id.
func (s *Source) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	if t, ok := s.byID[id]; ok {
		return t, nil
	}
	return durward.Tool{}, &durward.Error{
		Reason: durward.ToolNotFound, Op: "find", Hint: "ask for the list of tools", Err: fmt.Errorf("the manifest has no tool %q", id),
	}
}

// Tools lists the tools, sorted by id.
func (s *Source) Tools(context.Context) ([]durward.Tool, error) { return slices.Clone(s.tools), nil }

// Bind refuses an input that does not fit the tool's schema, as [schema.Schema.Judge] does. What
// fits is given as it is.
func (s *Source) Bind(_ context.Context, t durward.Tool, c durward.Call) (json.RawMessage, error) {
	tool, ok := t.Spec.(*domain.Tool)
	if !ok {
		return nil, fmt.Errorf("the tool %q is none of a manifest", t.ID)
	}
	return c.Input, tool.Input.Judge(c.Input)
}

var (
	_ core.Source = (*Source)(nil)
	_ core.Binder = (*Source)(nil)
)
