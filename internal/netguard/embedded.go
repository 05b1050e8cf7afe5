package netguard

import "net/netip"

// embedded gives every IPv4 address that an IPv6 address carries, by any of the ways
// in which a packet to the one can end at the other.
func embedded(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	var inner []netip.Addr
	switch {
	case within(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0):
		inner = compatible(b)
	case within(b, 0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0):
		inner = []netip.Addr{ipv4(b[12:])}
	case within(b, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01):
		inner = localNAT64(b)
	case within(b, 0x20, 0x02): // 6to4
		inner = []netip.Addr{ipv4(b[2:])}
	case within(b, 0x20, 0x01, 0, 0):
		inner = teredo(b)
	}
	if isISATAP(b) {
		inner = append(inner, ipv4(b[12:]))
	}
	return inner
}

// compatible reads ::a.b.c.d. The addresses :: and ::1 have that form and carry nothing.
func compatible(b [16]byte) []netip.Addr {
	if within(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) && b[15] <= 1 {
		return nil
	}
	return []netip.Addr{ipv4(b[12:])}
}

// localNAT64 reads the address in each of the four layouts that a local translator may
// use: the address does not say which it is. A layout that finds a first byte of zero
// is not the one, as long as another finds something.
func localNAT64(b [16]byte) []netip.Addr {
	layouts := []netip.Addr{
		netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}),   // prefix of 48 bits
		netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),  // 56
		netip.AddrFrom4([4]byte{b[9], b[10], b[11], b[12]}), // 64
		ipv4(b[12:]), // 96
	}
	var found []netip.Addr
	for _, addr := range layouts {
		if addr.As4()[0] != 0 {
			found = append(found, addr)
		}
	}
	if found == nil {
		return layouts
	}
	return found
}

// teredo reads the server, and the client, which stands there with its bits inverted.
func teredo(b [16]byte) []netip.Addr {
	client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
	return []netip.Addr{ipv4(b[4:]), netip.AddrFrom4(client)}
}

// isISATAP looks for the interface id 5efe:a.b.c.d, which may follow any prefix. Two
// bits of it say whether it is unique and whether it names a group.
func isISATAP(b [16]byte) bool {
	return b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func ipv4(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b[:4])) }

func within(b [16]byte, prefix ...byte) bool {
	return string(b[:len(prefix)]) == string(prefix)
}
