package mcpserve_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/mcpserve"
)

// Who opens more sessions than anybody else loses their own, not another's.
func TestSessionsOfOneCallerMakeRoom(t *testing.T) {
	var tokens httpedge.Tokens
	for _, name := range []string{"greedy", "other"} {
		token, err := httpedge.NewToken(name, name+"-token")
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	s := newServer(t, nil, func(o *mcpserve.Options) { o.Sessions = 8 })
	guard, err := httpedge.NewGuard(httpedge.Rules{Authenticate: tokens.Authenticate})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(guard.Wrap(s))
	s.url, s.client = web.URL, &http.Client{Transport: &http.Transport{}, Timeout: limit}
	t.Cleanup(func() { s.Close(); s.client.CloseIdleConnections(); web.Close() })
	begin := func(name string) string {
		a := s.post(hello("2025-11-25", `{}`), "Authorization: Bearer "+name+"-token")
		a.says(t, 200, `"result"`)
		return "Mcp-Session-Id: " + a.header.Get("Mcp-Session-Id")
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	mine, first := begin("other"), begin("greedy")
	for range 50 {
		begin("greedy")
	}
	s.post(ping, mine, "Authorization: Bearer other-token").says(t, 200, `{}`)
	s.post(ping, first, "Authorization: Bearer greedy-token").says(t, 404, "begin a new one")
	s.post(ping, mine, "Authorization: Bearer greedy-token").says(t, 404, "begin a new one")
}
