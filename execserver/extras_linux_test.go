//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"fmt"
	"testing"
	"time"
)

// A process that is asked to end may do so by itself; one that does not is killed.
func TestTerminateWithGrace(t *testing.T) {
	s, m := serve(t), newMarker()
	p := greet(t, s.url)
	terminate := func(id string, grace int) {
		var result struct{ Running bool }
		p.result(p.ask("process/terminate", map[string]any{"processId": id, "durward": map[string]any{"graceMs": grace}}), &result)
		if !result.Running {
			t.Errorf("%s does not run", id)
		}
	}
	p.starts(sh("polite", `trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done # %s`, m))
	p.prints("polite", "up\n")
	terminate("polite", 60_000)
	if code := p.exits("polite"); code != 7 || p.all("polite", "stdout") != "up\nbye\n" {
		t.Errorf("what may end by itself ends with %d and says %q", code, p.all("polite", "stdout"))
	}
	p.starts(sh("deaf", `trap '' TERM; echo up; while :; do sleep 0.05; done # %s`, m))
	p.prints("deaf", "up\n")
	terminate("deaf", 3_600_000)
	terminate("deaf", 50) // the earlier end counts
	if code := p.exits("deaf"); code != 137 {
		t.Errorf("what does not end is ended with %d", code)
	}
	within(t, patience, "nobody is left", func() bool { return m.alive() == 0 })
}

// Processes are listed for their own session, until they are forgotten.
func TestProcessesAreListed(t *testing.T) {
	s, m := serve(t), newMarker()
	p, q := greet(t, s.url), greet(t, s.url)
	p.starts(sh("lives", "exec sleep %s", m))
	p.starts(sh("ends", "exit 3"))
	p.closed("ends")
	var list struct {
		Processes []struct {
			ProcessID, Argv0 string
			StartedAtMs      int64
			Exited, Closed   bool
			ExitCode         *int
			TTY              bool
		}
	}
	p.result(p.ask("durward/process/list", map[string]any{}), &list)
	if len(list.Processes) != 2 {
		t.Fatalf("it lists %+v", list.Processes)
	}
	for _, one := range list.Processes {
		ended := one.ProcessID == "ends"
		began := time.UnixMilli(one.StartedAtMs)
		if one.Exited != ended || one.Closed != ended || one.Argv0 == "" || one.TTY || ended != (one.ExitCode != nil && *one.ExitCode == 3) ||
			time.Since(began) > time.Hour || time.Until(began) > time.Minute {
			t.Errorf("it lists %+v", one)
		}
	}
	q.result(q.ask("durward/process/list", map[string]any{}), &list)
	if len(list.Processes) != 0 {
		t.Errorf("another session is told %+v", list.Processes)
	}
	p.terminates("lives")
}

// What the operator or the session bounds ends a process that goes beyond.
func TestBoundsOfProcesses(t *testing.T) {
	session := func(limits map[string]any) map[string]any {
		return map[string]any{"clientName": "x", "durward": map[string]any{"limits": limits}}
	}
	for name, test := range map[string]struct {
		flags  []string
		params map[string]any
		script string
	}{
		"wall by the operator":      {[]string{"--limit-wall", "300ms"}, session(nil), "exec sleep %s"},
		"wall by the session":       {nil, session(map[string]any{"wallMs": 300}), "exec sleep %s"},
		"the lower of the two":      {[]string{"--limit-wall", "1h"}, session(map[string]any{"wallMs": 300}), "exec sleep %s"},
		"a session widens nothing":  {[]string{"--limit-wall", "300ms"}, session(map[string]any{"wallMs": 3_600_000}), "exec sleep %s"},
		"processor by the operator": {[]string{"--limit-cpu", "200ms"}, session(nil), "while :; do :; done # %s"},
		"memory by the session":     {nil, session(map[string]any{"memoryBytes": 32 << 20}), "x=$(head -c 200000000 /dev/zero | tr '\\0' a); echo $x | wc -c; exec sleep %s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := serve(t, test.flags...), newMarker()
			p := dial(t, s.url)
			p.begins(test.params)
			p.starts(sh("p", test.script, m))
			p.exits("p")
			p.closed("p")
			var read struct{ Failure *string }
			p.result(p.ask("process/read", map[string]any{"processId": "p"}), &read)
			if read.Failure == nil {
				t.Error("nothing tells why it ended")
			}
			if n := m.alive(); n != 0 {
				t.Errorf("%d of it live", n)
			}
		})
	}
}

// A session has as many processes as it may, and the next one once one of them has ended.
func TestNumberOfProcesses(t *testing.T) {
	s, m := serve(t, "--limit-processes", "3"), newMarker()
	p := greet(t, s.url)
	for i := range 3 {
		p.starts(sh(fmt.Sprint(i), "exec sleep %s", m))
	}
	p.refused(p.ask("process/start", sh("more", "exec sleep %s", m)), -32600)
	p.terminates("0")
	p.closed("0")
	p.starts(sh("more", "exec sleep %s", m))
	p.terminates("1")
	p.terminates("2")
	p.terminates("more")
}
