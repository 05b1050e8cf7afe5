//go:build unix

package mcppolicy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

const withEnv = home + "commands: [{id: c, exec: git, env: {A: fixed, PATH: /opt}, envAllowlist: [B, A, LANG, GIT_CONFIG_GLOBAL]}]"

func TestTheEnvironmentStartsFromTheConstantBase(t *testing.T) {
	h := standard().host()
	h.Environ = map[string]string{"SECRET": "x", "B": "from the server", "PATH": "/x", "HOME": "/home/ann"}
	c := command(t, compileOn(t, h, home+"commands: [{id: c, exec: git, envAllowlist: [B]}]"), "c")
	got, err := c.Environ(nil)
	if diff := cmp.Diff(map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got["PATH"] = "changed"
	if again, _ := c.Environ(nil); again["PATH"] == "changed" {
		t.Error("the environment is shared")
	}
}

func TestThePolicyAndTheRequestAddToIt(t *testing.T) {
	c := command(t, compile(t, withEnv), "c")
	got, err := c.Environ(map[string]string{"B": "", "LANG": "C", "GIT_CONFIG_GLOBAL": "/dev/null"})
	want := map[string]string{"PATH": "/opt", "LANG": "C", "A": "fixed", "B": "", "GIT_CONFIG_GLOBAL": "/dev/null"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestVariablesThatARequestMayNotSet(t *testing.T) {
	c := command(t, compile(t, withEnv), "c")
	for _, test := range []struct {
		env    map[string]string
		reason durward.Reason
		rule   string
		text   string
	}{
		{map[string]string{"C": "s3cret"}, durward.EnvDenied, "commands.c.envAllowlist", "cmd.run: C is not among the variables that a request may set"},
		{map[string]string{"b": "s3cret"}, durward.EnvDenied, "commands.c.envAllowlist", "cmd.run: b is not among the variables that a request may set"},
		{map[string]string{"LD_PRELOAD": "s3cret"}, durward.EnvDenied, "commands.c.envAllowlist", "cmd.run: LD_PRELOAD is not among the variables that a request may set"},
		{map[string]string{"A": "s3cret"}, durward.EnvDenied, "commands.c.env", "cmd.run: A is fixed by the policy"},
		{map[string]string{"B": "x", "Z": "s3cret", "": "s3cret"}, durward.BadEnvName, "commands.c.envAllowlist", `cmd.run: "" is not a name of a variable`},
		{map[string]string{"A=B": "s3cret"}, durward.BadEnvName, "commands.c.envAllowlist", `cmd.run: "A=B" is not a name of a variable`},
		{map[string]string{"B": "s3cret\x00"}, durward.BadEnvName, "commands.c.envAllowlist", "cmd.run: the value of B holds a NUL byte"},
	} {
		got, err := c.Environ(test.env)
		e := durward.AsError(err)
		if got != nil || e == nil || e.Reason != test.reason || e.Rule != test.rule || e.Where.Line != 3 || err.Error() != test.text || strings.Contains(e.Hint, "s3cret") {
			t.Errorf("%v: got %v, %+v", test.env, got, e)
		}
	}
}

func TestWindowsIgnoresTheCaseOfNames(t *testing.T) {
	h := standard().host()
	h.GOOS = "windows"
	h.Environ = map[string]string{"SYSTEMROOT": `C:\Windows`, "SystemDrive": "C:", "PathExt": ".EXE", "temp": `C:\T`, "SECRET": "x"}
	h.Path = []string{"/usr/bin"}
	h.Resolve = func(path string) (string, error) { return path, nil }
	h.Stat = func(path string) (fileMode, error) {
		if path == "C:/w" {
			return dir().mode, nil
		}
		return 0o755, nil
	}
	c := command(t, compileOn(t, h, "version: 1\nallowedRoots: ['C:/w']\ncommands: [{id: c, exec: git, env: {Temp: fixed}, envAllowlist: [B]}]"), "c")
	got, err := c.Environ(map[string]string{"b": "x"})
	want := map[string]string{"SystemRoot": `C:\Windows`, "SystemDrive": "C:", "PATHEXT": ".EXE", "Temp": "fixed", "b": "x"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := c.Environ(map[string]string{"TEMP": "x"}); durward.ReasonOf(err) != durward.EnvDenied {
		t.Errorf("got %v", err)
	}
}
