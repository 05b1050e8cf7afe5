package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/pathguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newSubject gives an engine that runs any program of the system, as a command of its name.
func newSubject(t *testing.T, change func(*Command)) coretest.Subject {
	t.Helper()
	programs := process.New(process.Options{ScratchDir: t.TempDir()})
	t.Cleanup(func() { must(t, programs.Close()) })
	guard, err := pathguard.Open([]string{os.TempDir()}, pathguard.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, guard.Close()) })
	find := func(id string) (Command, error) {
		path, err := exec.LookPath(id)
		if err != nil {
			return Command{}, &durward.Error{Reason: durward.CommandUnknown, Err: err}
		}
		c := Command{
			Program: path, Name: path, Dir: Directory{Within: true}, Timeout: time.Minute,
			Judge: func([]string, func(string) error) error { return nil },
			Argv:  func(args []string) []string { return args },
		}
		if change != nil {
			change(&c)
		}
		return c, nil
	}
	return coretest.Subject{
		Engine: &Engine{Programs: programs}, Calls: named(coretest.Commands(t, "cmd.run")),
		Tool: durward.Tool{ID: "cmd.run", Engine: "command", Spec: Spec{Guard: guard, Find: find, Slots: NewSlots(32)}},
		Grant: durward.Grant{
			Mode: durward.WorkspaceWrite, Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"},
			Limits: durward.DefaultLimits(), Keep: durward.KeepHead, Network: durward.Network{Mode: durward.NetNone},
			Files: durward.Files{Read: []string{"/"}, Write: []string{filepath.Clean(os.TempDir())}, Exec: []string{"/"}},
		},
	}
}

// named has each call name its program as a command.
func named(c coretest.Calls) coretest.Calls {
	name := func(c durward.Call) durward.Call {
		if len(c.Argv) > 0 {
			c.CommandID = c.Argv[0]
		}
		return c
	}
	c.Succeeds, c.Fails, c.Noisy, c.Refused = name(c.Succeeds), name(c.Fails), name(c.Noisy), name(c.Refused)
	marks, endless := c.Marks, c.Endless
	c.Marks = func(path string) durward.Call { return name(marks(path)) }
	c.Endless = func(t testing.TB) coretest.Work {
		w := endless(t)
		w.Call = name(w.Call)
		return w
	}
	return c
}

func TestEngineBattery(t *testing.T) {
	coretest.Engine(t, func(t *testing.T) coretest.Subject { return newSubject(t, nil) })
}
