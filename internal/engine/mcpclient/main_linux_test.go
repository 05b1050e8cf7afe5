//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/sandbox"
)

// patience bounds waits that an engine which keeps its rules ends at once.
const patience = 30 * time.Second

// fixture is the path of the program in testdata/server.
var fixture string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mcpclient-test.")
	if err == nil {
		fixture = filepath.Join(dir, "server")
		err = errors.Join(os.Chmod(dir, 0o755), build())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := errors.Join(os.RemoveAll(dir), sandbox.ProbeAll().Release()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

func build() error {
	c := exec.Command("go", "build", "-o", fixture, "./testdata/server")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}
