//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/site"
)

// connections are open at once to the server that is measured.
const connections = 16

// web compares a site with bare handlers of net/http, and a command that it runs with
// one that os/exec runs.
func web(rounds int, quick bool) error {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	page, nop, err := plant(dir)
	if err != nil {
		return err
	}
	bare, err := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.ReadAll(r.Body)
		}
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		_, _ = w.Write(page)
	}), false)
	if err != nil {
		return err
	}
	defer bare.close()
	zero, err := serveSite(dir, "zero", "", durward.LevelNone)
	if err != nil {
		return err
	}
	defer zero.close()
	wide, err := serveSite(dir, "wide", "mode: danger-full-access", durward.LevelAuto)
	if err != nil {
		return err
	}
	defer wide.close()
	ours, err := serveSite(dir, "state", "", durward.LevelAuto)
	if err != nil {
		return err
	}
	defer ours.close()
	burst := time.Second
	turns := max(rounds/30, 1)
	if quick {
		burst = burst / 5
	}
	return errors.Join( // what loads the machine comes last
		runs("POST that runs a program, recorded, level 0", "<= 4 x", rounds, nop, zero),
		runs("the same, at the best level there is", "", rounds, nop, ours),
		runs("the same, as the server's own user", "", rounds, nop, wide),
		throughput("GET of a 2 KiB page, 16 connections", ">= 0.6 x", get, bare, ours, burst, turns),
		throughput("POST that the matcher refuses, recorded", ">= 0.4 x", post("rm", "-rf"), bare, ours, burst, turns),
	)
}

// serveSite serves the folder site in dir, under a policy or the built-in one, with
// commands at a level.
func serveSite(dir, state, policy string, at durward.Level) (*server, error) {
	c := site.Config{SandboxLevel: at, Root: filepath.Join(dir, "site"), StateDir: filepath.Join(dir, state)}
	if policy != "" {
		var err error
		if c.Sandbox, err = site.ParseSandbox("bench", []byte(policy)); err != nil {
			return nil, err
		}
	}
	handler, err := site.New(c)
	if err != nil {
		return nil, err
	}
	s, err := listen(handler, true)
	if err != nil {
		return nil, err
	}
	stop := s.close
	s.close = func() {
		stop()
		_ = handler.(io.Closer).Close() // what is left behind shows elsewhere
	}
	return s, nil
}

// plant makes a site with a page of 2 KiB, and a program that does nothing.
func plant(dir string) (page []byte, nop string, err error) {
	root := filepath.Join(dir, "site")
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, "", err
	}
	if nop, err = writeNop(root); err != nil {
		return nil, "", err
	}
	page = fmt.Appendf(nil, "---\ntools:\n  - [./%s]\n---\n# Page\n", filepath.Base(nop))
	page = append(page, strings.Repeat("A line of text for whoever reads it.\n", 2048)[:2048-len(page)]...)
	return page, nop, os.WriteFile(filepath.Join(root, "README.md"), page, 0o644)
}

// A server answers on a port of the loopback.
type server struct {
	address string
	close   func()
}

func listen(h http.Handler, edge bool) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	s := &server{address: l.Addr().String()}
	if edge {
		web := httpedge.New(h, httpedge.Options{})
		go func() { defer close(ended); _ = web.Serve(context.Background(), l) }()
		s.close = func() { web.Close(); <-ended }
		return s, nil
	}
	web := &http.Server{Handler: h}
	go func() { defer close(ended); _ = web.Serve(l) }()
	s.close = func() { _ = web.Close(); <-ended }
	return s, nil
}

func get(address string) []byte {
	return []byte("GET / HTTP/1.1\r\nHost: " + address + "\r\n\r\n")
}

func post(command ...string) func(address string) []byte {
	body := `{"command": ["` + strings.Join(command, `", "`) + `"]}`
	return func(address string) []byte {
		return fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", address, len(body), body)
	}
}

// throughput compares the requests per second of two servers that take turns.
func throughput(what, bar string, request func(address string) []byte, floor, ours *server, burst time.Duration, turns int) error {
	var rates [2][]time.Duration // time per request
	for range turns {
		for i, s := range []*server{floor, ours} {
			n, err := load(s.address, request(s.address), connections, burst)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			rates[i] = append(rates[i], burst/time.Duration(max(n, 1)))
		}
	}
	a, b := median(rates[0]), median(rates[1])
	perSecond := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(time.Second)/float64(d)) }
	report(what, perSecond(a), perSecond(b)+" = "+ratio(a, b), bar)
	return nil
}

// load sends a request over and over on so many connections and counts the answers.
func load(address string, request []byte, connections int, long time.Duration) (int, error) {
	var answered atomic.Int64
	var failed atomic.Pointer[error]
	var clients sync.WaitGroup
	end := time.Now().Add(long)
	for range connections {
		clients.Go(func() {
			c, err := dial(address, request)
			for err == nil && time.Now().Before(end) {
				if err = c.ask(); err == nil {
					answered.Add(1)
				}
			}
			if c != nil {
				c.Close()
			}
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	clients.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return int(answered.Load()), nil
}

// A client asks one thing on one connection, with as little work of its own as can be.
type client struct {
	net.Conn
	request []byte
	answers *bufio.Reader
	status  string
}

func dial(address string, request []byte) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{Conn: conn, request: request, answers: bufio.NewReader(conn)}, nil
}

// ask sends the request and reads the answer.
func (c *client) ask() error {
	if _, err := c.Write(c.request); err != nil {
		return err
	}
	c.status = ""
	length := 0
	for {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		if c.status == "" {
			c.status = string(line)
		}
		if len(line) <= 2 {
			break
		}
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	_, err := c.answers.Discard(length)
	return err
}

// runs compares a command behind a POST with one of os/exec.
func runs(what, bar string, rounds int, nop string, s *server) error {
	c, err := dial(s.address, post("./"+filepath.Base(nop))(s.address))
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := interleaved(rounds,
		func() error { return exec.Command(nop).Run() },
		func() error {
			if err := c.ask(); err != nil || !strings.Contains(c.status, " 200 ") {
				return errors.Join(err, errors.New("the site answered: "+c.status))
			}
			return nil
		})
	if err != nil {
		return err
	}
	report(what, micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), bar)
	return nil
}
