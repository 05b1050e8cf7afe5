//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
)

// streamBytes go through a connection whose speed is measured.
const streamBytes = 64 << 20

// ways compares connections through a run's way out with those that go directly.
func ways(rounds int, quick bool) error {
	size := int64(streamBytes)
	if quick {
		size /= 10
	}
	far, err := newStreamer(size)
	if err != nil {
		return err
	}
	defer far.close()
	out, err := newWayOut(far)
	if err != nil {
		return err
	}
	defer out.close()
	m, err := interleaved(max(rounds/10, 1), far.stream, out.stream)
	if err != nil {
		return err
	}
	speed := func(d time.Duration) string { return fmt.Sprintf("%.0f MB/s", float64(size)/1e6/d.Seconds()) }
	report("stream through the way out to one over the loopback", speed(m[0]), speed(m[1])+" = "+ratio(m[0], m[1]), ">= 0.5 x")
	if m, err = interleaved(rounds, far.greet, out.greet); err != nil {
		return err
	}
	report("first byte through a CONNECT, to one of a plain connection", micros(m[0]), micros(m[1])+", "+micros(m[1]-m[0])+" more", "<= 1000 us more")
	return nil
}

// A streamer sends a stream, or one byte, to whoever asks.
type streamer struct {
	address string
	size    int64
	dial    func() (net.Conn, error)
	close   func()
}

func newStreamer(size int64) (*streamer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	s := &streamer{address: l.Addr().String(), size: size}
	s.dial = func() (net.Conn, error) { return net.Dial("tcp", s.address) }
	s.close = func() { l.Close(); <-ended }
	go func() {
		defer close(ended)
		piece := make([]byte, 256<<10)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.answer(conn, piece) // one after the other: they are measured one after the other
		}
	}()
	return s, nil
}

func (s *streamer) answer(conn net.Conn, piece []byte) {
	defer conn.Close()
	ask := make([]byte, 1)
	if _, err := io.ReadFull(conn, ask); err != nil {
		return
	}
	left := int64(1)
	if ask[0] == 's' {
		left = s.size
	}
	for left > 0 {
		n, err := conn.Write(piece[:min(left, int64(len(piece)))])
		if left -= int64(n); err != nil {
			return
		}
	}
}

// stream takes the whole stream.
func (s *streamer) stream() error { return s.take("s", s.size) }

// greet connects and waits for one byte.
func (s *streamer) greet() error { return s.take("g", 1) }

func (s *streamer) take(ask string, want int64) error {
	conn, err := s.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, ask); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	var got int64
	for {
		n, err := conn.Read(buf)
		got += int64(n)
		switch {
		case errors.Is(err, io.EOF) && got == want:
			return nil
		case err != nil:
			return fmt.Errorf("%d bytes of %d came: %w", got, want, err)
		}
	}
}

// newWayOut gives what goes to a streamer through a proxy.
func newWayOut(far *streamer) (*streamer, error) {
	allow, err := netguard.ParseAllow([]string{far.address})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := egress.New(egress.Options{Dialer: &netguard.Dialer{Allow: allow}})
	p.Serve(l)
	return &streamer{
		size:  far.size,
		dial:  func() (net.Conn, error) { return connectThrough(l.Addr().String(), far.address) },
		close: func() { p.Close() },
	}, nil
}

func connectThrough(proxy, address string) (net.Conn, error) {
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	var answer string
	if err == nil { // the target waits to be asked, so nothing but the answer is read here
		in := bufio.NewReader(conn)
		answer, err = in.ReadString('\n')
		if err == nil {
			_, err = in.Discard(len("\r\n"))
		}
	}
	if err != nil || !strings.Contains(answer, " 200 ") {
		conn.Close()
		return nil, errors.Join(err, errors.New("the proxy answered: "+answer))
	}
	return conn, nil
}
