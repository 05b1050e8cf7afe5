package mcpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpserve"
)

// A pipe is a client on a byte stream.
type pipe struct {
	*testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

func (s *subject) pipe(ctx context.Context) *pipe {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p := &pipe{s.T, toServer, bufio.NewReader(fromServer), make(chan error, 1)}
	go func() {
		p.ended <- s.ServeStream(ctx, durward.Caller{Name: "local"}, in, out)
		out.Close()
		in.Close()
	}()
	s.Cleanup(func() { toServer.Close(); fromServer.Close(); s.Close() })
	return p
}

// What runs when the server ends gets its time, and is then answered that it was ended; what comes in
// meanwhile is refused.
func TestRequestsThatDoNotEndAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context, _ *mcpserve.Request) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, &jsonrpc.Error{Code: 7, Message: string(durward.ReasonOf(context.Cause(ctx)))}
		})
		ctx, cancel := context.WithCancel(t.Context())
		p := s.pipe(ctx)
		p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		p.wantPart(`"id":0`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
		synctest.Wait()
		cancel()
		synctest.Wait()
		p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		p.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"the server is shutting down"}}`)
		p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"` + string(durward.ShuttingDown) + `"}}`)
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
	})
}

func (p *pipe) send(lines ...string) {
	p.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		p.Fatal(err)
	}
}

func (p *pipe) want(line string) {
	p.Helper()
	if got, err := p.out.ReadString('\n'); err != nil || strings.TrimSuffix(got, "\n") != line {
		p.Fatalf("the line is %q, %v; want %q", got, err, line)
	}
}

func (p *pipe) wantPart(part string) {
	p.Helper()
	if got, err := p.out.ReadString('\n'); err != nil || !strings.Contains(got, part) {
		p.Fatalf("the line is %q, %v; want … %q", got, err, part)
	}
}

func (p *pipe) end() {
	p.Helper()
	p.in.Close()
	if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 {
		p.Errorf("there is %q, %v", rest, err)
	}
	if err := <-p.ended; err != nil {
		p.Error(err)
	}
}

func TestBothErasOnAStream(t *testing.T) {
	p := newServer(t, nil).pipe(t.Context())
	p.send(list)
	p.wantPart(`"id":"a","error":{"code":-32600,"message":"initialize comes first`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	p.send(`nonsense`, hello("2025-11-25", `{}`))
	p.wantPart(`"id":null,"error":{"code":-32700`)
	p.wantPart(`"id":0,"result":{"protocolVersion":"2025-11-25"`)
	p.send(hello("2025-11-25", `{}`))
	p.wantPart(`"id":0,"error":{"code":-32600,"message":"initialize was answered before`)
	p.send(list)
	p.want(`{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}`)
	body, _ := modern(`2`, "tools/list", "")
	p.send(body)
	p.wantPart(`"id":2,"result":{"resultType":"complete"`)
	p.send(`{"jsonrpc":"2.0","id":3,"method":"server/discover"}`)
	p.wantPart(`"id":3,"error":{"code":-32602`)
	p.send(strings.Replace(body, "2026-07-28", "2031-01-01", 1))
	p.wantPart(`"id":2,"error":{"code":-32022`)
	p.end()
}

func TestSubscriptionsOnAStream(t *testing.T) {
	s := newServer(t, nil)
	p := s.pipe(t.Context())
	body, _ := modern(`"a"`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	p.send(body)
	p.wantPart(`"method":"notifications/subscriptions/acknowledged"`)
	p.send(body)
	p.wantPart(`"id":"a","error":{"code":-32600,"message":"the id is in use"`)
	s.Notify("notifications/tools/list_changed", json.RawMessage(`{}`))
	p.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`, body)
	p.wantPart(`"method":"notifications/subscriptions/acknowledged"`)
	p.in.Close()
	p.want(`{"jsonrpc":"2.0","id":"a","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"},"resultType":"complete"}}`)
	p.end()
}

func TestAskingOnAStream(t *testing.T) {
	p := newServer(t, asks).pipe(t.Context())
	p.send(hello("2025-11-25", `{"elicitation":{}}`))
	p.wantPart(`"id":0`)
	p.send(call(`1`, ``))
	p.want(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?"}}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"said":{"action":"cancel"}}}`)
	p.end()
}

func TestBatchOnAStream(t *testing.T) {
	p := newServer(t, nil).pipe(t.Context())
	p.send(hello("2025-03-26", `{}`))
	p.wantPart(`"id":0`)
	p.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	p.want(`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}]`)
	p.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, `[]`)
	p.wantPart(`-32600`)
	p.end()
}

func TestCancelledOnAStream(t *testing.T) {
	l := newLasts()
	p := newServer(t, l.handle).pipe(t.Context())
	p.send(hello("2025-11-25", `{}`))
	p.wantPart(`"id":0`)
	p.send(call(`1`, ``))
	<-l.begun
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-l.ended
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	p.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	p.end()
}

func TestRequestsGetTimeToEnd(t *testing.T) {
	go_ := make(chan struct{})
	p := newServer(t, func(ctx context.Context, _ *mcpserve.Request) (json.RawMessage, error) {
		select {
		case <-go_:
		case <-ctx.Done():
		}
		return json.RawMessage(result), ctx.Err()
	}).pipe(t.Context())
	p.send(hello("2025-11-25", `{}`))
	p.wantPart(`"id":0`)
	p.send(call(`1`, ``))
	p.in.Close()
	close(go_)
	p.want(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
	p.end()
}

func TestBatchGetsTimeToEnd(t *testing.T) {
	goOn := make(chan struct{})
	p := newServer(t, func(ctx context.Context, _ *mcpserve.Request) (json.RawMessage, error) {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return json.RawMessage(result), ctx.Err()
	}).pipe(t.Context())
	p.send(hello("2025-03-26", `{}`))
	p.wantPart(`"id":0`)
	p.send("[" + call(`1`, ``) + "]")
	p.in.Close()
	close(goOn)
	p.want(`[{"jsonrpc":"2.0","id":1,"result":` + result + `}]`)
	p.end()
}

func TestBatchesCountAsTheirRequests(t *testing.T) {
	goOn := make(chan struct{})
	defer close(goOn)
	p := newServer(t, func(context.Context, *mcpserve.Request) (json.RawMessage, error) {
		<-goOn
		return json.RawMessage(result), nil
	}).pipe(t.Context())
	p.send(hello("2025-03-26", `{}`))
	p.wantPart(`"id":0`)
	for batch := range 5 {
		text := "["
		for i := range 60 {
			text += call(strconv.Itoa(batch*60+i), ``) + ","
		}
		p.send(text + `{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	}
	p.wantPart("too many requests are open")
}

func TestClientThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	s := newServer(t, nil)
	p, other := s.pipe(t.Context()), s.pipe(t.Context())
	for _, one := range []*pipe{p, other} {
		one.send(hello("2025-11-25", `{}`))
		one.wantPart(`"id":0`)
	}
	large := json.RawMessage(`{"uri":"a:b","x":"` + strings.Repeat("x", 64<<10) + `"}`)
	for _, one := range []*pipe{p, other} {
		one.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
		one.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		other.wantPart(`"uri":"a:b"`)
	}()
	for range 1000 { // 64 MB, of which 1 MiB is kept
		s.Notify("notifications/resources/updated", large)
	}
	<-read
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	for seen := 0; ; seen++ {
		line, err := p.out.ReadString('\n')
		if err != nil || seen > 64 {
			t.Fatal("the answer does not come", err, seen)
		}
		if strings.Contains(line, `"id":2`) {
			break
		}
	}
}

func TestBrokenOutputEndsTheStream(t *testing.T) {
	s := newServer(t, nil)
	in, w := io.Pipe()
	defer w.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStream(t.Context(), durward.Caller{}, in, broken{}) }()
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, errBroken) {
		t.Errorf("the end is %v", err)
	}
	in.Close()
	s.Close()
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// Where there is nothing to say nothing is written, so that it does not matter to a client that has
// closed both ways of a socket.
func TestSilenceIsNotWritten(t *testing.T) {
	s := newServer(t, nil)
	var out strings.Builder
	if err := s.ServeStream(t.Context(), durward.Caller{}, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"), talkative{&out}); err != nil {
		t.Error(err)
	}
	if out.String() != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("it says %q", out.String())
	}
	s.Close()
}

// talkative is an output that takes something, and not nothing.
type talkative struct{ io.Writer }

func (o talkative) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errBroken
	}
	return o.Writer.Write(p)
}
