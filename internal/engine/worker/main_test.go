package worker

import (
	"testing"

	"github.com/durward/durward/internal/core/coretest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if !coretest.PlayServer() {
		goleak.VerifyTestMain(m)
	}
}
