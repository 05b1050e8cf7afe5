package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The servers that a hub begins with are those that the examples have.
func TestTheFirstServersAreThoseOfTheExample(t *testing.T) {
	example, err := os.ReadFile("../../config/mcp_servers.json")
	if err != nil {
		t.Fatal(err)
	}
	files, err := hubKit(nil)
	if err != nil || len(files) != 1 || !bytes.Equal(files[0].text, example) {
		t.Errorf("%v: they differ", err)
	}
}

func TestTheFirstWordsAreTenLinesThatFit(t *testing.T) {
	if lines := strings.Count(welcome, "\n"); lines != 10 {
		t.Errorf("%d lines", lines)
	}
	for line := range strings.Lines(welcome) {
		if len(line) > 81 {
			t.Errorf("too wide: %s", line)
		}
	}
}
