package egress

import (
	"errors"
	"strconv"
	"strings"

	"github.com/durward/durward/internal/netguard"
)

// A head is the request line and the fields of a request, as far as they decide anything.
type head struct {
	method, target string
	old            bool // HTTP/1.0
	host           string
	hasHost        bool
	hasBody        bool
	expect         string
	close          bool // the client wants no other answer on this connection
}

var (
	errHead        = errors.New("the request is malformed")
	errNoProxyForm = errors.New("this is a proxy: ask for http://host/path, or for a tunnel with CONNECT host:port")
	errHTTPS       = errors.New("what is encrypted goes through a tunnel: ask for it with CONNECT host:port")
	errURL         = errors.New("the URL is not of the form http://host:port/path, without credentials and fragment")
	errTunnelBody  = errors.New("a CONNECT request has no body")
	errOtherHost   = errors.New("the Host field is for another host")
	errExpect      = errors.New("nothing but 100-continue can be expected")
	errPathForm    = errors.New("a server is asked for /path; a proxy listens on another port")
	errNoHost      = errors.New("the Host field does not say which host this is for")
	errOtherPort   = errors.New("the Host field is for another port")
)

// parseHead reads a head, with the empty line behind it. It is stricter than most: what two
// programs could read in two ways is refused, the length of a body before all.
func parseHead(raw string) (head, error) {
	text, whole := strings.CutSuffix(raw, "\r\n\r\n")
	if !whole {
		return head{}, errHead
	}
	line, fields, _ := strings.Cut(text, "\r\n")
	h, err := parseRequestLine(line)
	if err != nil || fields == "" {
		return h, errors.Join(err, h.check(nil))
	}
	seen := make(map[string]string)
	for field := range strings.SplitSeq(fields, "\r\n") {
		name, value, ok := parseField(field)
		if !ok {
			return head{}, errHead
		}
		if _, twice := seen[name]; twice && single(name) {
			return head{}, errHead
		}
		seen[name] += "," + value
	}
	return h, h.check(seen)
}

func parseRequestLine(line string) (head, error) {
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !isToken(method) || !isTarget(target) || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return head{}, errHead
	}
	return head{method: method, target: target, old: version == "HTTP/1.0"}, nil
}

// parseField reads a line; the name is given in lower case.
func parseField(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return "", "", false
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return "", "", false
		}
	}
	return lowerASCII(name), value, true
}

// single names the fields that may stand in a head once.
func single(name string) bool {
	switch name {
	case "host", "content-length", "transfer-encoding", "expect":
		return true
	}
	return false
}

// check takes from the fields what decides something. A value comes with a comma before it.
func (h *head) check(fields map[string]string) error {
	h.host, h.hasHost = strings.CutPrefix(fields["host"], ",")
	length, hasLength := strings.CutPrefix(fields["content-length"], ",")
	coding, hasCoding := strings.CutPrefix(fields["transfer-encoding"], ",")
	h.hasBody = hasCoding || hasLength && strings.Trim(length, "0") != ""
	switch {
	case !h.hasHost && !h.old:
		return errHead
	case hasLength && (hasCoding || !isLength(length)):
		return errHead
	case hasCoding && (h.old || lowerASCII(coding) != "chunked"):
		return errHead
	case h.method == "CONNECT" && (hasLength || hasCoding):
		return errTunnelBody
	}
	if expect := strings.TrimPrefix(fields["expect"], ","); !h.old && expect != "" {
		if h.expect = lowerASCII(expect); h.expect != "100-continue" {
			return errExpect
		}
	}
	h.close = h.old || hasItem(fields["connection"], "close") || hasItem(fields["proxy-connection"], "close")
	return nil
}

// isLength tells whether s is a length in plain decimal that is not beyond all reason.
func isLength(s string) bool {
	return s != "" && len(s) <= 18 && strings.Trim(s, "0123456789") == ""
}

func isToken(s string) bool {
	for i := range len(s) {
		b := s[i]
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		digit := '0' <= b && b <= '9'
		if !letter && !digit && !strings.Contains("!#$%&'*+-.^_`|~", string(rune(b))) {
			return false
		}
	}
	return s != ""
}

// isTarget lets anything pass but blanks and control characters; a host with other letters
// is refused or encoded when it is brought into its canonical form.
func isTarget(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}

// hasItem tells whether a list with commas has an item.
func hasItem(list, want string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if lowerASCII(strings.Trim(item, " \t")) == want {
			return true
		}
	}
	return false
}

// authority takes the host and port out of "http://host:port/path". The port is given too
// where it goes without saying.
func authority(url string) (string, error) {
	const scheme = "http://"
	switch {
	case url[0] == '/' || url == "*":
		return "", errNoProxyForm
	case strings.HasPrefix(lowerASCII(url), "https://"):
		return "", errHTTPS
	case !strings.HasPrefix(lowerASCII(url), scheme) || strings.Contains(url, "#"):
		return "", errURL
	}
	host := url[len(scheme):]
	if end := strings.IndexAny(host, "/?"); end >= 0 {
		host = host[:end]
	}
	if host == "" || host[0] == ':' || strings.Contains(host, "@") {
		return "", errURL
	}
	return withPort(host), nil
}

// atPort takes the host out of the Host field of a request that reached that port.
func (h head) atPort(port uint16) (string, error) {
	own := strconv.Itoa(int(port))
	switch {
	case h.target[0] != '/':
		return "", errPathForm
	case h.host == "":
		return "", errNoHost
	case strings.HasSuffix(h.host, "]") || !strings.Contains(h.host, ":"):
		return h.host + ":" + own, nil
	case !strings.HasSuffix(h.host, ":"+own):
		return "", errOtherPort
	}
	return h.host, nil
}

// withPort adds the port of HTTP to a host that has none.
func withPort(host string) string {
	if strings.HasSuffix(host, "]") || !strings.Contains(host, ":") {
		return host + ":80"
	}
	return host
}

// isFor tells whether the Host field, if there is one, says the target.
func (h head) isFor(t netguard.Target) bool {
	if !h.hasHost {
		return true
	}
	said, err := netguard.ParseTarget(withPort(h.host))
	return err == nil && said == t
}
