//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// Numbers, the order of members, unknown ones and texts go there and back as they are.
func TestNothingIsRewritten(t *testing.T) {
	h := started(t, entry("a"))
	const odd = `{"z":12345678901234567890123,"a":1.0,"b":[1e2,-0,{}],"text":"<&>\u00e9é\u2028","A":null,"":true}`
	r, err := h.call(patient(t), "a", "echo", odd)
	if want := `{"content":[],"structuredContent":` + odd + `}`; err != nil || string(r.Output) != want || r.Failed {
		t.Errorf("it answered %s, %v", r.Output, err)
	}
	const result = `{"unknown":1.50,"content":[{"type":"hologram","n":18446744073709551616}],"isError":false,"_meta":{"b":1,"a":2}}`
	text, err := json.Marshal(map[string]string{"text": result})
	must(t, err)
	if r, err = h.call(patient(t), "a", "raw", string(text)); err != nil || string(r.Output) != result {
		t.Errorf("it answered %s, %v", r.Output, err)
	}
	if r, err := h.callWithin(patient(t), limit, "a", "echo", " {\n \"a\" : 1 } "); err != nil || string(r.Output) != `{"content":[],"structuredContent":{"a":1}}` {
		t.Errorf("it answered %s, %v", r.Output, err)
	}
}

// What a call comes to, by what the server answers.
func TestAnswers(t *testing.T) {
	h := started(t, entry("a"))
	pid := h.of("a").PID
	result := func(text string) string { return `{"jsonrpc":"2.0","id":ID,"result":` + text + `}` }
	for _, tt := range []struct{ name, line, want string }{
		{"content", result(`{"content":[]}`), "ok"},
		{"structured content alone", result(`{"structuredContent":7}`), "ok"},
		{"an error of the tool", result(`{"content":[],"isError":true}`), "failed"},
		{"complete", result(`{"resultType":"complete","content":[]}`), "ok"},
		{"white space", " {\t\"result\" : {\"content\":[ ]},\"id\": ID ,\"jsonrpc\":\"2.0\"} \r", "ok"},
		{"a batch", `[` + result(`{"content":[]}`) + `]`, "ok"},
		{"neither", result(`{"text":"hello"}`), "malformed_result"},
		{"no list", result(`{"content":"hello"}`), "malformed_result"},
		{"nothing", result(`null`), "malformed_result"},
		{"a list", result(`[{"content":[]}]`), "malformed_result"},
		{"twice", result(`{"content":[],"content":[]}`), "malformed_result"},
		{"NaN", result(`{"content":[],"structuredContent":{"n":NaN}}`), "malformed_result"},
		{"infinity, and the id behind it", `{"jsonrpc":"2.0","result":{"content":[-Infinity]},"id":ID}`, "malformed_result"},
		{"both", `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":{"code":1,"message":"x"}}`, "malformed_result"},
		{"a bad error", `{"jsonrpc":"2.0","id":ID,"error":"x"}`, "malformed_result"},
		{"no version", `{"id":ID,"result":{"content":[]}}`, "malformed_result"},
		{"a question", result(`{"resultType":"input_required","inputRequests":{},"content":[]}`), "input_required"},
		{"too deep", result(`{"content":[` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `]}`), "malformed_result"},
		{"deeper than anybody reads", result(`{"content":[` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `]}`), "malformed_result"},
		{"an error", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad arguments"}}`, "server_error"},
		{"a large error", `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"` + strings.Repeat("x", limit+1) + `"}}`, "output_too_large"},
		{"a large result", result(`{"content":["` + strings.Repeat("x", limit) + `"]}`), "output_too_large"},
		{"many values", result(`{"content":[` + strings.Repeat("0,", 400_000) + `0]}`), "ok"},
	} {
		text, err := json.Marshal(map[string]string{"text": tt.line})
		must(t, err)
		if got := reason(h.call(patient(t), "a", "line", string(text))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if h.of("a").PID != pid {
		t.Error("it was started anew")
	}
}

// Half of a character, as programs write that cut a text, takes nothing else with it: neither a
// result nor the list of tools.
func TestHalvesOfCharacters(t *testing.T) {
	h := started(t, entry("a", "torn"))
	text, err := json.Marshal(map[string]string{"text": `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a\ud83d"}],"n":1.0}}`})
	must(t, err)
	r, err := h.call(patient(t), "a", "line", string(text))
	if want := `{"content":[{"type":"text","text":"a\ufffd"}],"n":1.0}`; err != nil || string(r.Output) != want {
		t.Errorf("it answered %s, %v", r.Output, err)
	}
	if tools := h.Tools("a"); len(tools) != 2 || tools[0].Description != "D\uFFFD" {
		t.Errorf("it has %+v", tools)
	}
}

// An error that the server answers with is told with all that it says.
func TestErrorsOfServers(t *testing.T) {
	h := started(t, entry("a"))
	_, err := h.call(patient(t), "a", "error", `{"code":-32042,"text":"no \"such\" thing"}`)
	members, _ := json.Marshal(durward.DetailOf(err).Members)
	if want := `{"code":-32042,"data":{"n":12345678901234567890},"message":"no \"such\" thing"}`; string(members) != want || durward.ReasonOf(err) != durward.ServerError {
		t.Errorf("it is %v with %s", err, members)
	}
	if r, err := h.call(patient(t), "a", "failed", `{}`); err != nil || !r.Failed || !strings.Contains(string(r.Output), "it failed") {
		t.Errorf("it is %+v, %v", r, err)
	}
}

// Nonsense between the answers, second answers and answers for others change nothing.
func TestNonsense(t *testing.T) {
	for _, words := range []string{"garbage", "twice", "wrongid", "garbage twice wrongid modern"} {
		t.Run(words, func(t *testing.T) {
			h := started(t, entry("a", strings.Fields(words)...))
			pid := h.of("a").PID
			for range 20 {
				h.works(t, "a")
			}
			if s := h.of("a"); s.PID != pid || s.Tools != 1 {
				t.Errorf("it is %+v", s)
			}
		})
	}
}

// Large replies are taken or refused by the limit of the call, and one beyond the limit of a line is
// an error for the call that it answers. The server lives on.
func TestLargeReplies(t *testing.T) {
	h := newHub(t, Options{lineBytes: 21 << 20}, entry("a"))
	h.Start(patient(t))
	pid := h.of("a").PID
	for _, tt := range []struct {
		tool  string
		bytes int
		limit int64
		want  string
	}{
		{"big", 20 << 20, 10_000_000, "output_too_large"},
		{"big", 3 << 20, 4 << 20, "ok"},
		{"big", 22 << 20, durward.Unlimited, "output_too_large"},
		{"idlast", 22 << 20, durward.Unlimited, "output_too_large"},
	} {
		r, err := h.callWithin(patient(t), tt.limit, "a", tt.tool, fmt.Sprintf(`{"bytes":%d}`, tt.bytes))
		if got := reason(r, err); got != tt.want || got == "ok" && len(r.Output) < tt.bytes {
			t.Errorf("%s of %d bytes: %s, %d bytes", tt.tool, tt.bytes, got, len(r.Output))
		}
		h.works(t, "a")
	}
	if h.of("a").PID != pid {
		t.Error("it was started anew")
	}
}

// waiting gives arguments for a call that waits, and what to see of it.
func waiting(t testing.TB) (arguments, began, gone string) {
	dir := t.TempDir()
	began, gone = filepath.Join(dir, "began"), filepath.Join(dir, "gone")
	text, err := json.Marshal(map[string]string{"began": began, "gone": gone})
	must(t, err)
	return string(text), began, gone
}

// A call whose time ends is answered at once, and the server hears of it; what it answers later is
// for nobody. The next call waits for that.
func TestTimeout(t *testing.T) {
	h := started(t, entry("a"))
	pid := h.of("a").PID
	for _, tt := range []struct {
		want string
		end  func(ctx context.Context) (context.Context, context.CancelFunc)
	}{
		{"timeout", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}},
		{"cancelled", context.WithCancel},
	} {
		arguments, began, gone := waiting(t)
		ctx, cancel := tt.end(patient(t))
		if tt.want == "cancelled" {
			go func() { appears(t, began); cancel() }()
		}
		if got := reason(h.call(ctx, "a", "wait", arguments)); got != tt.want {
			t.Errorf("it ended with %s, want %s", got, tt.want)
		}
		cancel()
		appears(t, gone)
		h.works(t, "a")
	}
	if h.of("a").PID != pid {
		t.Error("it was started anew")
	}
}

// A server that takes one call at a time and does not answer a cancelled one is started anew.
func TestAServerThatHangs(t *testing.T) {
	h := started(t, entry("a"))
	pid := h.of("a").PID
	arguments, began, _ := waiting(t)
	ctx, cancel := context.WithCancel(patient(t))
	go func() { appears(t, began); cancel() }()
	if got := reason(h.call(ctx, "a", "hang", arguments)); got != "cancelled" {
		t.Fatal(got)
	}
	next := make(chan string, 1)
	go func() { next <- reason(h.call(patient(t), "a", "echo", `{}`)) }()
	h.clock.fire(t, answerTime, answerTime)
	if got := <-next; got != "server_stopped" {
		t.Errorf("who waited for the slot was told %s", got)
	}
	s := h.until(t, "a", func(s Status) bool { return running(s) && s.PID != pid })
	if lives(pid) || s.Restarts != 1 || !strings.Contains(s.LastError, "did not answer a call") {
		t.Errorf("it is %+v", s)
	}
	h.works(t, "a")
}

// One that takes several is left alone, and has the slot for others.
func TestAServerThatHangsAndTakesSeveral(t *testing.T) {
	e := entry("a")
	e.Concurrency = 2
	h := started(t, e)
	pid := h.of("a").PID
	for range 5 {
		arguments, began, _ := waiting(t)
		ctx, cancel := context.WithCancel(patient(t))
		go func() { appears(t, began); cancel() }()
		if got := reason(h.call(ctx, "a", "hang", arguments)); got != "cancelled" {
			t.Fatal(got)
		}
		h.clock.fire(t, answerTime, answerTime)
		h.works(t, "a")
	}
	if h.of("a").PID != pid {
		t.Error("it was started anew")
	}
}

// Calls wait for the ones before them, in their order; another server is not held up.
func TestOneAtATime(t *testing.T) {
	h := started(t, entry("a"), entry("b"))
	arguments, began, _ := waiting(t)
	ctx, cancel := context.WithCancel(patient(t))
	first := make(chan string, 1)
	go func() { first <- reason(h.call(ctx, "a", "wait", arguments)) }()
	appears(t, began)
	h.works(t, "b")
	short, stop := context.WithTimeout(patient(t), 500*time.Millisecond)
	defer stop()
	if got := reason(h.call(short, "a", "echo", `{}`)); got != "queue_timeout" {
		t.Errorf("without a slot: %s", got)
	}
	gone, leave := context.WithCancel(patient(t))
	leave()
	if got := reason(h.call(gone, "a", "echo", `{}`)); got != "cancelled" {
		t.Errorf("who left: %s", got)
	}
	later := make(chan durward.Result, 1)
	go func() {
		r, err := h.call(patient(t), "a", "echo", `{}`)
		if err != nil {
			t.Error(err)
		}
		later <- r
	}()
	for s := h.servers["a"]; ; time.Sleep(time.Millisecond) {
		s.slots.mu.Lock()
		n := len(s.slots.waiting)
		s.slots.mu.Unlock()
		if n > 0 {
			break
		}
	}
	cancel()
	if r := <-later; r.Queued <= 0 {
		t.Error("it did not wait")
	}
	if got := <-first; got != "cancelled" {
		t.Error(got)
	}
}

// A server that does not read holds up nobody beyond their time, and is ended for that.
func TestAServerThatDoesNotRead(t *testing.T) {
	h := started(t, entry("a", "deafened"))
	pid := h.of("a").PID
	process, err := h.servers["a"].current()
	must(t, err)
	ctx, cancel := context.WithCancel(patient(t))
	go func() { written(t, process.body.(*program).stdin); cancel() }() // a call of which nothing was sent holds up nobody
	if got := reason(h.call(ctx, "a", "echo", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)); got != "cancelled" {
		t.Errorf("it ended with %s", got)
	}
	h.clock.fire(t, answerTime, answerTime)
	h.until(t, "a", func(s Status) bool { return running(s) && s.PID != pid })
}

// Who listens hears of the progress of its call, in order and not behind its end.
func TestProgress(t *testing.T) {
	for _, era := range []string{"", "modern"} {
		var said []string
		h := newHub(t, Options{Message: func(server string, _ []durward.Caller, params json.RawMessage) {
			said = append(said, server+" "+string(params)) // by one goroutine, and read after its end
		}}, entry("a", strings.Fields(era)...))
		h.Start(patient(t))
		p, err := h.Prepare(patient(t), durward.Tool{Spec: &hubconfig.Target{Server: "a", Tool: "progress"}},
			durward.Call{Input: json.RawMessage(`{}`)}, durward.Grant{})
		must(t, err)
		var heard listener
		s, err := p.(*prepared).Open(patient(t), &heard)
		must(t, err)
		r, err := s.Wait(patient(t))
		if got := heard.all(); err != nil || got != "0/3 step, 1/3 step, 2/3 step, " || !strings.Contains(string(r.Output), "done") {
			t.Errorf("it told %q and answered %s, %v", got, r.Output, err)
		}
		page, err := s.Read(patient(t), 0, 1, 0)
		must(t, err)
		if !page.Ended {
			t.Error("it has not ended")
		}
		must(t, s.Close())
		h.works(t, "a") // what came behind the end has been read then
		must(t, h.Close())
		if got := heard.all(); len(said) != 1 || said[0] != `a {"level":"info","data":{"n":1.0}}` || strings.Contains(got, "9") {
			t.Errorf("it said %q, and then %q", said, got)
		}
	}
}

// A listener writes down what it hears of progress.
type listener struct {
	durward.Events
	mu   sync.Mutex
	text strings.Builder
}

func (l *listener) Progress(done, total float64, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, "%g/%g %s, ", done, total, message)
}

func (l *listener) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Servers may ask whether we are there and where they may work, and nothing else.
func TestWhatServersAsk(t *testing.T) {
	h := started(t, entry("a", "asks"))
	h.works(t, "a")
	for ctx := patient(t); strings.Count(string(h.Stderr("a")), "\n") < 3; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("it was answered %s", h.Stderr("a"))
		}
	}
	want := "answered 0: {}\n" + `answered 1: {"roots":[{"name":"sandbox","uri":"file://` + h.dir + `"}]}` + "\n" +
		`answered 2: {"code":-32601,"message":"this client has no such method"}` + "\n"
	if got := string(h.Stderr("a")); got != want {
		t.Error(got)
	}
}

// A call that is not one is refused before anything is sent.
func TestWhatIsNotPrepared(t *testing.T) {
	h := started(t, entry("a"))
	target := &hubconfig.Target{Server: "a", Tool: "echo"}
	for _, tt := range []struct {
		spec any
		call durward.Call
		want durward.Reason
	}{
		{target, durward.Call{Argv: []string{"echo"}}, durward.BadCall},
		{target, durward.Call{Input: json.RawMessage(`[]`)}, durward.BadCall},
		{&hubconfig.Target{Server: "b", Tool: "echo"}, durward.Call{Input: json.RawMessage(`{}`)}, durward.Defect},
		{nil, durward.Call{Input: json.RawMessage(`{}`)}, durward.Defect},
	} {
		if p, err := h.Prepare(patient(t), durward.Tool{Spec: tt.spec}, tt.call, durward.Grant{}); p != nil || durward.ReasonOf(err) != tt.want {
			t.Errorf("%+v: %v", tt.call, err)
		}
	}
}

// Arguments are sent as whoever judges them gives them back.
func TestForward(t *testing.T) {
	h := newHub(t, Options{Forward: func(_ context.Context, server, tool string, arguments json.RawMessage) (json.RawMessage, error) {
		if strings.Contains(string(arguments), "outside") {
			return nil, &durward.Error{Reason: durward.OutsideRoot}
		}
		return json.RawMessage(`{"at":"` + server + "/" + tool + `"}`), nil
	}}, entry("a"))
	h.Start(patient(t))
	if r, err := h.call(patient(t), "a", "echo", `{"x":1}`); err != nil || string(r.Output) != `{"content":[],"structuredContent":{"at":"a/echo"}}` {
		t.Errorf("it answered %s, %v", r.Output, err)
	}
	mark := filepath.Join(t.TempDir(), "outside")
	if got := reason(h.call(patient(t), "a", "mark", `{"path":"`+mark+`"}`)); got != string(durward.OutsideRoot) {
		t.Error(got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the call went through")
	}
}
