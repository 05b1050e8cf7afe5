package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/durward/durward/internal/netguard"
)

// CheckEndpoint refuses what no entry of an allowlist can be.
func CheckEndpoint(text string) error {
	_, err := canonicalEndpoint(text)
	return err
}

// canonicalEndpoint checks an entry of an allowlist and gives its canonical form, the
// one that is matched against when the command connects.
func canonicalEndpoint(text string) (string, error) {
	list, err := netguard.ParseAllow([]string{text})
	if err == nil {
		return list.Entries()[0], nil
	}
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next // where it went wrong inside is of no use to whoever wrote the entry
	}
	return "", fmt.Errorf("not host:port: %s", strings.TrimPrefix(err.Error(), "net.host: "))
}

// covers reports whether everything that matches endpoint b also matches endpoint a.
// Both are canonical.
func covers(a, b string) bool {
	if a == b {
		return true
	}
	suffix, wild := strings.CutPrefix(a, "*") // ".host:port"
	below := strings.TrimPrefix(b, "*")
	return wild && strings.HasSuffix(below, suffix) && below != suffix
}

// canonicalRange checks an address range; a bare address is a range of one.
func canonicalRange(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" && !ip.Is4In6() {
		return netip.PrefixFrom(ip, ip.BitLen()).String(), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return "", fmt.Errorf("%q is not an address range like 10.1.0.0/16", text)
	}
	if p != p.Masked() {
		return "", fmt.Errorf("%q has bits beyond its length; did you mean %s?", text, p.Masked())
	}
	return p.String(), nil
}

// rangeCovers reports whether range a holds all of range b. Both are canonical.
func rangeCovers(a, b string) bool {
	outer, err1 := netip.ParsePrefix(a)
	inner, err2 := netip.ParsePrefix(b)
	return err1 == nil && err2 == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}
