package egress

import (
	"encoding/binary"
	"errors"

	"github.com/durward/durward/internal/netguard"
)

// RFC 8446, sections 4 and 5, and RFC 6066, section 3.
const (
	recordFirst      = 0x14 // types of records: a change of keys, alerts, handshakes, data
	recordLast       = 0x17
	recordHandshake  = 0x16
	recordMajor      = 3 // of the version of every record
	recordHeader     = 5
	maxRecord        = 1 << 14
	clientHello      = 1
	helloHeader      = 4
	randomBytes      = 32
	extensionName    = 0
	nameTypeHost     = 0
	sessionIDLongest = 32
)

var (
	errHello = errors.New("not a TLS hello")
	errName  = errors.New("the TLS hello is for another name")
)

// A helloReader reads the name that a TLS hello is for out of its records, which may be cut
// anywhere, and looks at none of them twice. Its zero value is ready.
type helloReader struct {
	at     int    // so many bytes were read
	hello  []byte // as far as it was read
	length int    // of the hello; zero until it is known
}

// read gives the name, "" if the hello says none. Each time b begins with the bytes it had
// the last time. As long as need is greater than len(b) the hello is not whole, and takes at
// least so many bytes. Where a hello is encrypted within another, the outer one's name
// counts.
func (r *helloReader) read(b []byte) (name string, need int, err error) {
	for r.length == 0 || len(r.hello) < r.length {
		if need, err = r.readRecord(b); err != nil || need > len(b) {
			return "", need, err
		}
	}
	name, ok := parseHello(r.hello[helloHeader:])
	if !ok || len(r.hello) > r.length { // nothing but the hello may be in its records
		return "", 0, errHello
	}
	return name, r.at, nil
}

// readRecord takes in the next record if b has all of it.
func (r *helloReader) readRecord(b []byte) (need int, err error) {
	need = r.at + recordHeader
	if len(b) < need {
		return need, nil
	}
	header := b[r.at:need]
	size := int(binary.BigEndian.Uint16(header[3:]))
	if header[0] != recordHandshake || header[1] != recordMajor || size == 0 || size > maxRecord {
		return 0, errHello
	}
	need += size
	if len(b) < need {
		return need, nil
	}
	r.hello = append(r.hello, b[need-size:need]...)
	r.at = need
	if r.hello[0] != clientHello {
		return 0, errHello
	}
	if len(r.hello) >= helloHeader {
		r.length = helloHeader + int(r.hello[1])<<16 + int(binary.BigEndian.Uint16(r.hello[2:]))
	}
	return need, nil
}

// parseHello reads the body of a hello.
func parseHello(body field) (name string, ok bool) {
	if _, ok = body.take(2 + randomBytes); !ok {
		return "", false
	}
	session, ok := body.vector(1)
	if !ok || len(session) > sessionIDLongest {
		return "", false
	}
	ciphers, ok := body.vector(2)
	if !ok || len(ciphers) == 0 || len(ciphers)%2 != 0 {
		return "", false
	}
	if methods, ok := body.vector(1); !ok || len(methods) == 0 {
		return "", false
	}
	if len(body) == 0 { // as before there were extensions
		return "", true
	}
	extensions, ok := body.vector(2)
	if !ok || len(body) > 0 {
		return "", false
	}
	return nameAmong(extensions)
}

// nameAmong finds the name among the extensions, none of which may come twice.
func nameAmong(extensions field) (name string, ok bool) {
	seen := make(map[uint16]bool)
	for len(extensions) > 0 {
		kind, ok := extensions.take(2)
		if !ok {
			return "", false
		}
		content, ok := extensions.vector(2)
		id := binary.BigEndian.Uint16(kind)
		if !ok || seen[id] {
			return "", false
		}
		seen[id] = true
		if id != extensionName {
			continue
		}
		if name, ok = parseName(content); !ok {
			return "", false
		}
	}
	return name, true
}

// parseName reads a list that has to hold one host name and nothing else.
func parseName(content field) (name string, ok bool) {
	list, ok := content.vector(2)
	if !ok || len(content) > 0 {
		return "", false
	}
	kind, ok := list.take(1)
	if !ok || kind[0] != nameTypeHost {
		return "", false
	}
	host, ok := list.vector(2)
	return string(host), ok && len(host) > 0 && len(list) == 0
}

// A field is bytes that are taken from the front.
type field []byte

func (f *field) take(n int) (field, bool) {
	if len(*f) < n {
		return nil, false
	}
	taken := (*f)[:n]
	*f = (*f)[n:]
	return taken, true
}

// vector takes what follows its own length, which has one or two bytes.
func (f *field) vector(lengthBytes int) (field, bool) {
	prefix, ok := f.take(lengthBytes)
	if !ok {
		return nil, false
	}
	n := 0
	for _, b := range prefix {
		n = n<<8 | int(b)
	}
	return f.take(n)
}

// matchName asks that the name is the host. An address is never in a hello, so a hello for
// one says no name.
func matchName(name string, host netguard.Host) error {
	want := string(host)
	if _, literal := host.Addr(); literal {
		want = ""
	}
	if lowerASCII(name) != want {
		return errName
	}
	return nil
}

// lowerASCII leaves all other letters alone: none of them stands for one of ASCII.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
