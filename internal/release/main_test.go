package release

import (
	"testing"

	"go.uber.org/goleak"
)

// verifyMain runs the tests and looks for goroutines that they left.
func verifyMain(m *testing.M) { goleak.VerifyTestMain(m) }
