package mcpclient

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// Whatever a server prints, nothing breaks, and a question gets one reply at most, which then is
// a result that can be told from none.
func FuzzServerOutput(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{}}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`[{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"a"},7],"nextCursor":"x"}},{}]`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e9}}`,
		`{"jsonrpc":"2.0","id":"x","method":"roots/list"}` + "\n" + `{"id":1,"result":{"content":["\ud800"]}}`,
		strings.Repeat("x", 300) + "\n" + `{"result":"` + strings.Repeat("x", 300) + `","jsonrpc":"2.0","id":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &server{engine: &Engine{options: Options{lineBytes: 256, SandboxDir: "/"}}, log: slog.New(slog.DiscardHandler)}
		p := &run{changed: make(chan struct{}, 1), server: s}
		p.conn = newConn(nil, p)
		q := &question{id: 1, reply: make(chan reply, 1)}
		if err := p.expect(q); err != nil {
			t.Fatal(err)
		}
		in := &intake{conn: p.conn, lines: jsonrpc.NewReader(bytes.NewReader(text), 256)}
		for in.line() {
		}
		p.finish(disconnected("a", errGone))
		r := <-q.reply
		if len(q.reply) > 0 || (r.err == nil) == (r.result == nil) {
			t.Fatalf("the reply is %+v", r)
		}
		if r.err != nil {
			if durward.ReasonOf(s.answered(r.err, 100)) == "" {
				t.Errorf("%v has no reason", r.err)
			}
			return
		}
		result, err := conclude(r.result, "", 200)
		if (err == nil) != (result.Output != nil) || err != nil && durward.ReasonOf(err) == "" {
			t.Errorf("it comes to %+v, %v", result, err)
		}
		l := newListing(tools)
		l.take(r.result)
		for _, tool := range l.items {
			if tool.Key == "" || !json.Valid(tool.Raw) {
				t.Errorf("a tool is %+v", tool)
			}
		}
	})
}
