//go:build unix

package mcppolicy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/mcppolicy"
)

func TestTheViewShowsWhatWasWrittenAndWhatBecameOfIt(t *testing.T) {
	p := compile(t, "version: 1\nallowed_roots: [~/link, 'C:/x']\nwriteRules: [{path: /srv/data/new, createIfMissing: true}]\ncommands: [{id: s, exec: sh, cwdPolicy: fixed}]\nlogging: {file: ~/log}\nprofiles: [{name: p, commands: []}]\n")
	v := p.View()
	if v.Hash != p.Hash || string(v.Policy[:30]) != `{"allowedRoots":["~/link","C:/` {
		t.Errorf("got %s, %s", v.Hash, v.Policy)
	}
	v.Hash, v.Policy = "", nil
	want := mcppolicy.View{
		File:     "p.yaml",
		Roots:    []mcppolicy.PathView{{Written: "~/link", Physical: "/srv/data", Where: "p.yaml:2:17"}},
		Write:    []mcppolicy.PathView{{Written: "/srv/data/new", Physical: "/srv/data/new", Where: "p.yaml:3:14"}},
		Commands: []mcppolicy.CommandView{{ID: "s", Written: "sh", Exec: "/usr/bin/sh", Physical: "/usr/bin/dash", Dir: "/usr/bin", Where: "p.yaml:4:12"}},
		LogFile:  "/home/ann/log",
		Warnings: []string{"p.yaml:2:25: allowedRoots[1]: C:/x is a path of another system and is skipped"},
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	narrow, err := p.Narrow("p")
	if err != nil {
		t.Fatal(err)
	}
	if v := narrow.View(); v.Profile != "p" || len(v.Commands) != 0 || len(v.Write) != 0 || len(v.Policy) >= len(p.View().Policy) {
		t.Errorf("got %+v", v)
	}
}

func TestTheStarterLoads(t *testing.T) {
	p := compile(t, mcppolicy.Starter())
	if len(p.Roots) != 1 || p.Roots[0].Path != "/home/ann/code" || len(p.Warnings)+len(p.Commands)+len(p.WriteRules) != 0 {
		t.Errorf("got %+v", p)
	}
	there := standard()
	there[`/srv/a "b" \ ü:#`] = dir()
	p = compileOn(t, there.host(), mcppolicy.Starter(`/srv/a "b" \ ü:#`, "/w"))
	if len(p.Roots) != 2 || p.Roots[0].Path != `/srv/a "b" \ ü:#` {
		t.Errorf("got %+v", p.Roots)
	}
}
