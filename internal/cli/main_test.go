package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// A run is what one command line printed.
type run struct {
	status         int
	stdout, stderr string
}

// home is an environment of its own for a test.
func home(t testing.TB) map[string]string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), varStateDir: filepath.Join(dir, "state")}
}

// start gives a program in an environment, with its streams.
func start(t testing.TB, env map[string]string, dir string, stdin io.Reader) (p *program, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	p = &program{version: "test", stdin: stdin, env: env, dir: func() (string, error) { return dir, nil }}
	p.stdout, p.stderr = outlets(stdout, stderr)
	return p, stdout, stderr
}

func durwardIn(ctx context.Context, t testing.TB, env map[string]string, dir string, args ...string) run {
	t.Helper()
	p, stdout, stderr := start(t, env, dir, nil)
	status := p.main(ctx, append([]string{"durward"}, args...))
	return run{status, stdout.String(), stderr.String()}
}
