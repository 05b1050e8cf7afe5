package site_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/site"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// A setup is what a site is made of. The zero value has no pages.
type setup struct {
	// files are the files of the site by their paths; a text that begins with "-> " is
	// the target of a link, and a path that ends in "/" a directory.
	files map[string]string
	// open lets everybody make files in the directories of the site.
	open    bool
	config  func(*site.Config)
	options []site.Option
	edge    httpedge.Options
}

// A running is a site on a port of the loopback.
type running struct {
	t       testing.TB
	addr    string
	root    string
	handler http.Handler
	book    *book
	// stop begins the end of the server.
	stop context.CancelFunc
}

// unconfined lets commands write, so that one that ran can be seen by what it made.
func unconfined(t testing.TB) site.Sandbox {
	t.Helper()
	sandbox, err := site.ParseSandbox("policy.yaml", []byte("mode: danger-full-access\n"))
	if err != nil {
		t.Fatal(err)
	}
	return sandbox
}

func start(t testing.TB, s setup) *running {
	t.Helper()
	r := &running{t: t, root: plant(t, s.files), book: &book{}}
	if s.open {
		throwOpen(t, r.root)
	}
	c := site.Config{Root: r.root, Sandbox: unconfined(t)}
	if s.config != nil {
		s.config(&c)
	}
	options := append([]site.Option{site.WithRecorder(r.book)}, s.options...)
	var err error
	if r.handler, err = site.New(c, options...); err != nil {
		t.Fatal(err)
	}
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	server, served := httpedge.New(r.handler, s.edge), make(chan struct{})
	go func() { defer close(served); _ = server.Serve(ctx, l) }()
	t.Cleanup(func() {
		server.Close()
		stop()
		<-served
		if err := r.handler.(io.Closer).Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// throwOpen lets everybody make files in a directory and in all below it.
func throwOpen(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o777)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// plant makes the files of a site, in a directory that everybody may look into.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for dir := root; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = errors.Join(err, os.Symlink(strings.ReplaceAll(target, "ROOT", root), path))
		} else {
			mode := fs.FileMode(0o644)
			if strings.HasPrefix(text, "#!") {
				mode = 0o755
			}
			err = errors.Join(err, os.WriteFile(path, []byte(text), mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// page gives a page that allows these commands.
func page(specs ...string) string {
	return "---\ntools:\n  - " + strings.Join(specs, "\n  - ") + "\n---\n# A page\n"
}

// has reports whether a file is there.
func (r *running) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.root, name))
	return err == nil
}

// tree lists what is in the site, with its size.
func (r *running) tree() string {
	var b strings.Builder
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}

// A request is what is sent; nothing of it is mended on the way.
type request struct {
	method, target string
	// head holds further lines; one called Host or Content-Type takes the place of the
	// usual one, and an empty value leaves it out.
	head map[string]string
	body string
}

func get(target string) request { return request{method: "GET", target: target} }

func post(target, body string) request { return request{method: "POST", target: target, body: body} }

// run asks for a command.
func run(target string, command ...string) request {
	line, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		panic(err)
	}
	return post(target, string(line))
}

// with adds a line to the head.
func (q request) with(name, value string) request {
	head := map[string]string{name: value}
	for n, v := range q.head {
		if n != name {
			head[n] = v
		}
	}
	q.head = head
	return q
}

func (q request) bytes(addr string) string {
	head := map[string]string{"Host": addr}
	if q.method == "POST" {
		head["Content-Type"] = "application/json"
		head["Content-Length"] = fmt.Sprint(len(q.body))
	}
	for name, value := range q.head {
		head[name] = strings.ReplaceAll(value, "ADDR", addr)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", q.method, strings.ReplaceAll(q.target, "ADDR", addr))
	for name, value := range head {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	return b.String() + "\r\n" + q.body
}

// An answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

// dial opens a connection, on which everything must happen within patience.
func (r *running) dial() *net.TCPConn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// send writes requests on a new connection, and gives the connection.
func (r *running) send(requests ...request) *net.TCPConn {
	r.t.Helper()
	c := r.dial()
	var all strings.Builder
	for _, q := range requests {
		all.WriteString(q.bytes(r.addr))
	}
	_, _ = io.WriteString(c, all.String()) // a server may refuse before it has read all
	return c
}

// ask sends one request and gives the answer.
func (r *running) ask(q request) answer {
	r.t.Helper()
	c := r.send(q)
	defer c.Close()
	return r.read(bufio.NewReader(c), q.method)
}

func (r *running) read(from *bufio.Reader, method string) answer {
	r.t.Helper()
	a, err := readAnswer(from, method)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func readAnswer(from *bufio.Reader, method string) (answer, error) {
	res, err := http.ReadResponse(from, &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res, string(body)}, err
}

// members gives the members of a JSON body.
func (a answer) members(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("%d %q: %v", a.StatusCode, a.body, err)
	}
	return m
}

// code gives the code of a refusal, and "" for anything else.
func (a answer) code() string {
	var m struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(a.body), &m) // no JSON has no code
	return m.Code
}

// wantOutput checks that a command was run and printed this.
func (a answer) wantOutput(t testing.TB, stdout string, code int) {
	t.Helper()
	m := a.members(t)
	if a.StatusCode != 200 || m["stdout"] != stdout || m["returncode"] != float64(code) {
		t.Errorf("%d %.300s, want stdout %.100q and returncode %d", a.StatusCode, a.body, stdout, code)
	}
}

// wantRefusal checks status, code and form of a refusal.
func (a answer) wantRefusal(t testing.TB, method string, status int, code string) {
	t.Helper()
	if a.StatusCode != status || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" ||
		a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v %.200s, want %d %s", a.StatusCode, a.Header, a.body, status, code)
	}
	if method == "HEAD" {
		return
	}
	m := a.members(t)
	message, _ := m["error"].(string)
	want := map[string]any{"error": message, "code": code}
	if method == "POST" {
		want["stdout"], want["stderr"], want["returncode"] = "", message, 1.0
	}
	hint, told := m["hint"]
	if stranger := code == "unauthenticated"; stranger == told || hint == "" {
		t.Errorf("the hint is %q: %.300s", hint, a.body)
	}
	if told {
		want["hint"] = hint
	}
	if fmt.Sprint(m) != fmt.Sprint(want) || message == "" {
		t.Errorf("the body is %.300v, want code %s", m, code)
	}
}

// A note is one record.
type note struct {
	phase    string
	call     durward.Call
	decision durward.Decision
	result   durward.Result
	err      error
}

// A book keeps records in memory, until it is full.
type book struct {
	mu    sync.Mutex
	notes []note // guarded by mu
	full  bool   // guarded by mu
}

func (b *book) keep(n note) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full {
		return errors.New("/var/lib/secret: no space left on device")
	}
	b.notes = append(b.notes, n)
	return nil
}

func (b *book) fill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full = true
}

// take gives the records since it was last called.
func (b *book) take() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes := b.notes
	b.notes = nil
	return notes
}

func (b *book) Deny(c durward.Call, d durward.Decision) error {
	return b.keep(note{phase: "deny", call: c, decision: d})
}

func (b *book) Intent(c durward.Call, d durward.Decision) error {
	return b.keep(note{phase: "intent", call: c, decision: d})
}

func (b *book) Refused(c durward.Call, d durward.Decision, _ durward.Contact) error {
	return b.keep(note{phase: "event", call: c, decision: d})
}

func (b *book) Outcome(c durward.Call, d durward.Decision, res durward.Result, err error) error {
	return b.keep(note{phase: "outcome", call: c, decision: d, result: res, err: err})
}

// phases lists the phases of records.
func phases(notes []note) string {
	var list []string
	for _, n := range notes {
		list = append(list, n.phase)
	}
	return strings.Join(list, " ")
}

// within waits until a condition holds, and fails the test when it does not in time.
func within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, limit)
		}
		time.Sleep(2 * time.Millisecond) // between two looks
	}
}

func newReader(c io.Reader) *bufio.Reader { return bufio.NewReader(c) }

// peek gives the records without taking them.
func (b *book) peek() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

// askHandler asks a handler without a server.
func askHandler(h http.Handler, q request) *httptest.ResponseRecorder {
	const host = "localhost"
	r := httptest.NewRequest(q.method, "http://"+host+"/", strings.NewReader(q.body))
	r.RequestURI = q.target
	r.Header.Set("Content-Type", "application/json")
	for name, value := range q.head {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runsNothing is an executor that wants to be asked for directories below its own only.
type runsNothing struct{ below string }

func (e runsNothing) Execute(_ context.Context, c site.Command) (site.Output, error) {
	if c.Dir != e.below && !strings.HasPrefix(c.Dir, e.below+string(filepath.Separator)) {
		return site.Output{}, fmt.Errorf("it is to run in %s", c.Dir)
	}
	return site.Output{}, nil
}

// soon is far longer than any answer takes on a busy machine, and far shorter than what
// the commands of these tests would take by themselves.
const soon = 20 * time.Second
