package process

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/sandbox"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := sandbox.ProbeAll().Release(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}
