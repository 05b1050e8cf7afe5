package site

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/sandbox"
)

func TestMain(m *testing.M) {
	// net/http sleeps for half a second behind a refusal, also when its server is closed.
	ends := goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")
	goleak.VerifyTestMain(m, ends, goleak.Cleanup(func(status int) {
		if err := sandbox.Probe().Release(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
		os.Exit(status)
	}))
}
