package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// A Catalogue is a [Source] of tools that are known when the program is built.
// The zero value has none.
type Catalogue []durward.Tool

// Find gives the tool of that id.
func (l Catalogue) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	for _, t := range l {
		if t.ID == id {
			return t, nil
		}
	}
	return durward.Tool{}, &durward.Error{
		Reason: durward.ToolNotFound, Op: "find",
		Hint: "ask for the list of tools", Err: fmt.Errorf("no tool %q", id),
	}
}

// Tools lists the tools, sorted by id.
func (l Catalogue) Tools(context.Context) ([]durward.Tool, error) {
	sorted := slices.Clone(l)
	slices.SortFunc(sorted, func(a, b durward.Tool) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return sorted, nil
}
