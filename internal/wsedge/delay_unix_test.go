//go:build unix

package wsedge_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/durward/durward/internal/wsedge"
)

// TestSocketsDoNotDelay asks the sockets themselves.
func TestSocketsDoNotDelay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	kept := &keeping{l, make(chan *net.TCPConn, 1)}
	t.Cleanup(serve(t, kept, wsedge.Options{}, echo))
	c := open(t, l.Addr().String())
	c.say(frame(text, "{}"))
	c.hears(text, "{}")
	sc, err := (<-kept.conns).SyscallConn()
	noError(t, err)
	noError(t, sc.Control(func(fd uintptr) {
		if on, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY); err != nil || on == 0 {
			t.Errorf("TCP_NODELAY is %d, %v", on, err)
		}
	}))
}

// keeping is a listener that shows what it accepted.
type keeping struct {
	net.Listener
	conns chan *net.TCPConn
}

func (l *keeping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.conns <- c.(*net.TCPConn)
	}
	return c, err
}
