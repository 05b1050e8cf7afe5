package site

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/sandbox"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if err := sandbox.Probe().Release(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
		os.Exit(status)
	}))
}
