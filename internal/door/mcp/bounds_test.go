package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/jsonrpc"
)

func command(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"cmd.run","params":{"commandId":"rg"}}`, id)
}

func cancel(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}

const refusedBusy = `"message":"no slot is free and the queue is full","data":{"code":"TIMEOUT","rule":"concurrency","method":"cmd.run","commandId":"rg",`

// However many calls there are, others are answered at once, and so is a call too many.
func TestTheLoopRunsNoCall(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		p.say(initialize)
		p.hears()
		for i := range maxCalls {
			p.say(command(1000 + i))
		}
		p.expect("")
		if len(h.began) != maxAtOnce {
			t.Errorf("%d calls have begun", len(h.began))
		}
		p.say(ping)
		p.expect(result("1", "{}"))
		p.say(listTools)
		if got := p.hears(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"tools":`) {
			t.Errorf("tools/list is answered with %s", got)
		}
		p.say(slow)
		if got := p.hears(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"slow","error":{"code":-31002,`+refusedBusy) {
			t.Errorf("a call too many is answered with %s", got)
		}
		p.say(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"rg"}}}`)
		if got := p.hears(); !strings.Contains(got, `"text":"TIMEOUT (concurrency): `) {
			t.Errorf("a call too many is answered with %s", got)
		}
		p.say(strings.Replace(slow, `"id":"slow",`, "", 1)) // a notification
		p.expect("")
		for i := range maxCalls { // those that wait first
			p.say(cancel(1000 + maxCalls - 1 - i))
		}
		p.expect("")
		if len(h.began) != maxAtOnce || len(h.ended) != maxAtOnce {
			t.Errorf("%d calls have begun, and %d of them ended", len(h.began), len(h.ended))
		}
		p.say(slow)
		p.hears()
		h.let <- durward.Result{Exit: exit(0)}
		p.expect(slowResult)
	})
}

// A call that waits for its place begins when one before it is over, in order.
func TestCallsBeginInOrder(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		for i := range maxAtOnce + 10 {
			p.say(command(i))
		}
		p.hears()
		for range maxAtOnce {
			<-h.began
		}
		for i := range 10 {
			h.let <- durward.Result{Exit: exit(0)}
			p.hears()
			if c := <-h.began; c.ClientID != fmt.Sprint(maxAtOnce+i) {
				t.Errorf("call %s began, want %d", c.ClientID, maxAtOnce+i)
			}
		}
	})
}

// A command waits for its place as long as it may run; reads do not wait for commands.
func TestACommandThatWaitsInVain(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		for i := range maxAtOnce {
			p.say(command(i))
		}
		p.say(strings.Replace(slow, `{"commandId":"rg"}`, `{"commandId":"rg","timeoutMs":500}`, 1))
		p.expect("")
		p.say(`{"jsonrpc":"2.0","id":"read","method":"fs.read","params":{"path":"a"}}`)
		p.hears()
		if len(h.began) != maxAtOnce+1 {
			t.Error("a read waits for commands")
		}
		time.Sleep(500 * time.Millisecond)
		if got := p.hears(); !strings.Contains(got, `"id":"slow","error":{"code":-31002,`) || !strings.Contains(got, `"rule":"concurrency"`) || !strings.Contains(got, `"timeoutMs":500`) {
			t.Errorf("it is answered with %s", got)
		}
	})
}

// As many commands run at once as the policy says, however much they may print, and as many
// reads as fit.
func TestWhatRunsAtOnce(t *testing.T) {
	surface := Surface{MaxReadBytes: 5_000_000, MaxCommands: 8, Commands: []Command{{ID: "small", MaxOutputBytes: 1}, {ID: "large", MaxOutputBytes: 1 << 30}}}
	tests := []struct {
		name, method, params string
		want                 int
	}{
		{"small commands", "cmd.run", `{"commandId":"small"}`, maxAtOnce},
		{"large commands", "cmd.run", `{"commandId":"large"}`, 8},
		{"whole files", "fs.read", `{"path":"a"}`, leastReads},
		{"ends of files", "fs.read", `{"path":"a","offset":4999000}`, maxAtOnce},
		{"parts of files", "fs.read", `{"path":"a","length":1000000}`, 11},
		{"lengths that are none", "fs.read", `{"path":"a","length":"x"}`, leastReads},
		{"what is written", "fs.write", `{"path":"a","data":"` + strings.Repeat("x", maxFiles/16) + `"}`, 7},
	}
	for _, tt := range tests {
		var h *held
		prepare := func(o *Options) {
			h = newHeld()
			o.Runtime, o.Surface = h, func() Surface { return surface }
		}
		connectWith(t, options(nothing(t)), prepare, func(p *peer) {
			for i := range min(2*tt.want, maxAtOnce+10) {
				p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, i, tt.method, tt.params))
			}
			p.expect("")
			if len(h.began) != tt.want {
				t.Errorf("%s: %d at once, want %d", tt.name, len(h.began), tt.want)
			}
		})
	}
}

// Requests that wait are bounded in bytes, too, and one that is over leaves room.
func TestLargeRequestsThatAreTooMany(t *testing.T) {
	o := options(nothing(t))
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	s := newSession(o, io.Discard)
	admit := func() task {
		t := task{reply: s.direct(request{Message: jsonrpc.Message{Method: string(fsWrite)}, surface: surface()})}
		s.admit(&t, jsonrpc.MaxLineBytes)
		return t
	}
	var last task
	for range maxTaken / jsonrpc.MaxLineBytes {
		if last = admit(); last.reply.call == nil {
			t.Fatalf("a request is refused: %v", last.reply.bad)
		}
	}
	if more := admit(); more.reply.call != nil || more.reply.bad.Code != timeout.code() {
		t.Errorf("one request too many: %+v", more.reply)
	}
	last.taken.free()
	if next := admit(); next.reply.call == nil {
		t.Errorf("a request is refused: %v", next.reply.bad)
	}
}

// Input that is no conversation is read as fast as its calls go, and all are carried out.
func TestMoreCallsThanFitOfAFile(t *testing.T) {
	const calls = 3 * maxCalls
	o := options(double(echo))
	o.Patient = true
	said := converse(t, o, requests(1, calls, "\n", `"cmd.run","params":{"commandId":"rg"}}`))
	if got := strings.Count(said, `"stdout":"rg"`); got != calls {
		t.Errorf("%d of %d calls are answered", got, calls)
	}
}

// A session that is patient ends when it is told to, too.
func TestAPatientSessionEnds(t *testing.T) {
	var h *held
	connectWith(t, options(nothing(t)), func(o *Options) { h = newHeld(); o.Runtime, o.Patient = h, true }, func(p *peer) {
		for i := range maxCalls + 1 {
			p.say(command(i))
		}
		p.expect("")
		p.end()
		time.Sleep(grace)
		if err, over := p.over(); err != nil || !over {
			t.Errorf("Serve: %v, over %t", err, over)
		}
		if got := strings.Count(p.hears(), `"code":"IO_ERROR"`); got != maxCalls+1 {
			t.Errorf("%d calls are answered", got)
		}
	})
}

// A call that is refused at once is on record, once.
func TestACallTooManyIsOnRecord(t *testing.T) {
	var log coretest.Memory
	let := make(chan struct{})
	road, err := core.New(core.Options{
		Source: core.Catalogue{{ID: cmdRun, Engine: "script"}}, Policy: coretest.AllowAll(durward.Grant{}), Recorder: &log, MaxConcurrent: maxCalls,
		Engines: map[string]core.Engine{"script": &coretest.Script{OnRun: func(context.Context, durward.Call) (durward.Result, error) {
			<-let
			return durward.Result{Exit: exit(0)}, nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	answers, said := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), options(road), in, said); _ = said.Close() }()
	for i := range maxCalls + 1 {
		_, _ = fmt.Fprintln(out, command(i))
	}
	first := make([]byte, 1)
	if _, err := answers.Read(first); err != nil { // that of the one too many
		t.Fatal(err)
	}
	close(let)
	_ = out.Close()
	rest, _ := io.ReadAll(answers)
	if err := <-served; err != nil || strings.Count(string(rest), "\n") != maxCalls+1 {
		t.Errorf("%v, %d answers", err, strings.Count(string(rest), "\n"))
	}
	refused := 0
	for _, r := range log.Records(t) {
		if r["clientId"] == fmt.Sprint(maxCalls) {
			refused++
			if r["phase"] != "deny" || r["code"] != string(durward.QueueFull) || r["rule"] != "concurrency" || r["surface"] != "direct" {
				t.Errorf("the record says %v", r)
			}
		}
	}
	if refused != 1 {
		t.Errorf("there are %d records", refused)
	}
}

// heap is how much memory is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// connectReader gives an input to a session in a bubble of its own, and its output.
func connectReader(t *testing.T, o Options, input string, read func(answers *bufio.Reader, served <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- Serve(t.Context(), o, in, out); _ = out.Close() }()
		go func() { _, _ = io.WriteString(toServer, input); _ = toServer.Close() }()
		read(bufio.NewReader(fromServer), served)
		_ = fromServer.Close()
		time.Sleep(grace)
		synctest.Wait()
	})
}

// What waits for a client that does not read is bounded, whatever it has asked for.
func TestAnswersThatNobodyReads(t *testing.T) {
	const calls, size = 80, 1 << 20
	const others = 6 * size // the answer that is made, and the one that is written
	data := strings.Repeat("x", size)
	escapes := func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Output: json.RawMessage(`{"data":"` + strings.Repeat(`\u0000`, size) + `"}`)}, nil
	}
	reads := func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Output: json.RawMessage(`{"data":"` + data + `"}`)}, nil
	}
	prints := func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Exit: exit(0), Stdout: printed(data, 0)}, nil
	}
	const read, run = `"fs.read","params":{"path":"a"}}`, `"cmd.run","params":{"commandId":"rg"}}`
	tests := []struct {
		name, input string
		runtime     double
		most        int64
	}{
		{"reads", requests(1, calls, "\n", read), reads, maxAnswers + maxFiles},
		{"reads as a tool", requests(1, calls/2, "\n", `"tools/call","params":{"name":"fs_read","arguments":{"path":"a"}}}`), reads, maxAnswers + maxFiles},
		{"reads of control characters", requests(1, calls, "\n", read), escapes, maxAnswers + maxFiles},
		{"commands", requests(1, calls, "\n", run), prints, maxAnswers + maxCommands},
		{"batches", "[" + requests(1, maxBatch, ",", read) + "]\n[" + requests(maxBatch+1, maxBatch, ",", read) + "]", reads, 2*maxBatchBytes + maxFiles},
	}
	for _, tt := range tests {
		o := options(tt.runtime)
		o.Surface = func() Surface {
			return Surface{MaxReadBytes: size, MaxCommands: 2, Commands: []Command{{ID: "rg", MaxOutputBytes: size}}}
		}
		before := heap()
		connectReader(t, o, batchHello+tt.input, func(answers *bufio.Reader, _ <-chan error) {
			if _, err := answers.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			time.Sleep(grace / 2) // somebody else reads on when who reads waits for the client
			synctest.Wait()
			if held := heap() - before; held > tt.most+others {
				t.Errorf("%s: %d MiB are held", tt.name, held>>20)
			}
		})
	}
}

// What waited for room is all there for a client that reads again.
func TestAnswersThatAreReadLate(t *testing.T) {
	const calls = 40
	data := `{"data":"` + strings.Repeat("x", 1<<20) + `"}`
	connectReader(t, options(gives(durward.Result{Output: json.RawMessage(data)}, nil)), requests(1, calls, "\n", `"fs.read","params":{"path":"a"}}`), func(answers *bufio.Reader, served <-chan error) {
		synctest.Wait()
		lines := 0
		for line, err := answers.ReadString('\n'); err == nil; line, err = answers.ReadString('\n') {
			if strings.Contains(line, data) {
				lines++
			}
		}
		if err := <-served; err != nil || lines != calls {
			t.Errorf("%v, %d answers", err, lines)
		}
	})
}

// requests makes so many of them, with ids from the first on.
func requests(first, n int, between, rest string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s`, first+i, rest)
	}
	return strings.Join(list, between)
}

// A batch has so many messages at most, and what is too large for it says so in its place.
func TestWhatABatchHolds(t *testing.T) {
	pings := func(n int) string {
		return behindHello(t, converse(t, options(nothing(t)), batchHello+"["+requests(1, n, ",", `"ping"}`)+"]"))
	}
	if got, want := pings(maxBatch+1), refusal("null", "-32600", "a batch holds 64 messages at most"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := pings(maxBatch); strings.Count(got, `"result":{}`) != maxBatch || strings.Count(got, "\n") != 1 {
		t.Errorf("got %s", got)
	}
	const three = 3
	large := strings.Repeat("x", maxBatchBytes/2)
	o := options(gives(durward.Result{Output: json.RawMessage(`{"data":"` + large + `"}`)}, nil))
	got := behindHello(t, converse(t, o, batchHello+"["+requests(1, three, ",", `"fs.read","params":{"path":"a"}}`)+"]"))
	if strings.Count(got, large) != 1 || strings.Count(got, `"error":{"code":-31004,`) != three-1 {
		t.Errorf("%d bytes, %d answers, %d errors", len(got), strings.Count(got, large), strings.Count(got, `"error":`))
	}
}
