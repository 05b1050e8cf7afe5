package mcpserve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpserve"
)

// Owners of resources hear of the first who listens and of the last who does no more, however that
// comes; who may not listen is told nothing.
func TestWatching(t *testing.T) {
	asked := make(chan string, 1024)
	s := serve(t, func(_ context.Context, r *mcpserve.Request) (json.RawMessage, error) {
		asked <- strings.TrimPrefix(r.Method, "resources/") + string(r.Params)
		if strings.Contains(string(r.Params), "no:") {
			return nil, &jsonrpc.Error{Code: -32002, Message: "there is no such resource"}
		}
		return json.RawMessage(`{}`), nil
	})
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-asked:
			if got != want {
				t.Fatalf("the owner was asked %s, want %s", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("the owner was not asked %s", want)
		}
	}
	silent := func() {
		t.Helper()
		if len(asked) > 0 {
			t.Fatalf("the owner was asked %s", <-asked)
		}
	}
	one, other := s.begin(`{}`), s.begin(`{}`)
	do := func(session, method, uri, want string) {
		t.Helper()
		s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/`+method+`","params":{"uri":"`+uri+`"}}`, session).says(t, 200, want)
	}
	do(one, "subscribe", "a:b", `"result":{}`)
	hears(`subscribe{"uri":"a:b"}`)
	do(other, "unsubscribe", "a:b", `"result":{}`)
	silent() // it was not its own
	do(other, "subscribe", "a:b", `"result":{}`)
	hears(`subscribe{"uri":"a:b"}`) // each is judged
	do(other, "subscribe", "a:b", `"result":{}`)
	hears(`subscribe{"uri":"a:b"}`)
	do(other, "unsubscribe", "a:b", `"result":{}`)
	silent() // one of them listens

	body, headers := modern(`7`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["a:b","no:x","a:c","a:c"]}`)
	stream := s.events(s.open(http.MethodPost, body, headers...))
	stream.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"resourceSubscriptions":["a:b","a:c"]}}}`)
	hears(`subscribe{"uri":"a:b"}`)
	hears(`subscribe{"uri":"no:x"}`)
	hears(`subscribe{"uri":"a:c"}`)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"no:x"}`))
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"a:c"}`))
	stream.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"a:c"}}`)
	s.send(http.MethodDelete, "", one).says(t, 204, "")
	stream.body.Close()
	got := map[string]bool{<-asked: true, <-asked: true}
	if !got[`unsubscribe{"uri":"a:b"}`] || !got[`unsubscribe{"uri":"a:c"}`] {
		t.Errorf("the owner was asked %v", got)
	}
	do(other, "subscribe", "no:x", `no such resource`)
	hears(`subscribe{"uri":"no:x"}`)
	s.send(http.MethodDelete, "", other).says(t, 204, "")
	silent()
}
