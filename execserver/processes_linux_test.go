//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Requests that start no process leave their id free.
func TestStartsThatFail(t *testing.T) {
	p, dir := greet(t, serve(t).url), openDir(t)
	touch(t, dir, "file")
	good := func(change map[string]any) map[string]any {
		params := map[string]any{"processId": "p", "argv": []string{"/bin/true"}, "cwd": "/", "env": map[string]string{}, "tty": false}
		maps.Copy(params, change)
		return params
	}
	policy := map[string]any{"inherit": "none", "ignoreDefaultExcludes": true, "exclude": []string{}, "set": map[string]string{}}
	for _, test := range []struct {
		name   string
		change map[string]any
		code   int
	}{
		{"no program", map[string]any{"argv": []string{"/no/such/program"}}, -32603},
		{"no program of that name", map[string]any{"argv": []string{"no-such-program"}}, -32603},
		{"no program on the path", map[string]any{"argv": []string{"true"}, "env": map[string]string{"PATH": dir}}, -32603},
		{"a program that is none", map[string]any{"argv": []string{dir + "/file"}}, -32603},
		{"a program that is a directory", map[string]any{"argv": []string{dir}}, -32603},
		{"no directory", map[string]any{"cwd": dir + "/none"}, -32603},
		{"no directory, on a terminal", map[string]any{"cwd": dir + "/none", "tty": true}, -32603},
		{"a directory that is a file", map[string]any{"cwd": dir + "/file"}, -32603},
		{"NUL in an argument", map[string]any{"argv": []string{"/bin/true", "a\x00b"}}, -32603},
		{"NUL in a program", map[string]any{"argv": []string{"/bin/true\x00"}}, -32603},
		{"NUL in a variable", map[string]any{"env": map[string]string{"A": "a\x00b"}}, -32603},
		{"NUL in the name of one", map[string]any{"env": map[string]string{"A\x00": "a"}}, -32603},
		{"no arguments", map[string]any{"argv": []string{}}, -32602},
		{"null arguments", map[string]any{"argv": nil}, -32602},
		{"a number as argument", map[string]any{"argv": []any{"/bin/true", 1}}, -32602},
		{"a number as variable", map[string]any{"env": map[string]any{"A": 1}}, -32602},
		{"null as environment", map[string]any{"env": nil}, -32602},
		{"a relative directory", map[string]any{"cwd": "etc"}, -32602},
		{"an empty directory", map[string]any{"cwd": ""}, -32602},
		{"no path", map[string]any{"cwd": "http://x/"}, -32602},
		{"a text for a terminal", map[string]any{"tty": "true"}, -32602},
		{"null for a terminal", map[string]any{"tty": nil}, -32602},
		{"an empty sandbox", map[string]any{"sandbox": map[string]any{}}, -32602},
		{"a sandbox of another system", map[string]any{"sandbox": map[string]any{"permissions": map[string]any{"type": "disabled"}, "windowsSandboxLevel": "elevated-somehow"}}, -32602},
		{"a profile that nobody knows", map[string]any{"sandbox": map[string]any{"permissions": map[string]any{"type": "other"}, "windowsSandboxLevel": "disabled"}}, -32602},
		{"a directory of another machine", map[string]any{"cwd": "file://elsewhere/"}, -32600},
		{"a text as sandbox", map[string]any{"sandbox": "read-only"}, -32602},
		{"part of a policy of variables", map[string]any{"envPolicy": policy}, -32602},
		{"a network that there is not", map[string]any{"enforceManagedNetwork": true}, -32603},
	} {
		m := p.ask("process/start", good(test.change))
		if test.name == "a network that there is not" {
			p.refused(m, -32600, -32602, -32603)
			continue
		}
		if p.refused(m, test.code); t.Failed() {
			t.Fatal(test.name)
		}
	}
	p.starts(sh("p", "echo ok"))
	if got := p.all("p", "stdout"); got != "ok\n" {
		t.Errorf("it writes %q", got)
	}
	p.refused(p.ask("process/start", good(nil)), -32600) // it is known for a while
	p.starts(sh("", "echo ok"))                          // an id like others
	p.all("", "stdout")
}

// A program without a slash is found on the PATH of its own environment, or else on that of
// the system. What it is called does not matter, on a terminal either.
func TestProgramsAreFound(t *testing.T) {
	p, dir := greet(t, serve(t).url), openDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "mine"), []byte("#!/bin/sh\necho mine\n"), 0o755))
	for i, test := range []struct {
		argv []string
		arg0 string
		env  map[string]string
		want string
	}{
		{[]string{"mine"}, "", map[string]string{"PATH": "/none:" + dir}, "mine\n"},
		{[]string{"echo", "a  b"}, "", nil, "a  b\n"},
		{[]string{"sh", "-c", "echo $0"}, "no-such-program", nil, "no-such-program\n"},
		{[]string{"/bin/sh", "-c", "echo $0"}, "cat", nil, "cat\n"},
	} {
		for _, tty := range []bool{false, true} {
			id := fmt.Sprint(i, tty)
			params := map[string]any{"processId": id, "argv": test.argv, "cwd": "/", "env": test.env, "tty": tty, "arg0": nil}
			if test.env == nil {
				params["env"] = map[string]string{}
			}
			if test.arg0 != "" {
				params["arg0"] = test.arg0
			}
			p.result(p.ask("process/start", params), nil)
			if got := strings.ReplaceAll(p.all(id, ""), "\r\n", "\n"); got != test.want {
				t.Errorf("%q writes %q", test.argv, got)
			}
		}
	}
}

// Exit codes are those of shells.
func TestExitCodes(t *testing.T) {
	p := greet(t, serve(t).url)
	for _, tty := range []bool{false, true} {
		for script, want := range map[string]int{
			"exit 0": 0, "exit 1": 1, "exit 255": 255, "exit 256": 0, "kill -TERM $$": 143, "kill -KILL $$": 137, "kill -INT $$": 130, "kill -ABRT $$": 134,
		} {
			start := sh(fmt.Sprint(script, tty), "%s", script)
			start.Tty = tty
			p.starts(start)
			if got := p.exits(start.ProcessID); got != want {
				t.Errorf("%s, tty %t: %d", script, tty, got)
			}
			p.inOrder(start.ProcessID)
		}
	}
}

// A process leads a group of its own, on a terminal of 24 by 80 that echoes a session of its
// own too. Its environment is what the client says.
func TestGroupsAndSessions(t *testing.T) {
	leads, err := exec.LookPath("leads")
	must(t, err)
	p := greet(t, serve(t).url)
	for _, test := range []struct {
		tty  bool
		want string
	}{{false, "leads its group"}, {true, "leads its group and its session"}} {
		id := fmt.Sprint(test.tty)
		p.starts(start{ProcessID: id, Argv: []string{leads}, Cwd: "/", Env: map[string]string{"A": "1"}, Tty: test.tty})
		if got := p.all(id, ""); !strings.HasPrefix(got, test.want) || !strings.Contains(got, ", with [A=1]") {
			t.Errorf("tty %t: it %s", test.tty, got)
		}
	}
	tty := sh("stty", "tty -s && : > /dev/tty && stty -a")
	tty.Tty = true
	p.starts(tty)
	if got := p.all("stty", "pty"); !strings.Contains(got, "rows 24; columns 80;") || !strings.Contains(got, " echo ") {
		t.Errorf("its terminal is %q", got)
	}
}

// What is inherited, left out and added, as the policy of variables says.
func TestEnvironmentPolicies(t *testing.T) {
	for name, value := range map[string]string{"MY_KEY": "k", "my_secret_x": "s", "GITHUB_TOKEN": "t", "PLAIN": "p", "OTHER": "o", "LC_ALL": "C", "HOME": "/h"} {
		t.Setenv(name, value)
	}
	p := greet(t, serve(t).url)
	none := []string{}
	for i, test := range []struct {
		policy map[string]any
		has    string
		hasNot string
	}{
		{map[string]any{"inherit": "all", "exclude": none, "includeOnly": none}, "PLAIN=p OTHER=o HOME=/h B=env SET=set", "MY_KEY my_secret_x GITHUB_TOKEN"},
		{map[string]any{"inherit": "all", "ignoreDefaultExcludes": true, "exclude": []string{"pl*", "*other*"}, "includeOnly": none}, "MY_KEY=k GITHUB_TOKEN=t my_secret_x=s", "PLAIN OTHER"},
		{map[string]any{"inherit": "core", "exclude": none, "includeOnly": none}, "HOME=/h LC_ALL=C B=env SET=set", "PLAIN OTHER MY_KEY"},
		{map[string]any{"inherit": "all", "exclude": none, "includeOnly": []string{"plain", "se?"}}, "PLAIN=p SET=set B=env", "OTHER HOME"},
		{map[string]any{"inherit": "none", "exclude": none, "includeOnly": none}, "SET=set B=env", "PLAIN HOME"},
		{map[string]any{"inherit": "none", "exclude": []string{"SET"}, "includeOnly": none}, "SET=set", "PLAIN"},
	} {
		if test.policy["ignoreDefaultExcludes"] == nil {
			test.policy["ignoreDefaultExcludes"] = false
		}
		test.policy["set"] = map[string]string{"SET": "set", "B": "set"}
		id := fmt.Sprint("p", i)
		p.result(p.ask("process/start", map[string]any{
			"processId": id, "argv": []string{"/usr/bin/env"}, "cwd": "/", "env": map[string]string{"B": "env"}, "tty": false, "envPolicy": test.policy,
		}), nil)
		lines := strings.Split(p.all(id, "stdout"), "\n")
		for _, want := range strings.Fields(test.has) {
			if !contains(lines, func(line string) bool { return line == want }) {
				t.Errorf("%v: no %s in %q", test.policy, want, lines)
			}
		}
		for _, name := range strings.Fields(test.hasNot) {
			if contains(lines, func(line string) bool { return strings.HasPrefix(line, name+"=") }) {
				t.Errorf("%v: %s is in %q", test.policy, name, lines)
			}
		}
	}
}

// What makes a program load other code is refused in a sandbox to who asks for it. That the
// server happens to have it keeps nobody from a process.
func TestTheServersLoaderIsNotInherited(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", "/none")
	policy := map[string]any{"inherit": "all", "ignoreDefaultExcludes": false, "exclude": []string{}, "set": map[string]string{}, "includeOnly": []string{}}
	inherits := map[string]any{"processId": "p", "argv": []string{"/usr/bin/env"}, "cwd": "/", "env": map[string]string{}, "tty": false, "envPolicy": policy}
	held := map[string]any{"sandbox": map[string]any{"sandboxPolicy": map[string]any{"type": "read-only"}}}
	open := map[string]any{"sandbox": map[string]any{"sandboxPolicy": map[string]any{"type": "danger-full-access"}}}
	for _, test := range []struct {
		flags  []string
		change map[string]any
		want   bool
	}{
		{nil, nil, true},
		{nil, open, true},
		{nil, held, false},
		{[]string{"--sandbox", "read-only"}, nil, false},
	} {
		p, params := greet(t, serve(t, test.flags...).url), maps.Clone(inherits)
		maps.Copy(params, test.change)
		p.result(p.ask("process/start", params), nil)
		if got := p.all("p", "stdout"); strings.Contains(got, "LD_LIBRARY_PATH") != test.want || !strings.Contains(got, "TMPDIR=") {
			t.Errorf("%v, %v: %q", test.flags, test.change, got)
		}
	}
	p, params := greet(t, serve(t).url), maps.Clone(inherits)
	maps.Copy(params, held)
	params["env"] = map[string]string{"LD_LIBRARY_PATH": "/none"}
	p.refused(p.ask("process/start", params), -32600)
}

func contains(lines []string, what func(string) bool) bool {
	for _, line := range lines {
		if what(line) {
			return true
		}
	}
	return false
}

// The variables of a client go to its process as they are, but for those of the loader under
// a sandbox object.
func TestVariablesOfTheLoader(t *testing.T) {
	p, dir := greet(t, serve(t).url), openDir(t)
	start := start{ProcessID: "free", Argv: []string{"/usr/bin/env"}, Cwd: "/", Env: map[string]string{"LD_LIBRARY_PATH": "/none", "BASH_ENV": "x", "": "", "a b": "c"}}
	delete(start.Env, "")
	p.starts(start)
	if got := p.all("free", "stdout"); !strings.Contains(got, "LD_LIBRARY_PATH=/none\n") || !strings.Contains(got, "BASH_ENV=x\n") || !strings.Contains(got, "a b=c\n") {
		t.Errorf("it has %q", got)
	}
	start.ProcessID, start.Sandbox, start.Cwd = "held", workspace(dir), dir
	p.refused(p.ask("process/start", start), -32600, -32602, -32603)
	delete(start.Env, "LD_LIBRARY_PATH")
	p.starts(start)
	if got := p.all("held", "stdout"); got != "BASH_ENV=x\na b=c\n" && got != "a b=c\nBASH_ENV=x\n" {
		t.Errorf("under a sandbox it has %q", got)
	}
}

// What becomes of writes.
func TestWrites(t *testing.T) {
	p := greet(t, serve(t).url)
	write := func(id, chunk string, more map[string]any) message {
		params := map[string]any{"processId": id, "chunk": chunk}
		maps.Copy(params, more)
		return p.ask("process/write", params)
	}
	status := func(m message, want string) {
		t.Helper()
		var result struct{ Status string }
		if p.result(m, &result); result.Status != want {
			t.Errorf("the status is %s, want %s", result.Status, want)
		}
	}
	once := map[string]any{"writeId": "1"}
	status(write("none", "eA==", once), "unknownProcess")
	p.refused(write("none", "eA==", nil), -32600)

	p.starts(sh("closed", "exec sleep 600"))
	status(write("closed", "eA==", once), "stdinClosed")
	p.refused(write("closed", "eA==", nil), -32600)
	p.terminates("closed")

	cat := sh("cat", "exec cat")
	cat.PipeStdin = true
	p.starts(cat)
	for _, bad := range []string{"!", "Q", "QQ", "QQ=", "_-8=", "QUFB\n"} {
		p.refused(write("cat", bad, once), -32602)
	}
	status(write("cat", "", nil), "accepted")
	status(write("cat", base64Of("one\n"), once), "accepted")
	status(write("cat", base64Of("two\n"), once), "accepted")
	status(write("cat", base64Of("three\n"), map[string]any{"writeId": nil}), "accepted")
	p.prints("cat", "three\n")
	p.terminates("cat")
	if got := p.all("cat", "stdout"); got != "one\nthree\n" {
		t.Errorf("what comes back is %q", got)
	}
	p.refused(write("cat", "eA==", map[string]any{"writeId": "2"}), -32603)
	p.refused(write("cat", "eA==", nil), -32603, -32600)

	tty := sh("tty", "cat; echo end")
	tty.Tty = true
	p.starts(tty)
	status(write("tty", base64Of("line\n\x04"), nil), "accepted")
	if got := p.all("tty", "pty"); !strings.HasSuffix(got, "line\r\nend\r\n") {
		t.Errorf("on a terminal it is %q", got)
	}
}

// An interrupt goes to the whole group, and to nobody when there is none.
func TestInterrupts(t *testing.T) {
	p, m := greet(t, serve(t).url), newMarker()
	for _, tty := range []bool{false, true} {
		start := sh(fmt.Sprint(tty), `trap "echo got it; exit 7" INT; sleep %[1]s | sleep %[1]s; echo more`, m)
		start.Tty = tty
		p.starts(start)
		within(t, patience, "it sleeps", func() bool { return m.sleeping() == 2 })
		p.refused(p.ask("process/signal", map[string]any{"processId": start.ProcessID, "signal": "terminate"}), -32602)
		p.refused(p.ask("process/signal", map[string]any{"processId": start.ProcessID}), -32602)
		p.result(p.ask("process/signal", map[string]any{"processId": start.ProcessID, "signal": "interrupt"}), nil)
		if code := p.exits(start.ProcessID); code != 7 {
			t.Errorf("tty %t: it exits with %d", tty, code)
		}
		p.prints(start.ProcessID, "got it")
		p.closed(start.ProcessID)
		p.result(p.ask("process/signal", map[string]any{"processId": start.ProcessID, "signal": "interrupt"}), nil)
	}
	p.result(p.ask("process/signal", map[string]any{"processId": "none", "signal": "interrupt"}), nil)
}

// Two polls that wait are woken by what they wait for: output, and then the exit, of which
// the number is no chunk's.
func TestPollsWakeUp(t *testing.T) {
	p, dir := greet(t, serve(t).url), openDir(t)
	p.starts(sh("p", "until [ -e %[1]s/a ]; do sleep .01; done; echo out; until [ -e %[1]s/b ]; do sleep .01; done; exit 9", dir))
	poll := func(after int) string {
		return p.begin("process/read", map[string]any{"processId": "p", "afterSeq": after, "waitMs": 60000})
	}
	read := func(id string) (r struct {
		Chunks         []notice
		NextSeq        int
		Exited, Closed bool
		ExitCode       *int
	},
	) {
		p.result(p.answer(id), &r)
		return r
	}
	first, second := poll(0), poll(1)
	p.lives() // both wait
	touch(t, dir, "a")
	if r := read(first); len(r.Chunks) != 1 || r.NextSeq != 2 || r.Exited || r.ExitCode != nil {
		t.Errorf("the first is told %+v", r)
	}
	touch(t, dir, "b")
	if r := read(second); len(r.Chunks) != 0 || r.NextSeq < 3 || !r.Exited || *r.ExitCode != 9 {
		t.Errorf("the second is told %+v", r)
	}
	p.closed("p")
	if r := read(poll(99)); len(r.Chunks) != 0 || r.NextSeq != 4 || !r.Closed {
		t.Errorf("behind the end there is %+v", r)
	}
	var none struct{ Chunks []notice }
	p.result(p.ask("process/read", map[string]any{"processId": "p", "maxBytes": 0}), &none)
	if len(none.Chunks) != 1 {
		t.Errorf("no bytes are %d chunks", len(none.Chunks))
	}
	for _, bad := range []any{-1, 1.5, "1", true, uint64(1) << 63} {
		m := p.ask("process/read", map[string]any{"processId": "p", "afterSeq": bad})
		if bad == uint64(1)<<63 {
			p.result(m, nil) // as large as a number may be
			continue
		}
		p.refused(m, -32602)
	}
}
