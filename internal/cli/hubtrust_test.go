package cli

import (
	"os"
	"testing"

	"github.com/durward/durward/internal/trust"
)

// The configuration that comes with durward needs no trust, and no other one is taken for it.
func TestTheConfigurationThatShipsIsKnownByItsDigest(t *testing.T) {
	text, err := os.ReadFile("../../config/mcp_servers.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := (trust.File{Text: text}).SHA256(); got != shippedServers {
		t.Errorf("the digest of config/mcp_servers.json is %s", got)
	}
}
