//go:build abuse && (amd64 || arm64)

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// Servers, and what they start, have of the environment of a hub what their configuration names.
func TestServersDoNotSeeTheEnvironmentOfTheHub(t *testing.T) {
	h := keepHub(t, map[string]string{
		"plain": livingServer,
		"told": `{"command":"FIXTURE","args":["any"],"env":{"OWN":"literal","WHOLE":"${CANARY_EXPANDED}-x"},
			"x-gateway":{"pathPolicy":"off","inheritEnv":["CANARY_NAMED","CANARY_MISSING"]}}`,
		"confined": `{"command":"FIXTURE","args":["any"],"x-gateway":{"pathPolicy":"off","sandbox":{"mode":"read-only","filesystem":{"read":["@system","DIR/bin"],"exec":["DIR/bin"]},"network":{"mode":"none"}}}}`,
		"ours":     `{"command":"durward","args":["mcp","--files","${workspaceFolder}"]}`,
	}, "CANARY_SECRET=canary-1", "AWS_SECRET_ACCESS_KEY=canary-2", "PGPASSWORD=canary-3", "LD_CANARY=canary-4", "CANARY_NAMED=named-5", "CANARY_EXPANDED=expanded-6")
	pids := h.runs("plain", "told", "confined", "ours")
	markers := map[string]string{}
	for i, server := range []string{"plain", "told"} {
		markers[server] = fmt.Sprintf("8%d%08d", i, os.Getpid())
		if got := h.does(server, `{"tool":"fork","text":"`+markers[server]+`"}`); !strings.Contains(got, "success") {
			t.Fatal(got)
		}
		eventually(t, "somebody was started", func() bool { return running("sleep\x00" + markers[server] + "\x00") })
	}
	all, told := descendants(t, h.cmd.Process.Pid), descendants(t, pids[1])
	for _, pid := range pids {
		if _, ok := all[pid]; !ok {
			t.Errorf("process %d is not one of %v", pid, all)
		}
	}
	seen := 0
	for pid := range all {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Error(err)
			continue
		}
		if seen++; bytes.Contains(environment, []byte("canary-")) {
			t.Errorf("process %d has %q", pid, environment)
		}
		_, begotten := told[pid]
		_, keeps := descendants(t, pid)[pids[1]] // it goes with the server
		for _, variable := range []string{"CANARY_NAMED=named-5", "OWN=literal", "WHOLE=expanded-6-x"} {
			if has := bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+variable+"\x00")); has != (keeps || begotten || pid == pids[1]) {
				t.Errorf("process %d has %s: %v, want %v", pid, variable, has, !has)
			}
		}
	}
	if seen < len(pids)+len(markers) {
		t.Errorf("only %d processes were looked at: %v", seen, all)
	}
}

// A server that is confined reads and reaches what its sandbox lets it, and its report says what
// holds that.
func TestServersAreConfined(t *testing.T) {
	allowed, other := speaker(t, "allowed"), speaker(t, "other")
	const sandbox = `{"command":"FIXTURE","args":["any"],"x-gateway":{"pathPolicy":"off","sandbox":{"mode":"read-only",` +
		`"filesystem":{"read":["@system","DIR/bin","${workspace}"],"exec":["DIR/bin"]},"network":NETWORK}}}`
	h := keepHub(t, map[string]string{
		"free":   livingServer,
		"closed": strings.Replace(sandbox, "NETWORK", `{"mode":"none"}`, 1),
		"one":    strings.Replace(sandbox, "NETWORK", `{"mode":"allowlist","allow":["`+allowed+`"]}`, 1),
	})
	h.write("outside.txt", "secret")
	h.write("work/inside.txt", "hello")
	h.runs("free", "closed", "one")
	read := func(name string) string { return `{"tool":"read","path":"` + h.path(name) + `"}` }
	write := func(name string) string { return `{"tool":"mark","path":"` + h.path(name) + `"}` }
	dial := func(to string) string { return `{"tool":"dial","addr":"` + to + `"}` }
	for _, test := range []struct {
		server, arguments, want string
	}{
		{"free", read("outside.txt"), `"output":"secret"`},
		{"free", dial(other), `"output":"other"`},
		{"closed", read("work/inside.txt"), `"output":"hello"`},
		{"closed", read("outside.txt"), `"status":"error"`},
		{"closed", read("work/../outside.txt"), `"status":"error"`},
		{"closed", read("servers.json"), `"status":"error"`},
		{"closed", dial(allowed), `"status":"error"`},
		{"closed", dial(other), `"status":"error"`},
		{"one", read("work/inside.txt"), `"output":"hello"`},
		{"one", read("outside.txt"), `"status":"error"`},
		{"one", dial(allowed), `"output":"allowed"`},
		{"one", dial(other), `"status":"error"`},
	} {
		if got := h.does(test.server, test.arguments); !strings.Contains(got, test.want) || strings.Contains(got, "secret") != (test.want == `"output":"secret"`) {
			t.Errorf("%s %s: %s", test.server, test.arguments, got)
		}
	}
	for _, server := range []string{"closed", "one"} { // what they write, if anything, is theirs alone
		h.does(server, write("work/made"))
		if _, err := os.Lstat(h.path("work/made")); !os.IsNotExist(err) {
			t.Errorf("%s writes: %v", server, err)
		}
	}
	at := h.health()
	if at.Details["free"].Sandbox != nil {
		t.Errorf("a server without a sandbox has a report")
	}
	for _, server := range []string{"closed", "one"} {
		report := at.Details[server].Sandbox
		if report == nil || report.Mode != "read-only" || report.Guarantees["fs.read"].Held != "kernel" || report.Guarantees["net"].Held != "kernel" {
			t.Errorf("%s is held to %+v", server, report)
		}
	}
}

// speaker listens on loopback, says one word to everybody, and gives its address.
func speaker(t *testing.T, word string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Write([]byte(word))
			c.Close()
		}
	}()
	return l.Addr().String()
}
