//go:build unix

package policy_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		name string
		p    *policy.Policy
		call durward.Call
	}{
		{"allowed", compile(t, workspacePolicy), durward.Call{Argv: []string{"make", "test"}, Dir: "/home/ann/work/src", Env: map[string]string{"SECRET": "hunter2"}}},
		{"narrowed", compile(t, workspacePolicy), asking(durward.Ask{Limits: durward.Limits{Wall: time.Second, Pids: 7}})},
		{"denied-env", compile(t, workspacePolicy), withEnv("LD_PRELOAD", "/x.so")},
		{"denied-limit", compile(t, workspacePolicy), asking(durward.Ask{Limits: durward.Limits{Pids: 1000}})},
		{"paths", compile(t, "filesystem: {read: ['@system', '~/link', '/none?'], deny: ['~/link/**/*.key']}"), call("ls")},
		{"full-access", compile(t, "mode: danger-full-access"), call("ls")},
		{"default", defaultPolicy(t, policy.Flags{Write: []string{"/srv"}}), call("ls")},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := test.p.Explain(test.call, durward.Tool{})
			golden(t, test.name, e.String())
			if diff := cmp.Diff(test.p.Decide(test.call, durward.Tool{}), e.Decision); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "explain", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
