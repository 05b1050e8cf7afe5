//go:build unix

package mcppolicy_test

import (
	"io/fs"
	"testing"
)

// A bare name is not looked for where everybody could put a program of that name.
func TestPathThatEverybodyMayWriteTo(t *testing.T) {
	there := standard()
	there["/open"] = node{mode: fs.ModeDir | fs.ModeSticky | 0o777}
	there["/open/git"], there["/open/only"] = program(), program()
	host := there.host()
	host.Path = []string{"/open", "/usr/bin"}
	p := compileOn(t, host, "version: 1\nallowedRoots: [~/code]\ncommands: [{id: a, exec: git}, {id: b, exec: /open/only}]")
	if got := command(t, p, "a").Exec; got != "/usr/bin/git" {
		t.Errorf("git is %s", got)
	}
	if got := command(t, p, "b").Exec; got != "/open/only" {
		t.Errorf("the program that is named by its place is %s", got)
	}
	wantProblems(t, load(host, "version: 1\nallowedRoots: [~/code]\ncommands: [{id: a, exec: only}]"),
		"p.yaml:3:26: commands[0].exec: only is on PATH only in /open, where everybody may put one of that name; chmod o-w /open, or name another one")
}
