package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/durward/durward"
	"golang.org/x/net/idna"
)

// A Host is a host in its canonical form: a name in lower-case ASCII without a trailing
// dot, or an IP address as [netip.Addr] prints it. Make one with [CanonicalHost].
type Host string

const (
	maxHostBytes  = 253
	maxLabelBytes = 63
)

// CanonicalHost gives the canonical form of a host as a URL or a CONNECT request holds
// it, IPv6 addresses without brackets. What different programs read differently has
// none and is refused: a number that is not a plain IPv4 address, a zone id, an empty
// label, a character that turns into ASCII when it is mapped.
func CanonicalHost(s string) (Host, error) {
	h, err := canonical(s)
	if err != nil {
		return "", &durward.Error{Reason: durward.BadHost, Op: "net.host", Err: fmt.Errorf("%q: %w", clip(s), err)}
	}
	return h, nil
}

// Addr gives the address of a host that is one.
func (h Host) Addr() (netip.Addr, bool) {
	addr, err := netip.ParseAddr(string(h))
	return addr, err == nil
}

// IsLocalName tells whether the name means this machine, its cloud's metadata service
// or its own network by convention, whatever it resolves to.
func (h Host) IsLocalName() bool {
	switch h {
	case "localhost", "localhost.localdomain", "metadata.google.internal", "metadata", "instance-data":
		return true
	}
	for _, domain := range []Host{"localhost", "internal", "local"} {
		if h.isBelow(domain) {
			return true
		}
	}
	return false
}

// isBelow tells whether h has one or more labels before domain.
func (h Host) isBelow(domain Host) bool {
	return len(h) > len(domain)+1 && strings.HasSuffix(string(h), "."+string(domain))
}

func canonical(s string) (Host, error) {
	if len(s) > 4*maxHostBytes { // what encodes to a name of the right length is shorter
		return "", errors.New("the host is too long")
	}
	if strings.Contains(s, ":") {
		return canonicalIPv6(s)
	}
	name := strings.TrimSuffix(s, ".")
	name, err := toASCII(name)
	if err != nil {
		return "", err
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	if endsInNumber(name) {
		return canonicalIPv4(name)
	}
	return Host(name), nil
}

func canonicalIPv6(s string) (Host, error) {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return "", errors.New("not an IPv6 address")
	case addr.Zone() != "":
		return "", errors.New("an address with a zone")
	}
	return Host(addr.String()), nil
}

func canonicalIPv4(s string) (Host, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return "", errors.New("a number that is not a plain IPv4 address")
	}
	return Host(addr.String()), nil
}

// endsInNumber tells whether some program would read the name as a number: its last
// label is one, decimal, octal or hexadecimal.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// checkName asks of a name in ASCII that it is 1 to 253 bytes of labels [a-z0-9_-].
func checkName(name string) error {
	if len(name) > maxHostBytes {
		return errors.New("the host is too long")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("an empty host or label")
		case len(label) > maxLabelBytes:
			return errors.New("a label is too long")
		case strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
			return errors.New("a character that no host has")
		}
	}
	return nil
}

// toASCII gives the name in lower-case ASCII. A label with other characters must become
// an encoded one: one that turns into plain ASCII was written to look like something
// else.
func toASCII(name string) (string, error) {
	if isPlain(name) {
		return lower(name), nil
	}
	if !utf8.ValidString(name) {
		return "", errors.New("not valid UTF-8")
	}
	ascii, err := names().ToASCII(name)
	if err != nil {
		return "", errors.New("not an internationalised name")
	}
	before, after := strings.Split(name, "."), strings.Split(ascii, ".")
	if len(before) != len(after) {
		return "", errors.New("a character that stands for a dot")
	}
	for i, label := range before {
		if !isASCII(label) && !strings.HasPrefix(after[i], "xn--") {
			return "", errors.New("a character that stands for an ASCII one")
		}
	}
	return ascii, nil
}

// names is how names are read. Hyphens are left alone: names with two in the third and
// fourth place are in use.
var names = sync.OnceValue(func() *idna.Profile {
	return idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),
		idna.CheckHyphens(false),
		idna.CheckJoiners(true),
		idna.BidiRule(),
		idna.StrictDomainName(false),
	)
})

// isPlain tells whether a name needs no reading as an internationalised one.
func isPlain(name string) bool {
	return isASCII(name) && !strings.Contains(lower(name), "xn--")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// lower is for ASCII alone: strings.ToLower would turn some characters into ASCII.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// clip keeps an error short whatever was sent.
func clip(s string) string {
	if len(s) > maxHostBytes {
		return s[:maxHostBytes]
	}
	return s
}
