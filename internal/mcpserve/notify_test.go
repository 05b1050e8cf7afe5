package mcpserve_test

import "testing"

// A change of which there is no more to be said is told to sessions and to subscriptions.
func TestChangeWithoutParams(t *testing.T) {
	s := serve(t, nil)
	session := s.begin(`{}`)
	e := s.events(s.open("GET", "", session))
	body, headers := modern(`7`, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	l := s.events(s.open("POST", body, headers...))
	const mark = `{"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	l.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":` + mark + `,"notifications":{"toolsListChanged":true}}}`)
	s.Notify("notifications/tools/list_changed", nil)
	l.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":` + mark + `}}`)
	for _, data, ok := e.next(); data != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`; _, data, ok = e.next() {
		if !ok || data != "" { // a stream begins with an event that says nothing
			t.Fatalf("the session is told %q", data)
		}
	}
}
