//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/hubconfig"
)

// clean fails the test if a text holds a canary.
func clean(t testing.TB, text string) {
	t.Helper()
	if strings.Contains(text, "c4nary") {
		t.Error(text)
	}
}

// What a server over HTTP answers while it is started is told without the headers and the URL that
// it repeats.
func TestErrorsHoldNoSecret(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(text, &m)
		out.Header().Set("Content-Type", "application/json")
		if m.Method == "initialize" {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}`, m.ID)
			return
		}
		said, _ := json.Marshal("who is " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key") + " at " + r.URL.RawQuery)
		out.WriteHeader(401)
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":%s}}`, m.ID, said)
	}))
	defer web.Close()
	var logged log
	h := newHub(t, Options{Logger: logged.logger()}, hubconfig.Server{Name: "a", Remote: &hubconfig.Remote{
		Type: "http", URL: web.URL + "/mcp?a=b&api_key=c4nary%2Dof-a-url", Headers: map[string]string{"Authorization": "Bearer c4nary-1", "X-Api-Key": "c4nary-1-and-more"},
	}})
	h.Start(patient(t))
	s := h.of("a")
	if clean(t, s.LastError+logged.String()); !strings.Contains(s.LastError, "who is [redacted][redacted] at a=b&api_key=[redacted]") {
		t.Errorf("it says %s", s.LastError)
	}
	if err := h.Restart(patient(t), "a"); err == nil || !strings.Contains(err.Error(), "who is [redacted]") {
		t.Errorf("it is started again: %v", err)
	}
}

// What a configuration takes from variables is a secret, but for words and numbers.
func TestWhatAVariableHeldIsASecret(t *testing.T) {
	config := hubconfig.Server{Name: "a", Args: []string{"c4nary.77"}, Taken: []string{"c4nary.77", "production", "Production", "PRODUCTION", "20261125", "/home/somebody", "short", ""}}
	const said = "production Production PRODUCTION 20261125 /home/somebody short "
	if got := secretsOf(config, nil).Redact(said + "c4nary.77"); got != said+"[redacted]" {
		t.Error(got)
	}
}

// Nor is what a running server prints, or says of its list, however it is cut for the log.
func TestLogsHoldNoSecret(t *testing.T) {
	const secret = "c4nary-of-an-api-key"
	e := entry("a")
	e.Env = map[string]string{"API_KEY": secret}
	var logged log
	h := newHub(t, Options{Logger: logged.logger()}, e)
	h.Start(patient(t))
	for _, line := range []string{
		secret + " is no message", strings.Repeat("x", shownBytes-7) + secret, `{"jsonrpc":"2.0","id":987,"result":"` + secret + `"}`,
	} {
		if got := reason(h.prepareFor(t, "", "line", lines(line)).Run(patient(t))); got != "ok" {
			t.Error(got)
		}
	}
	text := logged.String()
	clean(t, text)
	for _, what := range []string{"[redacted] is no message", "an answer that nobody waits for", strings.Repeat("x", shownBytes-7)} {
		if !strings.Contains(text, what) {
			t.Errorf("there is no %s in %s", what, text)
		}
	}
}

// A secret is redacted wherever it stands in what is printed, also on the edge of what one line of the
// log takes, and of what is kept.
func TestTailHoldsNoSecret(t *testing.T) {
	const secret = "0c4nary1-0c4nary2-0c4nary3"
	s := &server{secrets: credential.SecretsIn(map[string]string{"API_KEY": secret})}
	const token, jwt = "Bearer c4nary-c4nary-c4nary", "eyJhbGciOiJub25lIn0.eyJc4naryc4naryc4nary.c4"
	for _, hidden := range []string{secret, token, jwt[:len(jwt)-2]} {
		for shift := 0; shift < len(hidden); shift += 5 {
			for _, edge := range []int{logBytes, 2 * logBytes} { // a line is cut before the one, when it reaches the other
				text := strings.Repeat("x", edge-shift) + " " + hidden + " " + strings.Repeat("y", 2*logBytes)
				clean(t, s.stderr.follow(strings.NewReader(text), s, func(line string) { clean(t, line) }))
			}
		}
	}
	clean(t, s.stderr.follow(strings.NewReader("x ghp_"+strings.Repeat("c4nary", logBytes)+" y"), s, func(line string) { clean(t, line) }))
	for shift := range len(secret) {
		s.stderr.follow(strings.NewReader(secret+strings.Repeat("z", tailBytes-shift)+"\n"), s, func(string) {})
		clean(t, string(s.stderr.all(s)))
	}
}

// What a server printed is there though its line has not ended.
func TestTailShowsALineThatWaits(t *testing.T) {
	s := &server{secrets: credential.SecretsIn(map[string]string{"API_KEY": "c4nary-1"})}
	in, out := io.Pipe()
	ended := make(chan bool)
	go func() { s.stderr.follow(in, s, func(string) {}); close(ended) }()
	for _, text := range []string{"one\n", "who are you, c4nary-1? "} {
		_, err := io.WriteString(out, text)
		must(t, err)
	}
	_, err := io.WriteString(out, "") // it reads again, so it has kept all
	must(t, err)
	for range 2 {
		if got := string(s.stderr.all(s)); got != "one\nwho are you, [redacted]? " {
			t.Errorf("%q", got)
		}
		must(t, out.Close())
		<-ended
	}
}
