package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
)

// A peer is a client at the other end of a session. Time is virtual.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string // closed at the end of the output
	output *io.PipeReader
	end    context.CancelFunc // asks the session to end
	served chan error
}

// connect runs a session within a bubble of its own.
func connect(t *testing.T, o Options, talk func(p *peer)) {
	t.Helper()
	connectWith(t, o, func(*Options) {}, talk)
}

// connectWith makes within the bubble what has to be made there.
func connectWith(t *testing.T, o Options, prepare func(o *Options), talk func(p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		prepare(&o)
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ctx, end := context.WithCancel(t.Context())
		p := &peer{t: t, in: toServer, lines: make(chan string, 2000), output: fromServer, end: end, served: make(chan error, 1)}
		go func() {
			defer close(p.lines)
			for lines := bufio.NewScanner(fromServer); lines.Scan(); {
				p.lines <- lines.Text() + "\n"
			}
		}()
		go func() { p.served <- Serve(ctx, o, in, out); _ = out.Close() }()
		talk(p)
		end()
		_ = toServer.Close()
		_ = fromServer.Close()
		time.Sleep(grace) // calls that are still held are cancelled then
		synctest.Wait()
	})
}

func (p *peer) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, strings.TrimSuffix(line, "\n")+"\n"); err != nil {
		p.t.Error(err)
	}
}

// hears gives all that was sent since, once nothing goes on any more.
func (p *peer) hears() string {
	synctest.Wait()
	var all strings.Builder
	for {
		select {
		case line, ok := <-p.lines:
			if ok {
				all.WriteString(line)
				continue
			}
		default:
		}
		return all.String()
	}
}

func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.hears(); got != want {
		p.t.Errorf("got  %q\nwant %q", got, want)
	}
}

// over gives what Serve came back with, or says that it did not.
func (p *peer) over() (err error, over bool) {
	synctest.Wait()
	select {
	case err := <-p.served:
		return err, true
	default:
		return nil, false
	}
}

// A held runtime keeps each call until it is let go or its context ends.
type held struct {
	let   chan durward.Result
	began chan durward.Call
	ended chan error
}

// connectHeld runs a session whose calls are held.
func connectHeld(t *testing.T, talk func(p *peer, h *held)) {
	t.Helper()
	var h *held
	connectWith(t, options(nothing(t)), func(o *Options) { h = newHeld(); o.Runtime = h }, func(p *peer) { talk(p, h) })
}

func newHeld() *held {
	return &held{let: make(chan durward.Result), began: make(chan durward.Call, 2000), ended: make(chan error, 2000)}
}

func (h *held) Do(ctx context.Context, c durward.Call) (durward.Result, error) {
	h.began <- c
	select {
	case r := <-h.let:
		h.ended <- nil
		return r, nil
	case <-ctx.Done():
		h.ended <- context.Cause(ctx)
		return durward.Result{}, durward.Ended(ctx, "held")
	}
}

func (h *held) Refuse(_ durward.Call, why error) error { return why }

const (
	slow       = `{"jsonrpc":"2.0","id":"slow","method":"cmd.run","params":{"commandId":"rg"}}`
	slowResult = `{"jsonrpc":"2.0","id":"slow","result":{"exitCode":0,"stdout":"","stderr":"","timedOut":false,"truncated":false}}` + "\n"
	cancelSlow = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow","reason":"x"}}`
	ping       = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
)

func TestOthersAreAnsweredWhileACommandRuns(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		p.say(initialize)
		p.say(slow)
		p.hears()
		p.say(ping)
		p.expect(result("1", "{}"))
		p.say(listTools)
		if got := p.hears(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"tools":`) {
			t.Errorf("tools/list is answered with %s", got)
		}
		p.say(`{"jsonrpc":"2.0","id":"slow","method":"ping"}`)
		p.expect(`{"jsonrpc":"2.0","id":"slow","error":{"code":-32600,"message":"the id is in use"}}` + "\n")
		h.let <- durward.Result{Exit: exit(0)}
		p.expect(slowResult)
		p.say(`{"jsonrpc":"2.0","id":"slow","method":"ping"}`)
		p.expect(result(`"slow"`, "{}"))
	})
}

func TestACancelledCallIsStoppedAndNotAnswered(t *testing.T) {
	for _, line := range []string{
		slow,
		`{"jsonrpc":"2.0","id":"slow","method":"fs.write","params":{}}`,
		`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"rg"},"_meta":{"progressToken":1}}}`,
	} {
		connectHeld(t, func(p *peer, h *held) {
			p.say(initialize)
			p.hears()
			p.say(line)
			p.hears()
			p.say(cancelSlow)
			p.say(cancelSlow)
			p.expect("")
			if err := <-h.ended; err == nil {
				t.Error("the call went on")
			}
			p.say(`{"jsonrpc":"2.0","id":"slow","method":"ping"}`)
			p.expect(result(`"slow"`, "{}"))
		})
	}
}

// Calls that are cancelled leave the rest of their batch to be answered.
func TestACancelledCallOfABatch(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		p.say(batchHello)
		p.hears()
		p.say("[" + slow + "," + ping + "]")
		p.expect("")
		p.say(cancelSlow)
		p.expect("[" + strings.TrimSpace(result("1", "{}")) + "]\n")
	})
}

const graceOver = `{"jsonrpc":"2.0","id":"slow","error":{"code":-31004,"message":"the runtime is shutting down","data":{"code":"IO_ERROR","rule":"io","method":"cmd.run","commandId":"rg","policyHash":"sha256:00"}}}` + "\n"

func TestAtTheEndCallsHaveFiveSeconds(t *testing.T) {
	ends := map[string]func(p *peer){
		"the end of the input": func(p *peer) { _ = p.in.Close() },
		"a signal":             func(p *peer) { p.end() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			connectHeld(t, func(p *peer, h *held) {
				p.say(slow)
				p.expect("")
				end(p)
				time.Sleep(grace - time.Millisecond)
				p.expect("")
				h.let <- durward.Result{Exit: exit(0)}
				p.expect(slowResult)
				if err, over := p.over(); err != nil || !over {
					t.Errorf("Serve: %v, over %t", err, over)
				}
			})
			connectHeld(t, func(p *peer, h *held) {
				p.say(slow)
				p.expect("")
				end(p)
				time.Sleep(grace)
				p.expect(graceOver)
				if err, over := p.over(); err != nil || !over || len(h.ended) != 1 {
					t.Errorf("Serve: %v, over %t", err, over)
				}
			})
		})
	}
}

func TestNothingIsTakenAfterASignal(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		p.say(slow)
		p.hears()
		p.end()
		synctest.Wait()
		go func() { _, _ = io.WriteString(p.in, ping+"\n"+ping+"\n") }()
		p.expect("")
		h.let <- durward.Result{Exit: exit(0)}
		p.expect(slowResult)
	})
}

// A client that reads nothing holds nobody up at the end.
func TestAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		fromServer, out := io.Pipe()
		in := strings.NewReader(strings.Repeat(ping+"\n", 10))
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, options(nothing(t)), in, out) }()
		synctest.Wait()
		began := time.Now()
		end()
		if err := <-served; err != nil || time.Since(began) > grace+2*farewell {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		_ = fromServer.Close()
	})
}

// Serve does not wait without end for a call that nothing ends.
func TestACallThatDoesNotEnd(t *testing.T) {
	var let chan struct{}
	prepare := func(o *Options) {
		let = make(chan struct{})
		o.Runtime = double(func(context.Context, durward.Call) (durward.Result, error) {
			<-let
			return durward.Result{}, nil
		})
	}
	connectWith(t, options(nothing(t)), prepare, func(p *peer) {
		p.say(slow)
		p.hears()
		_ = p.in.Close()
		time.Sleep(grace + 3*farewell)
		if err, over := p.over(); !errors.Is(err, ErrStuck) || !over {
			t.Errorf("Serve: %v, over %t", err, over)
		}
		close(let)
		p.expect("")
	})
}

// When answers cannot be sent any more, calls are for nobody.
func TestAClientThatIsGone(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		p.say(slow)
		p.hears()
		_ = p.output.Close()
		p.say(ping)
		if err, over := p.over(); !errors.Is(err, io.ErrClosedPipe) || !over || len(h.ended) != 1 {
			t.Errorf("Serve: %v, over %t", err, over)
		}
	})
}

func TestAStreamThatBreaks(t *testing.T) {
	connect(t, options(double(echo)), func(p *peer) {
		_ = p.in.CloseWithError(io.ErrNoProgress)
		if err, over := p.over(); !errors.Is(err, io.ErrNoProgress) || !over {
			t.Errorf("Serve: %v, over %t", err, over)
		}
	})
}

func TestWhatADoorNeeds(t *testing.T) {
	for _, o := range []Options{{}, {Runtime: double(echo)}, {Surface: surface}} {
		if Serve(t.Context(), o, strings.NewReader(""), io.Discard) == nil {
			t.Errorf("%+v is enough", o)
		}
	}
}
