package netguard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/durward/durward"
)

// A Target is where a connection is to go.
type Target struct {
	Host Host
	Port uint16
}

// String gives "host:port", with brackets around an IPv6 address.
func (t Target) String() string {
	return net.JoinHostPort(string(t.Host), strconv.Itoa(int(t.Port)))
}

// ParseTarget reads "host:port" and gives the host its canonical form.
func ParseTarget(s string) (Target, error) {
	host, port, err := splitHostPort(s)
	if err != nil {
		return Target{}, badTarget(s, err)
	}
	h, err := CanonicalHost(host)
	if err != nil {
		return Target{}, err
	}
	return Target{h, port}, nil
}

// An Entry is one line of an allowlist.
type Entry struct {
	Target
	// Below is set for "*.host:port": it stands for the names below Host and not for
	// Host itself.
	Below bool
}

// String gives the entry in its canonical form.
func (e Entry) String() string {
	if e.Below {
		return "*." + e.Target.String()
	}
	return e.Target.String()
}

func (e Entry) matches(t Target) bool {
	if e.Port != t.Port {
		return false
	}
	if e.Below {
		return t.Host.isBelow(e.Host)
	}
	return t.Host == e.Host
}

// An Allowlist says which hosts may be reached at which ports. The zero value allows
// none. It may be used from any goroutine.
type Allowlist struct {
	entries []Entry
}

// ParseAllow reads the entries of an allowlist. Every entry that is wrong is named.
func ParseAllow(entries []string) (Allowlist, error) {
	var list Allowlist
	var wrong []error
	for _, text := range entries {
		e, err := parseEntry(text)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list.entries = append(list.entries, e)
	}
	if wrong != nil {
		return Allowlist{}, &durward.Error{Reason: durward.BadHost, Op: "net.allow", Err: errors.Join(wrong...)}
	}
	return list, nil
}

// Entries lists the entries in their canonical form, in the order they were given.
func (a Allowlist) Entries() []string {
	list := make([]string, len(a.entries))
	for i, e := range a.entries {
		list[i] = e.String()
	}
	return list
}

// Targets lists those that entries name, each once, in the order they were given. What
// stands for the names below a domain is not among them.
func (a Allowlist) Targets() []Target {
	var list []Target
	for _, e := range a.entries {
		if !e.Below && !slices.Contains(list, e.Target) {
			list = append(list, e.Target)
		}
	}
	return list
}

// Ports lists the ports of all entries, each once, in the order they were given.
func (a Allowlist) Ports() []uint16 {
	var list []uint16
	for _, e := range a.entries {
		if !slices.Contains(list, e.Port) {
			list = append(list, e.Port)
		}
	}
	return list
}

// Match finds the entry that allows the port of the host: one that names the host
// before one that stands for it, then the first.
func (a Allowlist) Match(h Host, port uint16) (Entry, bool) {
	t := Target{h, port}
	var below *Entry
	for i, e := range a.entries {
		switch {
		case !e.matches(t):
		case !e.Below:
			return e, true
		case below == nil:
			below = &a.entries[i]
		}
	}
	if below == nil {
		return Entry{}, false
	}
	return *below, true
}

func parseEntry(text string) (Entry, error) {
	rest, below := strings.CutPrefix(text, "*.")
	t, err := ParseTarget(rest)
	if err != nil {
		return Entry{}, err
	}
	addr, literal := t.Host.Addr()
	switch {
	case literal && below:
		return Entry{}, badTarget(text, errors.New("an address has no names below it"))
	case literal:
		err = checkDestination(addr)
	}
	if err != nil {
		return Entry{}, badTarget(text, err)
	}
	return Entry{t, below}, nil
}

// checkDestination refuses addresses that a connection cannot mean, or not only.
func checkDestination(addr netip.Addr) error {
	switch {
	case addr.Is4In6():
		return fmt.Errorf("write it as %s", addr.Unmap())
	case addr.IsUnspecified():
		return errors.New("the unspecified address is no destination")
	case addr.IsMulticast():
		return errors.New("a multicast address is no destination")
	}
	return nil
}

// splitHostPort takes "host:port" or "[v6]:port" apart. Brackets hold an IPv6 address
// and nothing else.
func splitHostPort(s string) (host string, port uint16, err error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, errors.New("no port")
	}
	host = s[:i]
	port, err = parsePort(s[i+1:])
	if err != nil {
		return "", 0, err
	}
	inner, open := strings.CutPrefix(host, "[")
	inner, shut := strings.CutSuffix(inner, "]")
	v6 := strings.Contains(host, ":")
	if open != shut || open != v6 {
		return "", 0, errors.New("brackets stand around an IPv6 address")
	}
	return inner, port, nil
}

// parsePort reads 1 to 65535 in plain decimal.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s != strconv.FormatUint(n, 10) {
		return 0, errors.New("the port is not a number from 1 to 65535")
	}
	return uint16(n), nil
}

func badTarget(s string, err error) error {
	return &durward.Error{Reason: durward.BadHost, Op: "net.host", Err: fmt.Errorf("%q: %w", clip(s), err)}
}
