package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program under each of its names.
func TestMain(m *testing.M) {
	programs := map[string]func(){}
	for _, name := range []string{"durward", "codex-exec-server", "mdmcpcfg", "mdmcpsrvr", "statespace"} {
		programs[name] = main
	}
	testscript.Main(tidied{m}, programs)
}

// A tidied run of tests starts its programs as a terminal does, and does at its end what the tests
// left for then.
type tidied struct{ *testing.M }

func (m tidied) Run() int {
	if signal.Ignored(os.Interrupt) { // as in the background of a script, whose programs obey that
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	status := m.M.Run()
	for _, do := range left {
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = max(status, 1)
		}
	}
	return status
}

var left []func() error

// atEnd leaves something to be done when all tests have ended. Only one of them may do so at a time.
func atEnd(do func() error) { left = append(left, do) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "flip": flip, "last": last, "signals": signals, "dead": dead, "argument": argument,
			"until": until, "serving": serving, "sends": sends,
			"releases": releases, "escapes": escapes, "secures": secures,
		},
	})
}

// setup opens the working directory to commands, which root runs as somebody else. As in
// /tmp, none of them can put a file in the place of another's.
func setup(e *testscript.Env) error {
	e.Values[keys] = keyring{}
	e.Setenv("DURWARD_STATE_DIR", filepath.Join(e.WorkDir, "state"))
	e.Setenv("GORACE", "atexit_sleep_ms=0") // with the race detector a program waits for a second before it ends
	return errors.Join(os.Chmod(filepath.Dir(e.WorkDir), 0o755), os.Chmod(e.WorkDir, 0o777|os.ModeSticky))
}
