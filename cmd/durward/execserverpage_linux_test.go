package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const execServerPage = "../../docs/exec-server.md"

// TestTheExecServerPageShowsWhatCommandsPrint makes the file that docs/exec-server.md shows
// first, and runs what it shows next.
func TestTheExecServerPageShowsWhatCommandsPrint(t *testing.T) {
	shell := sandboxShell(t)
	commands := commandsOn(t, execServerPage)
	if len(commands) != 2 || !strings.HasPrefix(commands[0].line, "cat ") {
		t.Fatalf("the page shows the commands %v", commands)
	}
	file := strings.TrimPrefix(commands[0].line, "cat ")
	shell("cat > " + file + " <<'.'\n" + commands[0].shown + "\n.\n")
	for _, c := range commands {
		if diff := cmp.Diff(settled(c.shown), settled(shell(c.line))); diff != "" {
			t.Errorf("%s: the page shows (-), it prints (+):\n%s", c.line, diff)
		}
	}
}
