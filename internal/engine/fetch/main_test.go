package fetch

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary play the server of the battery.
func TestMain(m *testing.M) {
	if os.Getenv("FETCH_PART") == "server" {
		serve()
		return
	}
	goleak.VerifyTestMain(m)
}
