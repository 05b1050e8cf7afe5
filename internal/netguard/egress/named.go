package egress

import (
	"bufio"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// Alerts of TLS, RFC 8446, section 6: the connection is refused, or failed.
const (
	recordAlert        = 0x15
	alertFatal         = 2
	alertAccessDenied  = 49
	alertInternalError = 80
)

var errNoName = errors.New("the TLS hello says no name")

func (p *Proxy) namedDoor(port uint16) door {
	return door{
		serve: func(conn net.Conn) { p.serveNamed(conn, port) },
		full: func(conn net.Conn, full Rule) {
			p.begin(netguard.Target{}, ViaNone).refuse(full)
			abort(conn)
		},
	}
}

func (p *Proxy) serveNamed(conn net.Conn, port uint16) {
	c := &client{proxy: p, conn: conn, in: bufio.NewReaderSize(conn, intakeBytes), named: port}
	c.within(p.options.intake)
	switch _, err := c.in.Peek(1); {
	case err != nil: // it asked for nothing
	case c.beginsTLS():
		c.passTLS()
	default:
		c.serveHTTP()
	}
}

// passTLS opens a tunnel to the host that the hello is for. The hello goes with it.
func (c *client) passTLS() {
	c.within(c.proxy.options.intake)
	name, err := c.readHello()
	c.unbound()
	if err == nil && name == "" {
		err = errNoName
	}
	if err != nil {
		c.proxy.begin(netguard.Target{}, ViaSNI).refuse(RuleSNI)
		c.alert(alertAccessDenied)
		return
	}
	j, err := c.judge(net.JoinHostPort(name, strconv.Itoa(int(c.named))), ViaSNI)
	if err != nil {
		c.alert(alertFor(err))
		return
	}
	up, err := c.proxy.dial(j)
	if err != nil {
		c.alert(alertFor(err))
		return
	}
	defer up.finish()
	c.tunnel(up, j)
}

// alertFor tells a client whether it was refused.
func alertFor(err error) byte {
	if ruleOf(durward.ReasonOf(err)) != "" {
		return alertAccessDenied
	}
	return alertInternalError
}

// alert ends a handshake that has hardly begun.
func (c *client) alert(why byte) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(lingerTime))
	_, _ = c.conn.Write([]byte{recordAlert, recordMajor, 1, 0, 2, alertFatal, why})
	c.linger()
}

// viaHTTP is how the client asks if it asks with HTTP.
func (c *client) viaHTTP() Via {
	if c.named != 0 {
		return ViaHost
	}
	return ViaHTTP
}
