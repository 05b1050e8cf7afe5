//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/sandbox"
)

// The test binary also plays runtimes that something is taken from, by what
// childVariable says, and runs tests in a network of its own, by networkVariable.
func TestMain(m *testing.M) {
	if job, child := os.LookupEnv(childVariable); child {
		os.Exit(playRuntime(job))
	}
	if around, network := os.LookupEnv(networkVariable); network && around != "made" {
		fmt.Fprintln(os.Stderr, makeInternet(around))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := clean(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

func clean() error {
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			return err
		}
	}
	return sandbox.ProbeAll().Release()
}

// attemptVariable names a program that has been built already: who runs the tests need
// not be who has what it takes to build one.
const attemptVariable = "DURWARD_TEST_ATTEMPT"

// built is where the program is that makes the attempts.
var built struct {
	once      sync.Once
	dir, path string
	err       error
}

// program gives the path of the program that makes the attempts.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.path = os.Getenv(attemptVariable); built.path != "" {
			return
		}
		if built.dir, built.err = os.MkdirTemp("", "durward-abuse-"); built.err != nil {
			return
		}
		if built.err = os.Chmod(built.dir, 0o755); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "attempt")
		build := exec.Command("go", "build", "-o", built.path, "./testdata/attempt")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}
