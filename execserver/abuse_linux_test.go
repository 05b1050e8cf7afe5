//go:build linux && (amd64 || arm64) && abuse

package execserver_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestAbuse runs the program as it is released: what that holds in memory is not what a test
// binary does.
func TestAbuse(t *testing.T) {
	program := filepath.Join(openDir(t), "durward")
	build := exec.Command("go", "build", "-o", program, "../cmd/durward")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *watched)
	}{
		{"a reader that rests", readerThatRests},
		{"many long polls", longPolls},
		{"many connections", manyConnections},
		{"connections that stop half way", halfConnections},
		{"requests without an end", requestsWithoutEnd},
		{"writes without an end", writesWithoutEnd(false)},
		{"writes to a terminal without an end", writesWithoutEnd(true)},
		{"many processes, one after the other", churn},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := run(t, program)
			rests, goesOn := s.asBefore(), s.others(t)
			test.run(t, s)
			goesOn()
			rests()
		})
	}
}

// others has another session ask one thing after the other until the function that it gives
// is called, which wants all of that to have been answered. Between two it takes a breath: a
// processor is for the test.
func (s *server) others(t *testing.T) (goesOn func()) {
	t.Helper()
	c := rawDial(t, s.url)
	var asked int
	var failed error
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		breath := time.NewTicker(2 * time.Millisecond)
		defer breath.Stop()
		for ; ctx.Err() == nil && failed == nil; <-breath.C {
			asked++
			failed = c.ask(fmt.Sprintf(`{"id":%d,"method":"process/terminate","params":{"processId":"x"}}`, asked))
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() {
		t.Helper()
		cancel()
		<-done
		if failed != nil {
			t.Errorf("request %d of another session: %v", asked, failed)
		}
		_ = c.CloseNow()
	}
}

// A rawConn reads nothing that nobody asks it for.
type rawConn struct{ *websocket.Conn }

// rawDial opens a session.
func rawDial(t testing.TB, url string) rawConn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url, nil)
	must(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	c := rawConn{conn}
	must(t, c.ask(`{"id":0,"method":"initialize","params":{"clientName":"x"}}`))
	must(t, c.say(`{"method":"initialized"}`))
	return c
}

func (c rawConn) say(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.Write(ctx, websocket.MessageText, []byte(text))
}

// text reads a message as it is written.
func (c rawConn) text() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, text, err := c.Read(ctx)
	return string(text), err
}

// next reads a message that is no error.
func (c rawConn) next() (m message, err error) {
	text, err := c.text()
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	if err == nil && m.Error != nil {
		err = fmt.Errorf("the answer is %s", text)
	}
	return m, err
}

// ask says something and wants the next message to be a result.
func (c rawConn) ask(text string) error {
	if err := c.say(text); err != nil {
		return err
	}
	m, err := c.next()
	if err == nil && m.Result == nil {
		err = errors.New("a notification comes first")
	}
	return err
}

// waits waits until a process of the server that has written something writes no more.
func (s *server) waits(command string) {
	s.t.Helper()
	last, same := "", 0
	within(s.t, patience, command+" waits", func() bool {
		for _, p := range s.descendants() {
			line, _ := os.ReadFile(filepath.Join("/proc", p.pid, "cmdline"))
			if now, err := os.ReadFile(filepath.Join("/proc", p.pid, "io")); err == nil && strings.HasPrefix(string(line), command) {
				if same++; string(now) != last {
					last, same = string(now), 0
				}
			}
		}
		return same == 40
	})
}

// grew wants the server to hold not much more than it did.
func (s *server) grew(before, most int) {
	s.t.Helper()
	if now := s.resident(); now-before > most {
		s.t.Errorf("it holds %.1f MB, and held %.1f MB", float64(now)/1e6, float64(before)/1e6)
	}
}

// readerThatRests has a process write 200 MB to a client that reads none of it for a while.
// The process waits; the server does not keep what it writes.
func readerThatRests(t *testing.T, s *watched) {
	const size, most = 200_000_000, 20_000_000
	c := rawDial(t, s.url)
	before := s.resident()
	must(t, c.ask(`{"id":1,"method":"process/start","params":{"processId":"p","argv":["head","-c","200000000","/dev/zero"],"cwd":"/","env":{},"tty":false}}`))
	s.waits("head\x00")
	s.grew(before, most)
	got, seq := 0, 0
	for ended := false; !ended; {
		text, err := c.text()
		must(t, err)
		if seq++; !strings.Contains(text[:min(len(text), 100)], fmt.Sprintf(`"seq":%d,`, seq)) && !strings.Contains(text, fmt.Sprintf(`"seq":%d}`, seq)) {
			t.Fatalf("number %d is not next: %.200s", seq, text)
		}
		_, chunk, _ := strings.Cut(text, `"chunk":"`)
		chunk, _, _ = strings.Cut(chunk, `"`)
		got += base64.StdEncoding.DecodedLen(len(chunk)) - strings.Count(chunk[max(len(chunk)-2, 0):], "=")
		if seq%2000 == 0 {
			s.grew(before, most)
		}
		ended = strings.Contains(text[:min(len(text), 100)], "process/closed")
	}
	if got != size {
		t.Errorf("%d bytes came", got)
	}
	s.grew(before, most)
}

// longPolls has 500 requests wait for a process that writes nothing. They delay nobody, and
// are answered when it ends.
func longPolls(t *testing.T, s *watched) {
	const polls = 500
	p := greet(t, s.url)
	for round := range 2 {
		id := fmt.Sprint("p", round)
		p.starts(sh(id, "exec sleep 600"))
		var asked []string
		for range polls {
			asked = append(asked, p.begin("process/read", map[string]any{"processId": id, "waitMs": 60000}))
		}
		began := time.Now()
		if !p.terminates(id) {
			t.Error("it does not run")
		}
		for _, request := range asked {
			var read struct{ Exited bool }
			p.result(p.answer(request), &read)
			if !read.Exited {
				t.Fatal("it is answered before the process ends")
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the answers took %s", took)
		}
	}
	p.starts(sh("last", "exec sleep 600")) // nobody waits for the polls of who is gone
	for range polls {
		p.begin("process/read", map[string]any{"processId": "last", "waitMs": 60000})
	}
	p.drop()
}

// manyConnections opens 1000 sessions at once, each with a process.
func manyConnections(t *testing.T, s *watched) {
	const sessions = 1000
	conns := make([]rawConn, sessions)
	for i := range conns {
		conns[i] = rawDial(t, s.url)
	}
	for i, c := range conns {
		must(t, c.say(fmt.Sprintf(`{"id":1,"method":"process/write","params":{"processId":"p","chunk":"","writeId":"%d"}}`, i)))
	}
	for _, c := range conns {
		m, err := c.next()
		must(t, err)
		if !strings.Contains(string(m.Result), "unknownProcess") {
			t.Fatalf("the answer is %s", m.Result)
		}
	}
	for i, c := range conns {
		if i%2 == 0 {
			_ = c.CloseNow()
		}
	}
	for i, c := range conns {
		if i%2 == 1 {
			must(t, c.ask(`{"id":2,"method":"process/terminate","params":{"processId":"p"}}`))
			_ = c.CloseNow()
		}
	}
}

// halfConnections opens connections that go no further than some point, and leaves them.
func halfConnections(t *testing.T, s *watched) {
	upgrade := "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	var conns []net.Conn
	for i := range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "ws://"))
		must(t, err)
		conns = append(conns, conn)
		switch i % 4 {
		case 0: // says nothing
		case 1:
			_, err = io.WriteString(conn, upgrade[:len(upgrade)/2])
		default:
			_, err = io.WriteString(conn, upgrade)
			must(t, err)
			answer, failed := http.ReadResponse(bufio.NewReader(conn), nil)
			must(t, failed)
			if answer.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("the answer is %s", answer.Status)
			}
			if i%4 == 3 { // the head of a frame of 1 MiB, and some of it
				_, err = conn.Write(append([]byte{0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4}, make([]byte, 1000)...))
			}
		}
		must(t, err)
	}
	greet(t, s.url).lives()
	for i, conn := range conns {
		if i%2 == 0 {
			must(t, conn.(*net.TCPConn).SetLinger(0)) // it is reset, and not closed
		}
		must(t, conn.Close())
	}
}

// requestsWithoutEnd sends requests and reads no answer until no more are taken. Then each of
// them is answered.
func requestsWithoutEnd(t *testing.T, s *watched) {
	for _, test := range []struct {
		request string
		count   int
	}{
		{`{"id":%d,"method":"process/terminate","params":{"processId":"x"}}`, 20_000},
		{`{"id":%d,"method":"fs/readFile","params":{"path":"/proc/self/maps"}}`, 1_000},
		{`{"id":%d,"method":"fs/getMetadata","params":{"path":"/"}}`, 20_000},
		{`{"id":%d,"method":"fs/readDirectory","params":{"path":"/usr/bin"}}`, 300},
		{`{"id":%d,"method":"environment/info"}`, 20_000},
	} {
		c := rawDial(t, s.url)
		before := s.resident()
		var sent atomic.Int64
		done := make(chan error, 1)
		go func() {
			var err error
			for i := 0; i < test.count && err == nil; i++ {
				err = c.say(fmt.Sprintf(test.request, i))
				sent.Add(1)
			}
			done <- err
		}()
		last, same := int64(0), 0
		within(t, patience, "no more are taken", func() bool {
			now := sent.Load()
			if same++; now != last {
				last, same = now, 0
			}
			return same == 100 || now == int64(test.count)
		})
		s.grew(before, 64_000_000)
		answered := make(map[string]bool)
		for n := range test.count {
			m, err := c.next()
			if err != nil {
				t.Fatalf("%s: after %d answers: %v", test.request, n, err)
			}
			answered[fmt.Sprint(m.ID)] = true
		}
		if len(answered) != test.count {
			t.Errorf("%d of %d are answered: %s", len(answered), test.count, test.request)
		}
		must(t, <-done)
		s.grew(before, 64_000_000)
		_ = c.CloseNow()
	}
}

// writesWithoutEnd writes 1 GiB, or as much as is taken, to a process that does not read. Not
// all is kept for it.
func writesWithoutEnd(tty bool) func(*testing.T, *watched) {
	return func(t *testing.T, s *watched) {
		before, c := s.resident(), rawDial(t, s.url)
		must(t, c.ask(fmt.Sprintf(`{"id":1,"method":"process/start","params":{"processId":"p","argv":["sleep","600"],"cwd":"/","env":{},"tty":%t,"pipeStdin":true}}`, tty)))
		chunk := base64Of(strings.Repeat("x", 64<<10))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for sent := 0; ctx.Err() == nil && sent < 16384; {
			if c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"id":%d,"method":"process/write","params":{"processId":"p","chunk":%q,"writeId":"%[1]d"}}`, sent, chunk)) == nil {
				sent++
			}
		}
		s.grew(before, 600_000_000)
		_ = c.CloseNow()
	}
}

// churn starts and ends processes of all kinds.
func churn(t *testing.T, s *watched) {
	dir := openDir(t)
	for round := range 10 {
		p := greet(t, s.url)
		for i := range 20 {
			start := sh(fmt.Sprint("p", i), "echo up; [ %d -eq 0 ] || exec sleep 600", i%3)
			start.Tty, start.PipeStdin = i%2 == 0, i%4 == 1
			if i%5 == 0 {
				start.Sandbox, start.Cwd = workspace(dir), "file://"+dir
			}
			p.starts(start)
		}
		for i := range 20 {
			p.prints(fmt.Sprint("p", i), "up")
		}
		if round%2 == 0 {
			for i := range 20 {
				p.terminates(fmt.Sprint("p", i))
				p.inOrder(fmt.Sprint("p", i))
			}
		}
		p.drop()
	}
}
