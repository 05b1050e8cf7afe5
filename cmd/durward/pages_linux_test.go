package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPagesWithFilesShowWhatCommandsPrint makes the files that a page shows by "cat", and runs what it
// shows besides.
func TestPagesWithFilesShowWhatCommandsPrint(t *testing.T) {
	for page, commands := range map[string]int{"exec-server.md": 2, "gateway.md": 5} {
		t.Run(page, func(t *testing.T) {
			shell := sandboxShell(t)
			shown := commandsOn(t, "../../docs/"+page)
			if len(shown) != commands {
				t.Fatalf("the page shows the commands %v", shown)
			}
			for _, c := range shown {
				if file, ok := strings.CutPrefix(c.line, "cat "); ok {
					shell(fmt.Sprintf("mkdir -p $(dirname %s); cat > %s <<'.'\n%s\n.\n", file, file, strings.TrimRight(c.shown, "\n")))
				}
				if diff := cmp.Diff(settled(c.shown), settled(shell(c.line))); diff != "" {
					t.Errorf("%s: the page shows (-), it prints (+):\n%s", c.line, diff)
				}
			}
		})
	}
}
