//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// Servers of all eras are found out and used, whatever they make of what others want to hear.
func TestEras(t *testing.T) {
	for _, tt := range []struct {
		name, words  string
		silent       int // times that nothing comes for 2 seconds
		era, version string
	}{
		{"legacy", "", 0, legacy, "2025-06-18"},
		{"the oldest", "version=2024-11-05", 0, legacy, "2024-11-05"},
		{"modern", "modern", 0, modern, "2026-07-28"},
		{"no initialize", "bare", 0, bare, ""},
		{"silent at what it does not know", "silentinit", 2, bare, ""},
		{"ends at what it does not know", "strict", 0, legacy, "2025-06-18"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t, Options{}, entry("a", strings.Fields(tt.words)...))
			go func() {
				for range tt.silent {
					h.clock.fire(t, silentTime, silentTime)
				}
			}()
			h.Start(patient(t))
			s := h.of("a")
			if s.State != Running || s.Era != tt.era || s.ProtocolVersion != tt.version || s.Tools != 1 || s.Restarts != 0 || !lives(s.PID) {
				t.Errorf("it is %+v", s)
			}
			h.works(t, "a")
			must(t, h.Restart(patient(t), "a")) // without finding out again
			h.works(t, "a")
			if again := h.of("a"); again.Era != tt.era || again.Restarts != 1 || again.PID == s.PID || lives(s.PID) {
				t.Errorf("it is %+v", again)
			}
		})
	}
}

// A server that refuses initialize is not used without it, though it would tell its tools.
func TestAServerThatRefusesInitialize(t *testing.T) {
	e := entry("a", "unwilling")
	e.Restart.Policy = "never"
	h := newHub(t, Options{}, e)
	h.Start(patient(t))
	if s := h.of("a"); s.State == Running || s.Tools != 0 || !strings.Contains(s.LastError, "go away") {
		t.Errorf("it is %+v", s)
	}
}

// Requests to a modern server say all that they must, others nothing that was not asked for.
func TestMeta(t *testing.T) {
	h := newHub(t, Options{Version: "1.2"}, entry("new", "modern"), entry("old"))
	h.Start(patient(t))
	r, err := h.call(patient(t), "new", "meta", `{}`)
	must(t, err)
	const want = `{"meta":true,"structuredContent":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"durward","version":"1.2"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	if got := strings.ReplaceAll(string(r.Output), " ", ""); got != want {
		t.Error(got)
	}
	_, err = h.call(patient(t), "old", "meta", `{}`)
	if durward.ReasonOf(err) != durward.MalformedResult {
		t.Errorf("there is a _meta: %v", err)
	}
}

// What a server says of a secret that it was given is told to nobody.
func TestLastWordsHoldNoSecret(t *testing.T) {
	const key = " for key c4nary-of-a-license"
	for name, e := range map[string]hubconfig.Server{
		"own": {Env: map[string]string{"LICENSE_KEY": key}}, "inherited": {InheritEnv: []string{"LICENSE_KEY"}},
	} {
		t.Run(name, func(t *testing.T) {
			failing := entry("a", "exit")
			failing.Env, failing.InheritEnv = e.Env, e.InheritEnv
			var logged log
			h := newHub(t, Options{Environ: map[string]string{"LICENSE_KEY": key}, Logger: logged.logger()}, failing, entry("b"))
			h.Start(patient(t))
			if s := h.of("a"); !strings.Contains(s.LastError, "no license found[redacted]") {
				t.Error(s.LastError)
			}
			if text := logged.String(); strings.Contains(text, "c4nary") || !strings.Contains(text, "an MCP server says") {
				t.Error(text)
			}
			if text := string(h.Stderr("a")); text != "no license found[redacted]\nno license found[redacted]\n" {
				t.Error(text)
			}
		})
	}
}

// A server that ends when it is started is tried five times, and then left alone until somebody
// asks for it. Why it failed is told with its last words.
func TestStartsThatFail(t *testing.T) {
	failing := entry("a", "exit")
	failing.Restart = hubconfig.Restart{Initial: 100 * time.Second, Max: time.Hour}
	h := started(t, failing, entry("b"))
	for i, pause := range []time.Duration{100, 200, 400, 800} {
		s := h.of("a")
		if s.State != Stopped || s.RetryAfter <= 0 || s.PID != 0 {
			t.Fatalf("after start %d it is %+v", i+1, s)
		}
		if want := "exited with code 3; its last words: no license found"; !strings.Contains(s.LastError, want) {
			t.Fatal(s.LastError)
		}
		_, err := h.call(patient(t), "a", "echo", `{}`)
		if d := durward.DetailOf(err); durward.ReasonOf(err) != durward.ServerStopped || d.Limit < 1 || !durward.AsError(err).Retry {
			t.Fatalf("a call ended with %v, %+v", err, d)
		}
		h.clock.fire(t, pause*800*time.Millisecond, pause*1200*time.Millisecond)
	}
	h.until(t, "a", func(s Status) bool { return s.RetryAfter == 0 })
	_, err := h.call(patient(t), "a", "echo", `{}`)
	if durward.ReasonOf(err) != durward.ServerStopped || durward.AsError(err).Retry {
		t.Errorf("a call ended with %v", err)
	}
	if n := strings.Count(string(h.Stderr("a")), "no license found"); n != 10 { // each start is two, for who may not know the first request
		t.Errorf("it was started %d times", n)
	}
	h.works(t, "b")
	if err := h.Restart(patient(t), "a"); err == nil || !strings.Contains(err.Error(), "no license") {
		t.Errorf("Restart: %v", err)
	}
	h.until(t, "a", func(s Status) bool { return s.RetryAfter > 0 })
}

// What keeps a server from starting is told.
func TestWhatCannotStart(t *testing.T) {
	change := func(words string, change func(s *hubconfig.Server)) hubconfig.Server {
		s := entry("a", strings.Fields(words)...)
		s.Restart.Policy = "never"
		change(&s)
		return s
	}
	for want, server := range map[string]hubconfig.Server{
		"the variable TOKEN is not set":   change("", func(s *hubconfig.Server) { s.Broken = "the variable TOKEN is not set" }),
		"is not offered":                  change("", func(s *hubconfig.Server) { s.Remote = &hubconfig.Remote{Type: "sse", URL: "http://localhost"} }),
		"none of the directories of PATH": change("", func(s *hubconfig.Server) { s.Command = "no-such-program" }),
		"no such file":                    change("", func(s *hubconfig.Server) { s.Command = "/no/such/program" }),
		"no directory that can be opened": change("", func(s *hubconfig.Server) { s.Dir = "/no/such/dir" }),
		`revision "2099-01-01"`:           change("version=2099-01-01", func(*hubconfig.Server) {}),
		"unknown field":                   change("", func(s *hubconfig.Server) { s.Sandbox = json.RawMessage(`{"mod":"read-only"}`) }),
		"nobody would see what": change("", func(s *hubconfig.Server) {
			s.Sandbox = json.RawMessage(`{"mode":"workspace-write","filesystem":{"copyOnWrite":true,"write":["${workspace}"]}}`)
		}),
		"it exited with code 3; its last w": change("exit", func(*hubconfig.Server) {}),
	} {
		t.Run(want, func(t *testing.T) {
			h := started(t, server)
			if s := h.of("a"); s.State != Stopped || !strings.Contains(s.LastError, want) || s.RetryAfter != 0 {
				t.Errorf("it is %+v", s)
			}
		})
	}
}

// A server that says nothing is given up after 10 seconds.
func TestAMuteServer(t *testing.T) {
	h := newHub(t, Options{}, entry("a", "mute"))
	go h.clock.fire(t, greetTime, greetTime)
	h.Start(patient(t))
	if s := h.of("a"); s.State != Stopped || !strings.Contains(s.LastError, "handshake within 10 seconds") || s.RetryAfter == 0 {
		t.Errorf("it is %+v", s)
	}
}

// A server that is slow to start reads all at once that it was asked meanwhile; of which era it
// is shows all the same.
func TestASlowServer(t *testing.T) {
	for era, words := range map[string]string{legacy: "", modern: "modern", bare: "bare"} {
		t.Run(era, func(t *testing.T) {
			go_ := t.TempDir() + "/go"
			h := newHub(t, Options{}, entry("a", append(strings.Fields(words), "slow="+go_)...))
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				h.clock.fire(t, silentTime, silentTime)
				h.clock.fire(t, silentTime, silentTime)
				must(t, os.WriteFile(go_, nil, 0o644))
			}()
			h.Start(patient(t))
			<-asked
			if s := h.of("a"); s.State != Running || s.Era != era {
				t.Errorf("it is %+v", s)
			}
			h.works(t, "a")
		})
	}
}

// Servers start side by side: one that does not keeps no other from starting.
func TestServersStartAtOnce(t *testing.T) {
	servers := []hubconfig.Server{entry("mute", "mute")}
	for i := range 9 {
		servers = append(servers, entry(fmt.Sprint("s", i)))
	}
	h := newHub(t, Options{}, servers...)
	waited := make(chan struct{})
	go func() { h.Start(patient(t)); close(waited) }()
	for _, s := range servers[1:] {
		h.until(t, s.Name, running)
		h.works(t, s.Name)
	}
	if isClosed(waited) {
		t.Error("Start did not wait for the last one")
	}
	h.clock.fire(t, greetTime, greetTime)
	<-waited
}

// All pages are read, a circle ends, of two tools with one name the first stays, and one that nobody
// could read is left out alone.
func TestLists(t *testing.T) {
	for words, want := range map[string]string{"pages": "t0 t1 t2 t3 echo", "loop": "t0 t1 t2", "twins": "a", "deep=2000": "echo"} {
		t.Run(words, func(t *testing.T) {
			var logged log
			h := newHub(t, Options{Logger: logged.logger()}, entry("a", words))
			h.Start(patient(t))
			var names []string
			for _, tool := range h.Tools("a") {
				names = append(names, tool.Name)
				if tool.Title != "T" || tool.Description != "D" || string(tool.InputSchema) != `{"type":"object","x":1.0}` || string(tool.Annotations) != `{"readOnlyHint":true}` || tool.OutputSchema != nil || string(tool.Raw) != fmt.Sprintf(`{"name":%q,"title":"T","description":"D","inputSchema":{"type":"object","x":1.0},"annotations":{"readOnlyHint":true}}`, tool.Name) {
					t.Errorf("a tool is %+v", tool)
				}
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("it has %q", got)
			}
			if warned := strings.Contains(logged.String(), "level=WARN"); warned != (words != "pages") {
				t.Error(&logged)
			}
		})
	}
}

// A list that nobody can read is known at once to be none.
func TestListThatIsTooDeep(t *testing.T) {
	h := started(t, entry("a", "deep=20000"))
	if s := h.of("a"); running(s) || !strings.Contains(s.LastError, "nested too deeply") {
		t.Errorf("it is %+v", s)
	}
}

// Tools that change are listed again, and that is told; so are those of a server that stops.
func TestToolsThatChange(t *testing.T) {
	h := started(t, entry("a"))
	h.says(t, "grow", struct{}{})
	h.until(t, "a", func(s Status) bool { return s.Tools == 2 })
	if tools := h.Tools("a"); tools[1].Name != "grown" {
		t.Errorf("it has %+v", tools)
	}
	kill(t, h.of("a").PID)
	if s := h.until(t, "a", notRunning); s.Tools != 2 || len(h.Tools("a")) != 2 {
		t.Errorf("it is %+v", s)
	}
}

// What a server has is asked for again when it is time to, though it tells nobody that it changed:
// as often as is wanted, or when what a modern server said of its own lists says so.
func TestRefresh(t *testing.T) {
	for _, test := range []struct {
		name  string
		every time.Duration
		words []string
		want  time.Duration // zero is never
	}{
		{"as wanted", time.Hour, nil, time.Hour},
		{"never", 0, nil, 0},
		{"fresh for a while", 0, []string{"modern", "ttl=90000"}, 90 * time.Second},
		{"fresh for less than is wanted", time.Hour, []string{"modern", "ttl=60000"}, time.Minute},
		{"fresh for longer than is wanted", time.Minute, []string{"modern", "ttl=90000"}, time.Minute},
		{"fresh for next to nothing", 0, []string{"modern", "ttl=1"}, leastFresh},
		{"fresh for ever", 0, []string{"modern", "ttl=1e300"}, mostFresh},
		{"not fresh", 0, []string{"modern", "ttl=0"}, 0},
		{"no such number", 0, []string{"modern", "ttl=-5"}, 0},
		{"no number", 0, []string{"modern", `ttl="soon"`}, 0},
		{"an era that knows of nothing like it", 0, []string{"ttl=1"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHub(t, Options{Refresh: test.every}, entry("a", append(test.words, "sly")...))
			h.Start(patient(t))
			p, err := h.servers["a"].current()
			must(t, err)
			if wait := p.stalesAfter(tools); wait != test.want {
				t.Fatalf("it is listed again after %s", wait)
			}
			for round := 1; round < 3 && test.want > 0; round++ {
				h.clock.fire(t, test.want-listPause, test.want)
				name := fmt.Sprint("list", round)
				h.until(t, "a", func(Status) bool { return h.Tools("a")[1].Name == name })
				h.clock.fire(t, listPause, listPause)
			}
		})
	}
}

// What is old is listed anew, and nothing else is.
func TestRefreshOfWhatIsOld(t *testing.T) {
	h := newHub(t, Options{Refresh: time.Hour, Expose: []string{"tools", "resources"}}, entry("a", "modern", "rich", "sly", "ttl=60000"))
	h.Start(patient(t))
	p, err := h.servers["a"].current()
	must(t, err)
	if wait, old := p.stalesNext(); wait != time.Minute || !slices.Equal(old, []kind{tools}) {
		t.Errorf("after %s those of %v are listed", wait, old)
	}
	for _, name := range []string{"list1", "list2"} {
		h.clock.fire(t, time.Minute-listPause, time.Minute)
		h.until(t, "a", func(Status) bool { return h.Tools("a")[1].Name == name })
		h.clock.fire(t, listPause, listPause)
	}
}

// A list that is the same as before is no change: what was kept for it stays.
func TestRefreshOfWhatIsTheSame(t *testing.T) {
	h := newHub(t, Options{Refresh: time.Hour}, entry("a"))
	h.Start(patient(t))
	for len(h.changes) > 0 {
		<-h.changes
	}
	h.clock.fire(t, time.Hour, time.Hour)
	h.clock.fire(t, listPause, listPause) // it has been listed
	if len(h.changes) > 0 {
		t.Error("a change was told")
	}
}
