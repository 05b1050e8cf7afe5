package execserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A deviation is a step in which we, on purpose, do not do what was recorded from another
// server. Recorded is what the line of that step has, instead is what it is replayed as.
type deviation struct{ name, why, recorded, instead string }

var deviations = []deviation{
	{
		"unknown_notification", "an unknown notification is answered and ends nothing",
		`"expect_close":true`, `"expect":{"error":{"code":-32600,"message":""},"id":-1},"expect_open":true`,
	},
	{
		"write_states", "the writeId may be missing, and then a closed stdin is an error and no status",
		`{"error":{"code":-32602,"message":"missing field ` + "`writeId`" + `"},"id":105}`, `{"error":{"code":-32600,"message":""},"id":105}`,
	},
	{
		"start_spawn_failure", "without its directory no process starts, on a terminal either",
		`{"id":103,"result":{"processId":"p","sandboxType":"none"}}`, `{"error":{"code":-32603,"message":""},"id":103}`,
	},
	{
		"start_spawn_failure", "so that the id is free",
		`{"error":{"code":-32600,"message":"process p already exists"},"id":104}`, `{"id":104,"result":{"processId":"p","sandboxType":"none"}}`,
	},
}

// A step is a line of what was recorded.
type step struct {
	Case     string
	Conn     int
	Send     json.RawMessage
	Text     *string              `json:"send_text"`
	Binary   *string              `json:"send_binary_utf8"`
	Nested   *struct{ Depth int } `json:"send_nested_arrays"`
	Expect   json.RawMessage
	Output   *outputStep     `json:"expect_output"`
	Contains *outputStep     `json:"expect_output_contains"`
	Sorted   *outputStep     `json:"expect_output_sorted_lines"`
	Entries  json.RawMessage `json:"expect_unordered_entries"`
	Close    bool            `json:"expect_close"`
	Open     bool            `json:"expect_open"`
	Dial     *int            `json:"open"`
	Drop     *int
	Sleep    int `json:"sleep_ms"`
	Note     string
	Setup    []struct{ Mkdir, Write, UTF8, Symlink, Target string }
}

type outputStep struct {
	ProcessID, Stream, UTF8 string
	Length                  *int
}

// recorded gives the steps of each case, with the deviations in them, and the names of the
// cases in their order.
func recorded(t *testing.T) (cases map[string][]step, names []string, count int) {
	t.Helper()
	text, err := os.ReadFile("../testdata/vectors/exec_server_session.jsonl")
	must(t, err)
	lines := slices.Collect(strings.Lines(string(text)))
	var meta struct{ Cases int }
	must(t, json.Unmarshal([]byte(lines[0]), &meta))
	cases, used := make(map[string][]step), make(map[deviation]int)
	for _, line := range lines[1:] {
		var s step
		for _, d := range deviations {
			if strings.Contains(line, fmt.Sprintf(`"case":%q`, d.name)) && strings.Contains(line, d.recorded) {
				line = strings.Replace(line, d.recorded, d.instead, 1)
				used[d]++
			}
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if _, known := cases[s.Case]; !known {
			names = append(names, s.Case)
		}
		cases[s.Case] = append(cases[s.Case], s)
	}
	for _, d := range deviations {
		if used[d] != 1 {
			t.Errorf("the deviation in %s is in %d lines: %s", d.name, used[d], d.why)
		}
	}
	return cases, names, meta.Cases
}

// TestSessionVectors replays what was recorded, on a connection of its own for each case.
func TestSessionVectors(t *testing.T) {
	cases, names, count := recorded(t)
	replayAll(t, cases, names, func(step string) string { return step })
	var deviant []string
	for _, d := range deviations {
		deviant = append(deviant, d.name)
	}
	deviant = slices.Compact(slices.Sorted(slices.Values(deviant)))
	t.Logf("exec_server_session.jsonl: %d cases, %d of them deviations by name: %s", len(names), len(deviant), strings.Join(deviant, ", "))
	if len(names) != count {
		t.Errorf("%d cases ran; %d were recorded", len(names), count)
	}
}

// TestSessionVectorsWithPlainPaths replays the same with paths where URIs were recorded, but
// for the one case that is about URIs.
func TestSessionVectorsWithPlainPaths(t *testing.T) {
	cases, names, _ := recorded(t)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "fs_uri_forms" })
	replayAll(t, cases, names, strings.NewReplacer("file://${", "${", "file:///", "/").Replace)
}

// replayAll replays cases, whose texts it changes by a function.
func replayAll(t *testing.T, cases map[string][]step, names []string, as func(string) string) {
	t.Helper()
	plain := serve(t)
	t.Run("cases", func(t *testing.T) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := &replay{t: t, as: as, server: plain, names: bound{"${ROOT}": openDir(t)}, taken: map[string]int{}}
				switch {
				case name == "session_resume":
					r.server = serve(t, "--session-grace", "80")
				case strings.HasPrefix(name, "http_"):
					port := r.helper()
					r.names["${HTTP_PORT}"] = port
					r.server = serve(t, "--allow-net", "127.0.0.1:"+port)
				}
				r.run(cases[name])
			})
		}
	})
}

// A replay is one case, as it goes on.
type replay struct {
	t      *testing.T
	as     func(string) string
	server *server
	names  bound
	peers  []*peer
	// taken is how many answers of an id, or notifications of a method about the same thing,
	// the steps have had so far.
	taken map[string]int
	// slept is set when time passed before the next request.
	slept bool
}

func (r *replay) run(steps []step) {
	r.peers = []*peer{dial(r.t, r.server.url)}
	for i, s := range steps {
		r.setUp(s)
		r.act(s, steps[i+1:])
		r.expect(s)
		r.note(s)
	}
}

func (r *replay) setUp(s step) {
	root := r.names["${ROOT}"]
	for _, f := range s.Setup {
		at := filepath.Join(root, f.Mkdir+f.Write+f.Symlink)
		must(r.t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch {
		case f.Mkdir != "":
			must(r.t, os.MkdirAll(at, 0o755))
		case f.Write != "":
			must(r.t, os.WriteFile(at, []byte(f.UTF8), 0o644))
		default:
			must(r.t, os.Symlink(f.Target, at))
		}
	}
}

// filled is what is recorded with the values of its names.
func (r *replay) filled(recorded []byte) string { return r.names.fill(r.as(string(recorded))) }

// act does what the client does. What comes is known, so that there is something to wait for
// where the recorded client let time pass.
func (r *replay) act(s step, coming []step) {
	switch {
	case s.Dial != nil:
		r.peers = append(r.peers, dial(r.t, r.server.url))
		return
	case s.Drop != nil:
		r.peers[*s.Drop].drop()
		return
	}
	p := r.peers[s.Conn]
	switch {
	case s.Sleep > 0:
		r.slept = true
	case s.Send != nil:
		r.settle(p, s, coming)
		r.send(p, r.filled(s.Send))
	case s.Text != nil:
		p.says(*s.Text)
	case s.Binary != nil:
		p.sends(websocket.MessageBinary, *s.Binary)
	case s.Nested != nil:
		p.says(`{"id":1,"method":"environment/status","params":` + strings.Repeat("[", s.Nested.Depth) + strings.Repeat("]", s.Nested.Depth) + `}`)
	}
}

// send sends a request. Where the recorded client let time pass before it, that is for the
// server to notice that a connection is gone: until then it is told that one has the session.
func (r *replay) send(p *peer, request string) {
	p.says(request)
	for r.slept {
		key, answer := r.next(p, []byte(request), false)
		if r.slept = strings.Contains(answer, `"code":-32010`); r.slept {
			r.taken[key]++
			p.says(request)
		}
	}
}

// settle waits until a process is closed before what is recorded of reading from a closed one.
func (r *replay) settle(p *peer, s step, coming []step) {
	if len(coming) > 0 && strings.Contains(string(coming[0].Expect), `"closed":true`) {
		p.closed(identified(r.t, s.Send).Params.ProcessID)
	}
}

func (r *replay) expect(s step) {
	p := r.peers[s.Conn]
	if s.Expect != nil {
		r.like(r.takeNext(p, s.Expect), valueOf(r.t, r.as(string(s.Expect))))
	}
	if s.Entries != nil {
		got, want := r.takeNext(p, s.Entries), valueOf(r.t, r.as(string(s.Entries)))
		sortEntries(got)
		sortEntries(want)
		r.like(got, want)
	}
	if o := s.Output; o != nil {
		got := p.all(o.ProcessID, o.Stream)
		if o.Length != nil && len(got) != *o.Length || o.Length == nil && got != r.names.fill(o.UTF8) {
			r.t.Errorf("%s writes %d bytes to %s: %.300q", o.ProcessID, len(got), o.Stream, got)
		}
	}
	if o := s.Contains; o != nil {
		p.prints(o.ProcessID, o.UTF8)
	}
	if o := s.Sorted; o != nil {
		got := slices.Sorted(strings.SplitSeq(strings.TrimSuffix(p.all(o.ProcessID, o.Stream), "\n"), "\n"))
		if !slices.Equal(got, strings.Split(o.UTF8, "\n")) {
			r.t.Errorf("%s writes the lines %q", o.ProcessID, got)
		}
	}
	if s.Close {
		p.closes()
	}
	if s.Open {
		p.lives()
	}
}

// takeNext waits for the next message that a step can be about.
func (r *replay) takeNext(p *peer, recorded []byte) any {
	r.t.Helper()
	key, text := r.next(p, recorded, true)
	r.taken[key]++
	return valueOf(r.t, text)
}

// next waits for the next message with the id that is recorded or, for a notification, with
// the method that is and about the same process or request. The key tells those apart.
func (r *replay) next(p *peer, recorded []byte, notice bool) (key, text string) {
	r.t.Helper()
	about := func(m message) string {
		return fmt.Sprint(m.ID, " ", m.Method, " ", m.Params.ProcessID, " ", m.Params.RequestID)
	}
	want := identified(r.t, recorded)
	if !notice {
		want = message{ID: want.ID}
	}
	key = fmt.Sprintf("%p %s", p, about(want))
	p.until(string(recorded), func(heard []message) bool {
		seen := 0
		for _, m := range heard {
			if about(m) != about(want) {
				continue
			}
			if seen++; seen > r.taken[key] {
				text = m.text
				return true
			}
		}
		return false
	})
	return key, text
}

// identified gives what a message that is recorded is about.
func identified(t *testing.T, recorded []byte) message {
	t.Helper()
	var m struct {
		ID     any
		Method string
		Params struct{ ProcessID, RequestID string }
	}
	must(t, json.Unmarshal(recorded, &m))
	return message{ID: m.ID, Method: m.Method, Params: notice{ProcessID: m.Params.ProcessID, RequestID: m.Params.RequestID}}
}

func (r *replay) like(got, want any) {
	r.t.Helper()
	onlyListedHeaders(got)
	if difference := r.names.unlike("it", want, got); difference != "" {
		r.t.Errorf("%s\nwant %v\ngot  %v", difference, want, got)
	}
}

// onlyListedHeaders leaves of the headers of an answer those that are recorded, of which the
// names begin with "x-".
func onlyListedHeaders(answer any) {
	m, _ := answer.(map[string]any)
	result, _ := m["result"].(map[string]any)
	headers, _ := result["headers"].([]any)
	if headers == nil {
		return
	}
	result["headers"] = slices.DeleteFunc(headers, func(h any) bool {
		header, _ := h.(map[string]any)
		name, _ := header["name"].(string)
		return !strings.HasPrefix(strings.ToLower(name), "x-")
	})
}

func sortEntries(answer any) {
	m, _ := answer.(map[string]any)
	result, _ := m["result"].(map[string]any)
	entries, _ := result["entries"].([]any)
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// note asks for what the notes of the recording say in words.
func (r *replay) note(s step) {
	switch {
	case strings.HasPrefix(s.Note, "exited arrives"):
		p := r.peers[s.Conn]
		p.exits("p")
		p.prints("p", "late")
		for _, m := range p.of("p") {
			if m.Method == "process/exited" {
				return
			}
			if m.Params.Stream != "" && strings.Contains(string(m.Params.Chunk), "late") {
				r.t.Error("the late output comes before the exit")
			}
		}
	case strings.HasPrefix(s.Note, "first retained"):
		chunks := r.retained(s)
		sum := 0
		for _, c := range chunks {
			sum += len(c.Chunk)
		}
		if chunks[0].Seq <= 1 || sum > 1<<20 || sum <= 1040000 {
			r.t.Errorf("from %d on %d bytes are kept", chunks[0].Seq, sum)
		}
	case strings.HasPrefix(s.Note, "read afterSeq 0"):
		var got []string
		for _, c := range r.retained(s) {
			got = append(got, string(c.Chunk))
		}
		if !slices.Equal(got, []string{"one\n", "two\n"}) {
			r.t.Errorf("%q are kept", got)
		}
	}
}

// retained reads all that is kept of the output of the process.
func (r *replay) retained(s step) (chunks []notice) {
	p := r.peers[s.Conn]
	result := struct{ Chunks *[]notice }{&chunks}
	p.result(p.ask("process/read", map[string]any{"processId": "p", "afterSeq": 0}), &result)
	if len(chunks) == 0 {
		r.t.Fatal("nothing is kept")
	}
	return chunks
}

// helper starts the server that the recorded requests were made to, and gives its port. Of
// an answer the second part follows once the first was heard of, or the request is not the
// one that hears of parts.
func (r *replay) helper() (port string) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/redirect" {
			w.Header().Set("Location", "/a")
			w.Header().Set("X-Redirect", "1")
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, "redir")
			return
		}
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("X-Method", q.Method)
		w.Header().Set("X-Seen", q.Header.Get("X-Test"))
		_, _ = io.WriteString(w, "part1")
		_ = http.NewResponseController(w).Flush()
		r.part1Heard()
		_, _ = fmt.Fprintf(w, "part2:%s", body)
	}))
	r.t.Cleanup(web.Close)
	return web.URL[strings.LastIndex(web.URL, ":")+1:]
}

// part1Heard waits until the client of a request that streams has heard of the first part.
func (r *replay) part1Heard() {
	if r.t.Name()[strings.LastIndex(r.t.Name(), "/")+1:] != "http_stream" {
		return
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // between two looks
		p := r.peers[0]
		p.mu.Lock()
		heard := slices.ContainsFunc(p.heard, func(m message) bool { return m.Method == "http/request/bodyDelta" })
		p.mu.Unlock()
		if heard {
			return
		}
	}
}
