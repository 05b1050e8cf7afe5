package mcpserve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What a client can have kept is bounded: nothing of it that is too large is taken.
func TestWhatIsKeptOfAClientIsBounded(t *testing.T) {
	s := serve(t, nil)
	long := strings.Repeat("x", 300<<10)
	s.post(hello("2025-11-25", `{"x":"`+long+`"}`)).says(t, 200, "capabilities is too long")
	session := s.beginAs("2025-06-18", `{}`)
	s.post(`{"jsonrpc":"2.0","id":"`+long+`","method":"ping"}`, session).says(t, 400, "the id is too long")
	s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"`+long+`"}}}`, session).says(t, 400, "-32602")
	s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+long+`"}}`, session).says(t, 400, "too many resources")
	body, headers := modern(`1`, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["a","`+long+`"]}`)
	s.post(body, headers...).says(t, 400, "too many resources")
	for i := range 1000 {
		s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:%d"}}`, i), session).says(t, 200, `"result":{}`)
	}
	subscribe := func(uri, method string) answer {
		return s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/`+method+`","params":{"uri":"`+uri+`"}}`, session)
	}
	subscribe("a:1000", "subscribe").says(t, 400, "too many resources")
	subscribe("a:7", "unsubscribe").says(t, 200, `{}`)
	subscribe("a:1000", "subscribe").says(t, 200, `{}`)
}

// A stream that nobody reads keeps little.
func TestUnreadStreamsKeepLittle(t *testing.T) {
	s := serve(t, nil)
	session := s.beginAs("2025-06-18", `{}`)
	s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`, session).says(t, 200, `{}`)
	large := json.RawMessage(`{"uri":"a:b","x":"` + strings.Repeat("x", 20<<10) + `"}`)
	for range 100 {
		s.Notify("notifications/resources/updated", large)
	}
	e := s.events(s.open("GET", "", session))
	const mark = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:c"}}`
	s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:c"}}`, session).says(t, 200, `{}`)
	s.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"a:c"}`))
	for kept := 0; ; kept++ {
		if _, data, ok := e.next(); !ok || kept > 3 {
			t.Fatalf("%d were kept", kept)
		} else if data == mark {
			return
		}
	}
}
