package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A living is a server that is talked with while its surroundings change.
type living struct {
	*talk
	dir string
}

// live starts durward mcp under a policy, in a directory of its own with these files.
func live(t *testing.T, policy string, files map[string]string, flags ...string) living {
	t.Helper()
	dir := openDir(t)
	plant(t, filepath.Join(dir, "policy.yaml"), policy)
	for name, text := range files {
		plant(t, filepath.Join(dir, name), text)
	}
	line := append([]string{"durward", "mcp", "--config", "policy.yaml"}, flags...)
	return living{talkWith(t, line, func(c *exec.Cmd) {
		c.Dir, c.Env = dir, append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(dir, "state"))
	}), dir}
}

// asks sends a request and wants its answer.
func (l living) asks(request, answer string) {
	l.t.Helper()
	l.sends([]byte(`{"jsonrpc":"2.0","id":1,` + request + `}`))
	l.gets([]byte(`{"jsonrpc":"2.0","id":1,` + answer + `}`))
}

func (l living) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// records gives all that is on record by now.
func (l living) records() string {
	l.t.Helper()
	var all strings.Builder
	files, err := filepath.Glob(filepath.Join(l.dir, "state", "audit", "*.jsonl"))
	l.must(err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		l.must(err)
		all.Write(text)
	}
	return all.String()
}

// awaitText waits until a text has a pattern in it.
func awaitText(t *testing.T, text func() string, pattern string) {
	t.Helper()
	is := regexp.MustCompile(pattern)
	for end := time.Now().Add(time.Minute); !is.MatchString(text()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is no %s in\n%s", pattern, text())
		}
	}
}

// awaitFile waits until a file is there.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	awaitText(t, func() string { there, _ := filepath.Glob(path); return strings.Join(there, " ") }, ".")
}

const (
	written  = `"result":{"bytesWritten":1,"sha256":"…"}`
	readIt   = `"result":{"data":"…","bytesRead":6,"sha256":"…"}`
	ranIt    = `"result":{"exitCode":0,"stdout":"…","stderr":"","timedOut":false,"truncated":false}`
	readFile = `"method":"fs.read","params":{"path":"one/file"}`
)

func writeTo(path string) string {
	return `"method":"fs.write","params":{"path":"` + path + `","data":"x","overwrite":true}`
}

func runs(id string) string { return `"method":"cmd.run","params":{"commandId":"` + id + `"}` }

func denied(rule string) string {
	return `"error":{"code":-31001,"message":"…","data":{"code":"POLICY_DENY","rule":"` + rule + `","method":"…","path":"…","policyHash":"…"}}`
}

// A zone or a root that is removed, or comes back, is missed by nobody who does not use it.
func TestZonesAndRootsComeAndGo(t *testing.T) {
	l := live(t, `version: 1
allowedRoots: [/proc/self/cwd/one, /proc/self/cwd/two]
writeRules:
  - {path: /proc/self/cwd/one/zone, recursive: true, createIfMissing: true}
  - {path: /proc/self/cwd/one/flat}
commands: [{id: list, exec: ls}]
`, map[string]string{"one/file": "hello\n", "one/zone/.keep": "", "one/flat/.keep": "", "two/file": "hello\n"})
	others := func() {
		t.Helper()
		l.asks(readFile, readIt)
		l.asks(writeTo("one/flat/a"), written)
		l.asks(runs("list"), ranIt)
	}
	others()
	l.must(os.RemoveAll(l.dir + "/one/zone"))
	others()
	l.asks(writeTo("one/zone/deep/a"), written)
	if text, err := os.ReadFile(l.dir + "/one/zone/deep/a"); string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	l.must(os.RemoveAll(l.dir + "/two"))
	others()
	l.must(os.RemoveAll(l.dir + "/one/zone"))
	l.must(os.Symlink("/etc", l.dir+"/one/zone"))
	others()
	l.asks(writeTo("one/zone/durward"), denied("outsideAllowedRoots"))
	if _, err := os.Lstat("/etc/durward"); err == nil {
		t.Error("it is written outside")
	}
	l.ends()
}

const reloaded = `version: 1
allowedRoots: [/proc/self/cwd/one]
commands: [{id: list, exec: ls}, {id: wait, exec: sh, args: {fixed: [-c, "touch begun; until test -e go; do sleep 0.01; done"]}}]
writeRules: [{path: /proc/self/cwd/one, recursive: true}]
`

// SIGHUP has the policy read anew: calls in flight keep theirs, clients hear of other
// commands, and a policy with a mistake changes nothing.
func TestThePolicyIsReadAnew(t *testing.T) {
	l := live(t, reloaded, map[string]string{"one/file": "hello\n"}, "--reload", "--log-level", "info")
	l.must(os.Chmod(l.dir+"/one", 0o777))
	l.sends([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	l.gets([]byte(`{"jsonrpc":"2.0","id":1,"result":"…"}`))
	l.sends([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	l.sends([]byte(`{"jsonrpc":"2.0","id":"slow","method":"cmd.run","params":{"commandId":"wait"}}`))
	awaitFile(t, l.dir+"/one/begun")

	plant(t, l.dir+"/policy.yaml", "version: 1\nallowedRoots: [/proc/self/cwd/one]\nallowedRoot: [/]\n")
	l.must(l.cmd.Process.Signal(syscall.SIGHUP))
	awaitText(t, l.records, `"cause":"policy.reload","policyHash":"[0-9a-f]{64}"`)
	l.asks(runs("list"), ranIt)

	plant(t, l.dir+"/policy.yaml", "version: 1\nallowedRoots: [/proc/self/cwd/one]\n")
	l.must(l.cmd.Process.Signal(syscall.SIGHUP))
	l.gets([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`))
	l.asks(runs("list"), `"error":{"code":-31001,"message":"…","data":{"code":"POLICY_DENY","rule":"commandNotFound","method":"cmd.run","commandId":"list","policyHash":"…"}}`)
	l.asks(writeTo("one/go"), denied("outsideWriteZones"))
	plant(t, l.dir+"/one/go", "")
	l.gets([]byte(`{"jsonrpc":"2.0","id":"slow",` + ranIt + `}`))
	l.ends()

	noted := l.noted.String()
	for _, want := range []string{`the policy stays as it was`, `policy.yaml:3:1: unknown field`, `the policy was read anew`} {
		if !strings.Contains(noted, want) {
			t.Errorf("the log does not say %q:\n%s", want, noted)
		}
	}
	hashes := regexp.MustCompile(`"phase":"event".*"cause":"([a-z.]+)","policyHash":"([0-9a-f]{64})"(?:,"formerPolicyHash":"([0-9a-f]{64})")?`).FindAllStringSubmatch(l.records(), -1)
	if len(hashes) != 3 || hashes[0][1] != "policy.load" || hashes[1][2] != hashes[0][2] || hashes[1][3] != "" ||
		hashes[2][1] != "policy.reload" || hashes[2][2] == hashes[0][2] || hashes[2][3] != hashes[0][2] {
		t.Errorf("on record is %q", hashes)
	}
}

// Without --reload SIGHUP changes nothing, and ends nothing.
func TestSIGHUPIsNothing(t *testing.T) {
	l := live(t, reloaded, map[string]string{"one/file": "hello\n"})
	l.asks(readFile, readIt)
	plant(t, l.dir+"/policy.yaml", "version: 1\nallowedRoots: [/proc/self/cwd/one]\n")
	l.must(l.cmd.Process.Signal(syscall.SIGHUP))
	l.asks(runs("list"), ranIt)
	l.ends()
	if strings.Contains(l.records(), "policy.reload") {
		t.Error("the policy was read anew")
	}
}

// What the policy redacts is neither on record nor in the log; the digest of what was read
// is.
func TestRedactedMembersAreNowhere(t *testing.T) {
	const secret = "hidden-name"
	l := live(t, `version: 1
allowedRoots: [/proc/self/cwd/one]
logging: {level: debug, redact: [env, args, path, cwd, stdin]}
commands: [{id: list, exec: ls, args: {any: true}}]
`, map[string]string{"one/" + secret + "/file": "hello\n"})
	l.asks(`"method":"fs.read","params":{"path":"one/`+secret+`/file"}`, readIt)
	l.asks(`"method":"fs.read","params":{"path":"one/`+secret+`/none"}`, `"error":"…"`)
	l.asks(`"method":"fs.read","params":{"path":"/`+secret+`"}`, `"error":"…"`)
	l.asks(`"method":"cmd.run","params":{"commandId":"list","cwd":"one/`+secret+`","args":["`+secret+`"]}`, `"result":"…"`)
	l.asks(`"method":"cmd.run","params":{"commandId":"list","cwd":"/`+secret+`"}`, `"error":"…"`)
	l.ends()
	records := l.records()
	for where, text := range map[string]string{"records": records, "log": l.noted.String()} {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("the %s tell it: %s", where, text[max(0, at-200):at+len(secret)])
		}
	}
	for _, member := range []string{`"path":`, `"cwd":`, `"args":`} {
		if strings.Contains(records, member) {
			t.Errorf("%s is on record", member)
		}
	}
	if !strings.Contains(records, `"sha256":"5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"`) {
		t.Error("the digest of what was read is missing")
	}
}

// The end of an output is kept where the policy wants it.
func TestTheTailOfAnOutput(t *testing.T) {
	l := live(t, `version: 1
allowedRoots: [/proc/self/cwd/one]
outputRetention: tail
commands: [{id: count, exec: seq, args: {fixed: ["1000"]}, maxOutputBytes: 9}]
`, map[string]string{"one/file": ""})
	l.asks(runs("count"), `"result":{"exitCode":0,"stdout":"999\n1000\n","stderr":"","timedOut":false,"truncated":true}`)
	l.ends()
}

// A call that waited in vain for a slot is told so, and how long it waited is on record.
func TestACallWithoutASlot(t *testing.T) {
	l := live(t, `version: 1
allowedRoots: [/proc/self/cwd/one]
limits: {maxCmdConcurrency: 1}
writeRules: [{path: /proc/self/cwd/one, recursive: true}]
commands: [{id: wait, exec: sh, args: {fixed: [-c, "touch begun; until test -e go; do sleep 0.01; done"]}}]
`, map[string]string{"one/file": ""})
	l.must(os.Chmod(l.dir+"/one", 0o777))
	l.sends([]byte(`{"jsonrpc":"2.0","id":"slow","method":"cmd.run","params":{"commandId":"wait"}}`))
	awaitFile(t, l.dir+"/one/begun")
	l.asks(`"method":"cmd.run","params":{"commandId":"wait","timeoutMs":50}`,
		`"error":{"code":-31002,"message":"the deadline passed","data":{"code":"TIMEOUT","rule":"concurrency","method":"cmd.run","commandId":"wait","timeoutMs":50,"timedOut":true,"stdout":"","stderr":"","policyHash":"…"}}`)
	plant(t, l.dir+"/one/go", "")
	l.gets([]byte(`{"jsonrpc":"2.0","id":"slow",` + ranIt + `}`))
	l.ends()
	if waited := regexp.MustCompile(`"code":"timeout".*"queueMs":([0-9]+)`).FindStringSubmatch(l.records()); len(waited) == 0 || len(waited[1]) < 2 {
		t.Errorf("on record are %q milliseconds:\n%s", waited, l.records())
	}
}

// When a client goes away, what runs for it is ended, whatever it ignores.
func TestAClientThatGoesAwayLeavesNothing(t *testing.T) {
	for name, goes := range map[string]func(l living){
		"nobody reads any more": func(l living) {
			l.must(l.heard.Close())
			l.sends([]byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)) // so that there is something to say
		},
		"both ends close":   func(l living) { l.must(l.heard.Close()); l.must(l.in.Close()) },
		"it is told to end": func(l living) { l.must(l.cmd.Process.Signal(syscall.SIGTERM)) },
		"it is killed":      func(l living) { l.must(l.cmd.Process.Kill()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := live(t, `version: 1
allowedRoots: [/proc/self/cwd/one]
writeRules: [{path: /proc/self/cwd/one, recursive: true}]
commands: [{id: wait, exec: sh, args: {fixed: [-c, "trap '' TERM; exec 3>held; echo >&3; sleep 1000 & sleep 1000"]}}]
`, map[string]string{"one/file": ""})
			l.must(os.Chmod(l.dir+"/one", 0o777))
			l.must(errors.Join(syscall.Mkfifo(l.dir+"/one/held", 0o666), os.Chmod(l.dir+"/one/held", 0o666)))
			l.sends([]byte(`{"jsonrpc":"2.0","id":1,"method":"cmd.run","params":{"commandId":"wait"}}`))
			held, err := os.Open(l.dir + "/one/held")
			l.must(err)
			defer held.Close()
			if n, err := held.Read(make([]byte, 1)); n != 1 {
				t.Fatal(err)
			}
			goes(l)
			if n, err := held.Read(make([]byte, 1)); n != 0 || err != io.EOF { // once nobody has it open for writing
				t.Errorf("%d, %v", n, err)
			}
			_ = l.in.Close()
			_ = l.cmd.Wait() // how it ends is another question
		})
	}
}
