package egress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/durward/durward/internal/netguard"
)

// RFC 1928.
const (
	socksVersion = 5

	socksNoMethod   = 0xff
	socksNoAuth     = 0
	socksConnect    = 1
	socksTypeIPv4   = 1
	socksTypeDomain = 3
	socksTypeIPv6   = 4
)

// A socksRequest is what a client asks for.
type socksRequest struct {
	command byte
	asked   string // "host:port", as it came
}

var (
	errSOCKS     = errors.New("not a SOCKS5 request")
	errMethod    = errors.New("no way to authenticate that the proxy knows")
	errSOCKSType = errors.New("no such type of address")
)

// serveSOCKS takes a client to what it asks for.
func (c *client) serveSOCKS() {
	request, err := c.greet()
	if err != nil {
		c.rejectSOCKS(err)
		return
	}
	j, err := c.judge(request.asked, ViaSOCKS5)
	if request.command != socksConnect {
		j.refuse(RuleRequest)
		c.dismissSOCKS(socksCommand)
		return
	}
	if err != nil {
		c.dismissSOCKS(answerTo(j, err).code)
		return
	}
	up, err := c.proxy.dial(j)
	if err != nil {
		c.dismissSOCKS(answerTo(j, err).code)
		return
	}
	defer up.finish()
	if err := c.replySOCKS(socksOK); err != nil {
		j.allow()
		return
	}
	c.tunnel(up, j)
}

// greet does the beginning of the protocol and reads the request.
func (c *client) greet() (socksRequest, error) {
	methods, err := readMethods(c.in)
	if err != nil {
		return socksRequest{}, err
	}
	if !slices.Contains(methods, socksNoAuth) {
		return socksRequest{}, errMethod
	}
	if _, err := c.conn.Write([]byte{socksVersion, socksNoAuth}); err != nil {
		return socksRequest{}, err
	}
	return readSOCKS(c.in)
}

func readMethods(r io.Reader) ([]byte, error) {
	var start [2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, err
	}
	if start[0] != socksVersion {
		return nil, errSOCKS
	}
	methods := make([]byte, start[1])
	_, err := io.ReadFull(r, methods)
	return methods, err
}

// readSOCKS reads a request, of whatever command.
func readSOCKS(r io.Reader) (socksRequest, error) {
	var start [4]byte // version, command, nothing, type of address
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return socksRequest{}, err
	}
	if start[0] != socksVersion || start[2] != 0 {
		return socksRequest{}, errSOCKS
	}
	host, err := readHost(r, start[3])
	if err != nil {
		return socksRequest{}, err
	}
	var port [2]byte
	if _, err := io.ReadFull(r, port[:]); err != nil {
		return socksRequest{}, err
	}
	asked := net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port[:]))))
	return socksRequest{start[1], asked}, nil
}

func readHost(r io.Reader, kind byte) (string, error) {
	switch kind {
	case socksTypeIPv4:
		var b [4]byte
		_, err := io.ReadFull(r, b[:])
		return netip.AddrFrom4(b).String(), err
	case socksTypeIPv6:
		var b [16]byte
		_, err := io.ReadFull(r, b[:])
		return netip.AddrFrom16(b).String(), err
	case socksTypeDomain:
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return "", err
		}
		name := make([]byte, length[0])
		_, err := io.ReadFull(r, name)
		return string(name), err
	}
	return "", errSOCKSType
}

// rejectSOCKS answers what is no request that the proxy could follow. A client that is gone
// has asked for nothing.
func (c *client) rejectSOCKS(why error) {
	if !errors.Is(why, errSOCKS) && !errors.Is(why, errMethod) && !errors.Is(why, errSOCKSType) && !timedOut(why) {
		return
	}
	c.proxy.begin(netguard.Target{}, ViaSOCKS5).refuse(RuleRequest)
	switch {
	case errors.Is(why, errMethod):
		_, _ = c.conn.Write([]byte{socksVersion, socksNoMethod})
		c.linger()
	case errors.Is(why, errSOCKSType):
		c.dismissSOCKS(socksAddressType)
	default:
		c.dismissSOCKS(socksFailed)
	}
}

// turnAwaySOCKS does the beginning of the protocol to say in the end that there is no room.
func (c *client) turnAwaySOCKS() {
	if _, err := c.greet(); err == nil {
		_ = c.replySOCKS(socksFailed)
	}
}

// dismissSOCKS gives a last answer.
func (c *client) dismissSOCKS(code byte) {
	if c.replySOCKS(code) == nil {
		c.linger()
	}
}

// replySOCKS answers a request. The address that the reply has room for is left zero: it
// is nobody's business.
func (c *client) replySOCKS(code byte) error {
	_, err := c.conn.Write([]byte{socksVersion, code, 0, socksTypeIPv4, 0, 0, 0, 0, 0, 0})
	return err
}
