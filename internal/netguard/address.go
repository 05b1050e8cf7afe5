package netguard

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/durward/durward"
)

// Judge refuses an address that is not on the public internet, unless allowPrivate
// holds it. An IPv6 address that carries an IPv4 address is judged in both forms, each
// of which has to be public or allowed. Ranges of IPv4-mapped addresses allow nothing:
// write them as IPv4.
func Judge(addr netip.Addr, allowPrivate []netip.Prefix) error {
	return judgeForms(addr, func(form netip.Addr) string {
		name := refusedAs(form)
		for _, prefix := range allowPrivate {
			if prefix.Contains(form) {
				return ""
			}
		}
		return name
	})
}

// JudgeService refuses an address at which no service of the operator's own lives: one that
// is link-local, of a cloud's metadata, unspecified, multicast or broadcast. Loopback and
// private addresses pass. An IPv6 address that carries an IPv4 address is judged in both
// forms.
func JudgeService(addr netip.Addr) error {
	return judgeForms(addr, func(form netip.Addr) string {
		switch name := refusedAs(form); {
		case name == "unspecified" || name == "link-local" || name == "multicast":
			return name
		case form == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return "broadcast"
		case form == netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}):
			return "metadata"
		}
		return ""
	})
}

// judgeForms refuses addr when one of its forms is refused by a name.
func judgeForms(addr netip.Addr, refusedAs func(form netip.Addr) string) error {
	if !addr.IsValid() {
		return refuse(addr, "no address")
	}
	if addr.Zone() != "" {
		return refuse(addr, "an address with a zone")
	}
	addr = addr.Unmap()
	forms := []netip.Addr{addr}
	if addr.Is6() {
		forms = append(forms, embedded(addr)...)
	}
	for _, form := range forms {
		if name := refusedAs(form); name != "" {
			return refuse(addr, name)
		}
	}
	return nil
}

func refuse(addr netip.Addr, why string) error {
	return &durward.Error{Reason: durward.AddressRefused, Op: "net.address", Err: fmt.Errorf("%s: %s", addr, why)}
}

// refusedAs names the first block of the table that holds addr, or "".
func refusedAs(addr netip.Addr) string {
	for _, b := range blocks() {
		if b.prefix.Contains(addr) {
			return b.name
		}
	}
	return ""
}

// A block is a range of addresses and what it is for. One with an empty name is public,
// or judged by what its addresses carry.
type block struct {
	prefix netip.Prefix
	name   string
}

// blocks is the one table of addresses. The first block that holds an address decides.
var blocks = sync.OnceValue(func() []block {
	var table []block
	for _, row := range [][2]string{
		{"0.0.0.0/8", "unspecified"},
		{"10.0.0.0/8", "private"},
		{"100.64.0.0/10", "shared"},
		{"127.0.0.0/8", "loopback"},
		{"169.254.0.0/16", "link-local"},
		{"172.16.0.0/12", "private"},
		{"192.0.0.0/24", "reserved"},
		{"192.0.2.0/24", "documentation"},
		{"192.31.196.0/24", "reserved"}, // AS112 sinks
		{"192.52.193.0/24", "reserved"}, // multicast tunnels
		{"192.88.99.0/24", "reserved"},  // 6to4 relays
		{"192.168.0.0/16", "private"},
		{"192.175.48.0/24", "reserved"}, // AS112 sinks
		{"198.18.0.0/15", "benchmarking"},
		{"198.51.100.0/24", "documentation"},
		{"203.0.113.0/24", "documentation"},
		{"224.0.0.0/4", "multicast"},
		{"240.0.0.0/4", "reserved"},
		{"0.0.0.0/0", ""},

		{"::/128", "unspecified"},
		{"::1/128", "loopback"},
		{"::/96", ""},          // IPv4-compatible
		{"64:ff9b::/96", ""},   // NAT64
		{"64:ff9b:1::/48", ""}, // NAT64 of a local network
		{"100::/64", "reserved"},
		{"2001::/32", ""}, // Teredo
		{"2001:2::/48", "benchmarking"},
		{"2001::/23", "reserved"},
		{"2001:db8::/32", "documentation"},
		{"2620:4f:8000::/48", "reserved"}, // AS112 sinks
		{"3fff::/20", "documentation"},
		{"2000::/3", ""}, // 6to4 among them
		{"fc00::/7", "unique-local"},
		{"fe80::/10", "link-local"},
		{"fec0::/10", "site-local"},
		{"ff00::/8", "multicast"},
		{"::/0", "reserved"},
	} {
		table = append(table, block{netip.MustParsePrefix(row[0]), row[1]})
	}
	return table
})
