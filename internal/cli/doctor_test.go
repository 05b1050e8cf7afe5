package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/sandbox/unproven"
)

// TestDoctorNamesTheSetting gives the doctor machines that forbid something.
func TestDoctorNamesTheSetting(t *testing.T) {
	refused := errors.New("clone: operation not permitted")
	setting := func(name, value string) fs.FS { return fstest.MapFS{name: {Data: []byte(value + "\n")}} }
	for _, test := range []struct {
		name, trial string
		err         error
		system      fs.FS
		want        string
	}{
		{"no user namespaces", "pidns", refused, setting("user/max_user_namespaces", "0"), "sysctl -w user.max_user_namespaces="},
		{"none for users", "pidns", refused, setting("kernel/unprivileged_userns_clone", "0"), "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"AppArmor", "userns", refused, setting("kernel/apparmor_restrict_unprivileged_userns", "1"), "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"a filter around us", "pidns", refused, fstest.MapFS{}, "seccomp"},
		{"a cgroup of others", "cgroup", &fs.PathError{Op: "mkdir", Err: fs.ErrPermission}, fstest.MapFS{}, "Delegate=yes"},
		{"no cgroup", "cgroup", errors.New("read-only file system"), fstest.MapFS{}, "mount cgroup version 2"},
	} {
		c := trial(test.trial, "", test.err, test.system)
		if c.OK || c.Error == "" || !strings.Contains(c.Fix, test.want) {
			t.Errorf("%s: %+v; want %q", test.name, c, test.want)
		}
	}
}

func TestDoctorOfAMachineWithoutContainment(t *testing.T) {
	host := sandbox.Host{
		Trials:           []sandbox.Trial{{Containment: sandbox.PIDNamespace, Err: errors.New("no")}, {Containment: sandbox.Subreaper, Err: errors.New("no")}},
		UserNamespaceErr: errors.New("no"),
	}
	data := doctorData{Levels: levels(host, fstest.MapFS{}), Checks: []checkData{check("state", "", nil)}}
	if data.Levels[0].Available {
		t.Error("level 0 is available without a containment")
	}
	var status exitStatus
	if !errors.As(data.status(), &status) || status != 9 {
		t.Errorf("it exits with %v, want 9", data.status())
	}
	host.Trials[1].Err = nil
	data.Levels = levels(host, fstest.MapFS{})
	if err := data.status(); !data.Levels[0].Available || err != nil {
		t.Errorf("one containment is not enough: %v", err)
	}
}

// The doctor says why starts are slower than they could be, and only then.
func TestDoctorOfAMachineOfSlowStarts(t *testing.T) {
	host := sandbox.Host{Trials: []sandbox.Trial{{Containment: sandbox.Subreaper}}}
	if zero := levels(host, fstest.MapFS{})[0]; !zero.Available || strings.Contains(zero.Detail, "slower") {
		t.Errorf("%+v", zero)
	}
	host.SharedErr = errors.New("clone: operation not permitted")
	if zero := levels(host, fstest.MapFS{})[0]; !zero.Available || !strings.Contains(zero.Detail, "slower") || !strings.Contains(zero.Detail, "(clone: operation not permitted)") {
		t.Errorf("%+v", zero)
	}
}

// Where nothing of the sandbox was ever run, commands are still run, and the doctor says
// what that is worth.
func TestDoctorOfAnUnprovenSystem(t *testing.T) {
	for _, c := range []sandbox.Containment{sandbox.ProcessGroup, sandbox.JobObject} {
		host := sandbox.Host{Trials: []sandbox.Trial{{Containment: c, Err: unproven.Err}}, UserNamespaceErr: unproven.Err}
		data := doctorData{Levels: levels(host, fstest.MapFS{})}
		if err := data.status(); err != nil {
			t.Errorf("%s: it exits with %v", c, err)
		}
		zero := data.Levels[0]
		if len(zero.Trials) != 1 || zero.Trials[0].OK || zero.Trials[0].Fix != unproven.Hint {
			t.Errorf("%s: %+v", c, zero)
		}
		if !strings.Contains(zero.Trials[0].Error, "never proven") || !strings.Contains(zero.Detail, "nothing is reported as held") {
			t.Errorf("%s: it does not say that nothing is held: %+v", c, zero)
		}
		for _, l := range data.Levels[1:] {
			if l.Available {
				t.Errorf("%s: level %d is said to be there", c, l.Level)
			}
		}
	}
}

// TestEveryFindingHasAFix gives the doctor a machine on which all is wrong that can be, and
// asks each line for what to do.
func TestEveryFindingHasAFix(t *testing.T) {
	env := home(t)
	dir := env["HOME"]
	write := func(name, text string, mode fs.FileMode) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), mode), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("bin/durward", "another", 0o755)
	env["PATH"] = filepath.Join(dir, "bin") + string(filepath.ListSeparator) + env["PATH"]
	write("state", "no folder", 0o600)
	write(".config/durward/config.yaml", "audit: {sink: x}\n", 0o600)
	write(".config/durward/policy.yaml", "version: 1\nallowedRoots: [/nowhere]\n", 0o600)
	write(".cursor/mcp.json", "{", 0o600)
	write(".gemini/settings.json", `{"mcpServers": {"d": {"command": "/nowhere/durward", "args": ["mcp"]}}}`, 0o600)
	write(".codex/config.toml", "[mcp_servers.d]\ncommand = \"durward\"\nargs = [\"mcp\", \"--config\", \"/nowhere/policy.yaml\"]\n", 0o600)
	write(".claude.json", `{"mcpServers": {"d": {"command": "durward", "args": ["mcp", "--files", "/"]}}}`, 0o600)
	env["MCP_CONFIG_PATH"] = write("hub.json", `{"mcpServers": {
		"gone": {"command": "no-such-server"}, "unset": {"command": "durward", "env": {"A": "${NOT_SET}"}},
		"off": {"command": "no-such-server", "disabled": true}, "far": {"url": "https://h/mcp?key=hush"}, "good": {"command": "durward"}}}`, 0o600)

	r := durwardIn(t.Context(), t, env, dir, "doctor", "--json")
	var told struct{ Data doctorData }
	if err := json.Unmarshal([]byte(r.stdout), &told); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	results := map[string]checkResult{}
	var look func(path string, all []checkData)
	look = func(path string, all []checkData) {
		for _, c := range all {
			results[path+c.Name] = c.Result
			if strings.Contains(c.Fix, "durward doctor") {
				t.Errorf("%s%s sends its reader in a circle: %+v", path, c.Name, c)
			}
			if (c.Result == resultOK) != (c.Fix == "") || c.Gives+c.Error == "" || c.OK == (c.Result == resultFail) && path == "" {
				t.Errorf("%s%s is neither well nor has a fix: %+v", path, c.Name, c)
			}
			look(path+c.Name+" ", c.Parts)
		}
	}
	for _, l := range told.Data.Levels {
		look("level ", l.Trials)
	}
	look("", told.Data.Checks)
	maps.DeleteFunc(results, func(name string, _ checkResult) bool { return strings.HasPrefix(name, "level ") })
	delete(results, "program") // whoever runs the tests may have opened it to others
	want := map[string]checkResult{
		"version": resultOK, "PATH": resultWarn, "config": resultFail, "config file": resultOK, "state": resultFail, "audit": resultFail, "exec": resultOK, "policy": resultFail,
		"hub": resultWarn, "hub gone": resultWarn, "hub unset": resultWarn, "hub off": resultOK, "hub far": resultOK, "hub good": resultOK,
		"clients": resultWarn, "clients cursor": resultWarn, "clients gemini": resultWarn, "clients codex": resultWarn, "clients claude-code": resultOK,
	}
	if !maps.Equal(results, want) {
		t.Errorf("%v, want %v\n%s", results, want, r.stdout)
	}
	if strings.Contains(r.stdout, "hush") {
		t.Error("a secret of an address is told")
	}
	if r.status != 3 {
		t.Errorf("it exits with %d", r.status)
	}
	if left, err := os.ReadDir(dir); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".durward-doctor") }) {
		t.Errorf("it left something: %v %v", left, err)
	}
}

// What is configured in the folder where somebody happens to stand is read and never started,
// nor looked for there.
func TestDoctorStartsNothingOfAFolder(t *testing.T) {
	env := home(t)
	dir := env["HOME"]
	ran := filepath.Join(dir, "ran")
	for file, text := range map[string]string{
		"config/mcp_servers.json": `{"servers": [{"name": "a", "command": "recorder"}, {"name": "b", "command": "./recorder"}]}`,
		"bin/recorder":            "#!/bin/sh\ntouch " + ran + "\n", "recorder": "#!/bin/sh\ntouch " + ran + "\n",
		"config/recorder": "#!/bin/sh\ntouch " + ran + "\n",
	} {
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	env["PATH"] = filepath.Join(dir, "bin") + string(filepath.ListSeparator) + env["PATH"]
	r := durwardIn(context.Background(), t, env, dir, "doctor")
	if !strings.Contains(r.stdout, "would run "+filepath.Join(dir, "bin/recorder")) || r.status != 0 {
		t.Errorf("it exits with %d: %s", r.status, r.stdout)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a server was started")
	}
}

// The page of the configuration has a row for every check, and for no other.
func TestThePageHasEveryCheck(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "\n| check | says |\n|---|---|\n")
	var shown []string
	for line := range strings.Lines(rows) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for name := range strings.SplitSeq(cell, ", ") {
			shown = append(shown, strings.Trim(name, "`"))
		}
	}
	env := home(t)
	dir := env["HOME"]
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte("version: 1\nallowedRoots: ["+dir+"]\nlogging: {file: "+dir+"/log}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _, _ := start(t, env, dir, nil)
	loaded, err := p.loadMCPPolicy(policy, false)
	if err != nil {
		t.Fatal(err)
	}
	made := []string{"level 0", "level 1", "level 2"}
	for _, c := range append(p.checks(t.Context(), ""), policyLoaded(loaded), checkRoot(loaded, loaded.Roots[0]), checkLogFile(loaded.LogFile), checkData{Name: "server"}) {
		if !slices.Contains(made, c.Name) {
			made = append(made, c.Name)
		}
	}
	slices.Sort(made)
	if slices.Sort(shown); !slices.Equal(shown, made) {
		t.Errorf("the page shows %q, there are %q", shown, made)
	}
}

// What came with a folder and nobody has trusted is named, with what to type.
func TestDoctorNamesWhatIsNotTrusted(t *testing.T) {
	env := home(t)
	dir := env["HOME"]
	t.Chdir(dir)
	for file, text := range map[string]string{"durward.yaml": "audit: {keep: 20}\n", "config/mcp_servers.json": `{"servers": []}`} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r := durwardIn(t.Context(), t, env, dir, "doctor")
	for _, want := range []string{"durward.yaml is of this folder", "durward trust add durward.yaml\n", "config/mcp_servers.json is of this folder", "durward trust add config/mcp_servers.json;"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in\n%s", want, r.stdout)
		}
	}
	if r.status != 0 {
		t.Errorf("it exits with %d", r.status)
	}
}
