//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for env, refuse := range map[string]func() error{refuseEnv: refuseShared, refuseOpenat2Env: refuseOpenat2} {
		if os.Getenv(env) == "" {
			continue
		}
		if err := refuse(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if err := ProbeAll().Release(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
