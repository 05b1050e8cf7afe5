package netguard

import "net/netip"

// JudgeInner refuses the addresses that nobody's own service has: those of the link, and those
// at which clouds tell their machines secrets. All others pass, loopback and private ones too:
// it is for names that the operator wrote and nobody else chooses. An IPv6 address that carries
// an IPv4 address is judged in both forms.
func JudgeInner(addr netip.Addr) error {
	if !addr.IsValid() {
		return refuse(addr, "no address")
	}
	addr = addr.WithZone("").Unmap()
	forms := []netip.Addr{addr}
	if addr.Is6() {
		forms = append(forms, embedded(addr)...)
	}
	for _, form := range forms {
		switch {
		case form.IsLinkLocalUnicast():
			return refuse(addr, "link-local")
		case form == netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}):
			return refuse(addr, "a metadata service")
		}
	}
	return nil
}
