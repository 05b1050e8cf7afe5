//go:build linux && (amd64 || arm64)

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// subject shows the engine to the batteries, under a grant that asks for limits, a clean
// environment and a level.
func subject(t *testing.T, at durward.Level) coretest.Subject {
	engine := New(Options{ScratchDir: t.TempDir()})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	limits := durward.DefaultLimits()
	limits.Grace = 500 * time.Millisecond
	return coretest.Subject{
		Engine: engine, Tool: durward.Tool{ID: "command", Engine: "process"}, Calls: coretest.Commands(t, "command"),
		Settle: func() { settle(engine) },
		Grant: durward.Grant{
			Mode: durward.WorkspaceWrite, Level: at, MinLevel: at, Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"},
			Limits: limits, Keep: durward.KeepHeadTail, Network: durward.Network{Mode: durward.NetNone},
			Files: durward.Files{Read: []string{"/"}, Write: []string{filepath.Clean(os.TempDir())}, Exec: []string{"/"}},
		},
	}
}

func eachLevel(t *testing.T, test func(t *testing.T, at durward.Level)) {
	for _, at := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
		t.Run(fmt.Sprintf("level %d", at.Number()), func(t *testing.T) { test(t, at) })
	}
}

func TestEngineBattery(t *testing.T) {
	eachLevel(t, func(t *testing.T, at durward.Level) {
		coretest.Engine(t, func(t *testing.T) coretest.Subject { return subject(t, at) })
	})
}

func TestSessionBattery(t *testing.T) {
	eachLevel(t, func(t *testing.T, at durward.Level) {
		coretest.Session(t, func(t *testing.T) coretest.Subject { return subject(t, at) })
	})
}

// TestSameCall takes real commands through the doors of the core into the real log.
func TestSameCall(t *testing.T) { eachLevel(t, sameCall) }

func sameCall(t *testing.T, at durward.Level) {
	s := subject(t, at)
	refusing := coretest.PolicyFunc(func(c durward.Call, tool durward.Tool) durward.Decision {
		if len(c.Env) > 0 {
			return durward.Decision{Rule: "env", Code: durward.EnvDenied, Reason: "no variables", PolicyHash: "sha256:00"}
		}
		return coretest.AllowAll(s.Grant).Decide(c, tool)
	})
	house := func(t testing.TB) coretest.House {
		log, err := audit.Open(filepath.Join(t.TempDir(), "audit"), audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		runtime, err := core.New(core.Options{
			Source: core.Catalogue{s.Tool}, Policy: refusing, Recorder: log, Engines: map[string]core.Engine{"process": s.Engine},
		})
		if err != nil {
			t.Fatal(err)
		}
		return coretest.House{Runtime: runtime, Records: func(t testing.TB) []coretest.Record {
			lines, err := os.ReadFile(log.File())
			if err != nil {
				t.Fatal(err)
			}
			return coretest.Decode(t, lines)
		}}
	}
	denied := func(c durward.Call) durward.Call {
		c.Env = map[string]string{"LD_PRELOAD": "x.so"}
		return c
	}
	coretest.SameCall(t, coretest.StandardCases(t, s.Tool.ID, denied), coretest.CoreDoors(house))
}
