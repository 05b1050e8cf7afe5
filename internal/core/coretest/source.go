package coretest

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// Source holds a source to the rules of [core.Source]. The source offers at least one
// tool.
func Source(t *testing.T, fresh func(t *testing.T) core.Source) {
	holdAll(t, fresh, sourceRules)
}

var sourceRules = []rule[core.Source]{
	{"tools are sorted by id without repeats", func(t testing.TB, s core.Source) {
		tools := list(t, s)
		if len(tools) == 0 {
			t.Fatal("the source offers nothing to look at")
		}
		if !slices.IsSortedFunc(tools, byID) || len(slices.CompactFunc(slices.Clone(tools), sameID)) != len(tools) {
			t.Errorf("the tools are listed as %q", ids(tools))
		}
	}},
	{"every listed tool is found and is the same", func(t testing.TB, s core.Source) {
		for _, tool := range list(t, s) {
			found, err := s.Find(within(t), tool.ID)
			if err != nil {
				t.Errorf("Find(%q): %v", tool.ID, err)
			}
			if !reflect.DeepEqual(tool, found) {
				t.Errorf("Find(%q) = %+v; it is listed as %+v", tool.ID, found, tool)
			}
		}
	}},
	{"every other id is not found", func(t testing.TB, s core.Source) {
		tools := list(t, s)
		for _, id := range strangers(string(tools[0].ID), tools) {
			tool, err := s.Find(within(t), id)
			if durward.KindOf(err) != durward.NotFound || durward.ReasonOf(err) != durward.ToolNotFound {
				t.Errorf("Find(%q) = %q, %v; want %s", id, tool.ID, err, durward.ToolNotFound)
			}
		}
	}},
	{"a caller's copy of the list is its own", func(t testing.TB, s core.Source) {
		first := list(t, s)
		clear(first)
		if again := list(t, s); len(again) != len(first) || again[0].ID == "" {
			t.Errorf("after a caller changed its list the source offers %q", ids(again))
		}
	}},
	{"it answers many at once", func(t testing.TB, s core.Source) {
		want := list(t, s)
		var callers sync.WaitGroup
		for i := range 32 {
			callers.Go(func() {
				tool, err := s.Find(context.Background(), want[i%len(want)].ID)
				if err != nil || tool.ID != want[i%len(want)].ID {
					t.Errorf("Find among others = %q, %v", tool.ID, err)
				}
				if tools, err := s.Tools(context.Background()); err != nil || len(tools) != len(want) {
					t.Errorf("Tools among others gives %d tools, %v", len(tools), err)
				}
			})
		}
		soon(t, "32 callers", callers.Wait)
	}},
	{"an ended context does not hang it", func(t testing.TB, s core.Source) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		soon(t, "a source with an ended context", func() {
			_, _ = s.Find(ctx, "no such tool")
			_, _ = s.Tools(ctx)
		})
	}},
}

// strangers lists ids close to one that exists, none of which is listed.
func strangers(id string, tools []durward.Tool) []durward.ToolID {
	var out []durward.ToolID
	for _, near := range []string{
		"", " " + id, id + " ", id + "\x00", id + "/", "../" + id, strings.ToUpper(id), strings.ToLower(id), id + id, "\xff", "no such tool",
	} {
		if !slices.ContainsFunc(tools, func(t durward.Tool) bool { return t.ID == durward.ToolID(near) }) {
			out = append(out, durward.ToolID(near))
		}
	}
	return out
}

func list(t testing.TB, s core.Source) []durward.Tool {
	t.Helper()
	tools, err := s.Tools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func ids(tools []durward.Tool) []durward.ToolID {
	out := make([]durward.ToolID, len(tools))
	for i, t := range tools {
		out[i] = t.ID
	}
	return out
}

func byID(a, b durward.Tool) int { return cmp.Compare(a.ID, b.ID) }

func sameID(a, b durward.Tool) bool { return a.ID == b.ID }
