//go:build linux && (amd64 || arm64)

package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core/coretest"
)

const batteryPolicy = "mode: danger-full-access\nlimits: {graceMs: 500}\n"

// TestExecIsADoor takes the calls that all doors take through the core itself and
// through the command line: the records are the same.
func TestExecIsADoor(t *testing.T) {
	denied := func(c durward.Call) durward.Call {
		c.Env = map[string]string{"LD_PRELOAD": "x.so"}
		return c
	}
	cases := coretest.StandardCases(t, commandTool, denied)
	for i := range cases {
		cases[i].Call.Path = cases[i].Call.Argv[0] // exec names the program for the record
	}
	env := home(t)
	coretest.SameCall(t, cases, []coretest.Door{coreDoor(env, false), execDoor(env)})
	coretest.SameCall(t, cases, []coretest.Door{coreDoor(env, true), execDoor(env, "--stream")})
}

// execDoor enters by the command line.
func execDoor(env map[string]string, flags ...string) coretest.Door {
	return coretest.Door{Name: "exec", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		emptyLog(t, env)
		args := slices.Concat([]string{"exec", "--policy", writePolicy(t, env)}, flags)
		for name, value := range c.Call.Env {
			args = append(args, "--env", name+"="+value)
		}
		if c.Within > 0 {
			args = append(args, "--timeout", c.Within.String())
		}
		durwardIn(ctx, t, env, c.Call.Dir, append(append(args, "--"), c.Call.Argv...)...)
		return recordsOf(t, env)
	}}
}

// coreDoor enters the core, under the policy that exec compiles.
func coreDoor(env map[string]string, session bool) coretest.Door {
	return coretest.Door{Name: "core", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		emptyLog(t, env)
		p, _, _ := start(t, env, c.Call.Dir, nil)
		policy, err := p.loadPolicy(writePolicy(t, env), c.Call.Dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if session {
			policy = policy.Keep(durward.KeepFlow)
		}
		h, err := p.open(policy)
		if err != nil {
			t.Fatal(err)
		}
		c.Call.Door, c.Call.Caller, c.Call.Ask.Limits.Wall = "core", durward.Caller{Name: "test"}, c.Within
		enterCore(ctx, h, c.Call, session)
		if err := h.close(); err != nil {
			t.Fatal(err)
		}
		return recordsOf(t, env)
	}}
}

func enterCore(ctx context.Context, h *house, c durward.Call, session bool) {
	if !session {
		_, _ = h.Do(ctx, c)
		return
	}
	s, err := h.Open(ctx, c, nil)
	if err != nil {
		return
	}
	_ = s.CloseInput()
	_, _ = s.Wait(context.WithoutCancel(ctx))
	_ = s.Close()
}

// emptyLog gives a call a log of its own. The home stays, because the policy names it.
func emptyLog(t testing.TB, env map[string]string) {
	t.Helper()
	if err := os.RemoveAll(env[varStateDir]); err != nil {
		t.Fatal(err)
	}
}

// writePolicy puts the policy where every home has it, so that its place is the same.
func writePolicy(t testing.TB, env map[string]string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(env["HOME"], "policy.yaml"), []byte(batteryPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(env["HOME"])
	return "policy.yaml"
}

func recordsOf(t testing.TB, env map[string]string) []coretest.Record {
	t.Helper()
	var lines []byte
	for e, err := range audit.Records(context.Background(), filepath.Join(env[varStateDir], "audit"), audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, e.Raw...), '\n')
	}
	return coretest.Decode(t, lines)
}
