package execserver_test

import (
	"strings"
	"testing"
)

// The example session in the document of the protocol, sent as it is written there. The
// answers are those of it, with more members, but for what real terminals and signals do: the
// output of a terminal is a stream by itself, with an echo and lines that end in two bytes,
// and who is killed does not exit with 0.
func TestExampleSession(t *testing.T) {
	p := dial(t, serve(t).url)
	p.says(`{"id":1,"method":"initialize","params":{"clientName":"example-client"}}`)
	var first map[string]any
	p.result(p.answer("1"), &first)
	p.says(`{"method":"initialized","params":{}}`)

	p.says(`{"id":2,"method":"process/start","params":{"processId":"proc-1","argv":["bash","-lc","printf 'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' \"$line\"; done"],"cwd":"/tmp","env":{"PATH":"/usr/bin:/bin"},"tty":true,"arg0":null}}`)
	var second struct{ ProcessID string }
	p.result(p.answer("2"), &second)
	if second.ProcessID != "proc-1" {
		t.Errorf("%q was started", second.ProcessID)
	}
	p.prints("proc-1", "ready\r\n")

	p.says(`{"id":3,"method":"process/write","params":{"processId":"proc-1","chunk":"aGVsbG8K"}}`)
	var third struct{ Status string }
	p.result(p.answer("3"), &third)
	if third.Status != "accepted" {
		t.Errorf("the write is %s", third.Status)
	}
	p.prints("proc-1", "echo:hello\r\n")

	p.says(`{"id":4,"method":"process/terminate","params":{"processId":"proc-1"}}`)
	var fourth struct{ Running bool }
	p.result(p.answer("4"), &fourth)
	if !fourth.Running {
		t.Error("it was not running")
	}
	if code := p.exits("proc-1"); code != 137 {
		t.Errorf("it exits with %d", code)
	}
	if all := p.all("proc-1", "pty"); !strings.Contains(all, "ready\r\n") || !strings.HasSuffix(all, "echo:hello\r\n") {
		t.Errorf("it writes %q", all)
	}
	p.inOrder("proc-1")
}

// inOrder wants the notifications about a process that is closed to have come in the order of
// their numbers, of which none is missing: outputs, one exit among them, and the close.
func (p *peer) inOrder(id string) {
	p.t.Helper()
	p.closed(id)
	exits := 0
	all := p.of(id)
	for i, m := range all {
		if m.Params.Seq != i+1 {
			p.t.Errorf("%s: number %d comes as number %d: %.200s", id, m.Params.Seq, i+1, m.text)
			break
		}
		if m.Method == "process/exited" {
			exits++
		}
	}
	if last := all[len(all)-1].Method; exits != 1 || last != "process/closed" {
		p.t.Errorf("%s: %d exits, and %s is the last", id, exits, last)
	}
}
