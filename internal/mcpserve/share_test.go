package mcpserve_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/mcpserve"
)

// sharing is a server with room for so many sessions. What is given begins one, for the caller of
// that name.
func sharing(t *testing.T, most int) (s *subject, begin func(name string) answer) {
	t.Helper()
	var tokens httpedge.Tokens
	for _, name := range []string{"greedy", "other"} {
		token, err := httpedge.NewToken(name, name+"-token")
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	s = newServer(t, nil, func(o *mcpserve.Options) { o.Sessions = most })
	guard, err := httpedge.NewGuard(httpedge.Rules{Authenticate: tokens.Authenticate})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(guard.Wrap(s))
	s.url, s.client = web.URL, &http.Client{Transport: &http.Transport{}, Timeout: limit}
	t.Cleanup(func() { s.Close(); s.client.CloseIdleConnections(); web.Close() })
	return s, func(name string) answer { return s.post(hello("2025-11-25", `{}`), as(name)) }
}

func as(name string) string { return "Authorization: Bearer " + name + "-token" }

// sessionOf is the header that names the session which was begun.
func sessionOf(t *testing.T, a answer) string {
	t.Helper()
	a.says(t, 200, `"result"`)
	return "Mcp-Session-Id: " + a.header.Get("Mcp-Session-Id")
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Who opens more sessions than anybody else loses their own, not another's.
func TestSessionsOfOneCallerMakeRoom(t *testing.T) {
	s, begin := sharing(t, 8)
	mine, first := sessionOf(t, begin("other")), sessionOf(t, begin("greedy"))
	for range 50 {
		sessionOf(t, begin("greedy"))
	}
	s.post(ping, mine, as("other")).says(t, 200, `{}`)
	s.post(ping, first, as("greedy")).says(t, 404, "begin a new one")
	s.post(ping, mine, as("greedy")).says(t, 404, "begin a new one")
}

// Sessions that are all in use make room for a caller who has fewer, and for nobody else.
func TestSessionsInUseMakeRoomForOthers(t *testing.T) {
	s, begin := sharing(t, 4)
	open := map[string]*events{}
	for range 4 {
		id := sessionOf(t, begin("greedy"))
		open[id] = s.events(s.open(http.MethodGet, "", id, as("greedy")))
	}
	begin("greedy").says(t, 503, "too many sessions")
	mine := sessionOf(t, begin("other"))
	ended := 0
	for id, listens := range open {
		if a := s.post(ping, id, as("greedy")); a.status == http.StatusNotFound {
			listens.end()
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("%d sessions made room", ended)
	}
	begin("greedy").says(t, 503, "too many sessions")
	s.post(ping, mine, as("other")).says(t, 200, `{}`)
}
