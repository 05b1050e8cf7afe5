package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/durward/durward"
)

// An answer is how a client hears that it gets no connection. It holds nothing that the
// client did not say itself.
type answer struct {
	status int    // of HTTP
	code   byte   // of SOCKS, RFC 1928
	proxy  string // the error of Proxy-Status, RFC 9209
	text   string
}

// SOCKS reply codes.
const (
	socksOK          byte = 0
	socksFailed      byte = 1
	socksNotAllowed  byte = 2
	socksNetwork     byte = 3
	socksHost        byte = 4
	socksRefused     byte = 5
	socksCommand     byte = 7
	socksAddressType byte = 8
)

// answerTo says what became of a dial.
func answerTo(j *judgement, err error) answer {
	to := j.target().String()
	if errors.Is(err, errOtherHost) {
		return answer{http.StatusForbidden, socksNotAllowed, "http_request_denied", "the Host field names something else than the URL"}
	}
	switch durward.ReasonOf(err) {
	case durward.HostDenied:
		return answer{http.StatusForbidden, socksNotAllowed, "http_request_denied", to + " " + j.proxy.options.Remedies.Host}
	case durward.AddressRefused:
		return answer{http.StatusForbidden, socksNotAllowed, "destination_ip_prohibited", to + " " + j.proxy.options.Remedies.Private}
	case durward.BadHost:
		return notCanonical(j)
	case durward.LookupFailed:
		return answerToLookup(to, err)
	case durward.ConnectFailed:
		return answerToConnect(to, err)
	}
	return answer{http.StatusServiceUnavailable, socksFailed, "proxy_internal_error", "the run is at its end"}
}

func notCanonical(j *judgement) answer {
	return answer{http.StatusForbidden, socksNotAllowed, "http_request_denied", j.event.Asked + " is no host and port in their plain form; write them as an allowlist does"}
}

func answerToLookup(to string, err error) answer {
	if timedOut(err) {
		return answer{http.StatusGatewayTimeout, socksHost, "dns_timeout", "looking up " + to + " took too long"}
	}
	return answer{http.StatusBadGateway, socksHost, "dns_error", "the name of " + to + " could not be resolved"}
}

func answerToConnect(to string, err error) answer {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return answer{http.StatusBadGateway, socksRefused, "connection_refused", to + " refused the connection"}
	case errors.Is(err, syscall.ENETUNREACH):
		return answer{http.StatusBadGateway, socksNetwork, "destination_ip_unroutable", "there is no way to " + to}
	case errors.Is(err, syscall.EHOSTUNREACH):
		return answer{http.StatusBadGateway, socksHost, "destination_ip_unroutable", "there is no way to " + to}
	case timedOut(err):
		return answer{http.StatusGatewayTimeout, socksHost, "connection_timeout", to + " did not answer in time"}
	}
	return answer{http.StatusBadGateway, socksFailed, "connection_terminated", "the connection to " + to + " failed"}
}

func timedOut(err error) bool {
	var slow net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}

// say answers a request of that method. Without keep the client is told that the
// connection ends.
func (c *client) say(a answer, method string, keep bool) error {
	body := "durward: " + a.text + "\n"
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nProxy-Status: durward; error=%s\r\n",
		a.status, http.StatusText(a.status), len(body), a.proxy)
	if !keep {
		head += "Connection: close\r\n"
	}
	if method == http.MethodHead {
		body = ""
	}
	_, err := c.conn.Write([]byte(head + "\r\n" + body))
	return err
}
