package execserver_test

import (
	"fmt"
	"strings"
	"testing"
)

// What is told of a process comes in order, however many there are: the answer to its start,
// its outputs, its exit and its close, each with the next number.
func TestOrderOfManyProcesses(t *testing.T) {
	const peers, processes = 4, 25
	s := serve(t)
	var all [peers]*peer
	for i := range all {
		all[i] = greet(t, s.url)
	}
	var started [peers][processes]string
	for j := range processes {
		for i, p := range all {
			started[i][j] = p.begin("process/start", sh(fmt.Sprint("p", j), "echo a; echo b >&2; echo c; exit %d", j))
		}
	}
	for i, p := range all {
		for j := range processes {
			id := fmt.Sprint("p", j)
			p.result(p.answer(started[i][j]), nil)
			if code := p.exits(id); code != j {
				t.Errorf("%s exits with %d", id, code)
			}
			p.inOrder(id)
			if out, err := p.all(id, "stdout"), p.all(id, "stderr"); out != "a\nc\n" || err != "b\n" {
				t.Errorf("%s writes %q and %q", id, out, err)
			}
			p.startedFirst(started[i][j], id)
		}
	}
}

// startedFirst wants the answer to a start to have come before all that is told of the process.
func (p *peer) startedFirst(request, id string) {
	p.t.Helper()
	m := p.first("news of "+request, func(m message) bool {
		return m.Method == "" && m.id == request || m.Method != "" && m.Params.ProcessID == id
	})
	if m.Method != "" {
		p.t.Errorf("before the answer to its start: %.300s", m.text)
	}
}

// A burst of lines arrives as it was written, and each of the chunks is small.
func TestBurst(t *testing.T) {
	p := greet(t, serve(t).url)
	p.starts(sh("p", "i=0; while [ $i -lt 10000 ]; do echo line $i; i=$((i + 1)); done"))
	var want strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got := p.all("p", "stdout"); got != want.String() {
		t.Errorf("%d bytes came of %d, or others", len(got), want.Len())
	}
	p.inOrder("p")
	for _, m := range p.of("p") {
		if len(m.Params.Chunk) > 8192 {
			t.Errorf("a chunk of %d bytes", len(m.Params.Chunk))
		}
	}
}

// Writes to one process are delivered in the order in which they came, of which the client
// has not waited for any.
func TestOrderOfWrites(t *testing.T) {
	p := greet(t, serve(t).url)
	cat := sh("p", "exec cat")
	cat.PipeStdin = true
	p.starts(cat)
	var want strings.Builder
	var last string
	for i := range 1000 {
		line := fmt.Sprintf("write %d\n", i)
		want.WriteString(line)
		last = p.begin("process/write", map[string]any{"processId": "p", "chunk": []byte(line), "writeId": fmt.Sprint(i)})
	}
	p.result(p.answer(last), nil)
	p.prints("p", "write 999\n")
	if !p.terminates("p") {
		t.Error("it does not run")
	}
	if got := p.all("p", ""); got != want.String() {
		t.Errorf("%d bytes came of %d, or in another order", len(got), want.Len())
	}
	p.inOrder("p")
}

// Of starts with the same id that are sent at once, the first is the one.
func TestStartsWithTheSameID(t *testing.T) {
	p := greet(t, serve(t).url)
	for round := range 20 {
		id := fmt.Sprint("p", round)
		var asked []string
		for i := range 5 {
			asked = append(asked, p.begin("process/start", sh(id, "echo %d", i)))
		}
		p.result(p.answer(asked[0]), nil)
		for _, other := range asked[1:] {
			p.refused(p.answer(other), -32600)
		}
		if got := p.all(id, "stdout"); got != "0\n" {
			t.Errorf("it writes %q", got)
		}
		p.inOrder(id)
	}
}

// A process whose output is all there can be read as it was told, to its end.
func TestReadIsWhatWasTold(t *testing.T) {
	p := greet(t, serve(t).url)
	p.starts(sh("p", "echo a; echo b >&2; exit 3"))
	p.closed("p")
	var read struct {
		Chunks                 []notice
		NextSeq, ExitCode      int
		Exited, Closed, Denied bool
		Failure                *string
	}
	p.result(p.ask("process/read", map[string]any{"processId": "p"}), &read)
	told := p.of("p")
	if read.NextSeq != len(told)+1 || !read.Exited || !read.Closed || read.ExitCode != 3 || read.Failure != nil {
		t.Errorf("%d notifications, then %+v", len(told), read)
	}
	for _, c := range read.Chunks {
		if n := told[c.Seq-1].Params; n.Stream != c.Stream || string(n.Chunk) != string(c.Chunk) {
			t.Errorf("number %d was %+v and is %+v", c.Seq, n, c)
		}
	}
}
