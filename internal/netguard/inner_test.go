package netguard

import (
	"net/netip"
	"testing"

	"github.com/durward/durward"
)

func TestJudgeInner(t *testing.T) {
	for text, refused := range map[string]bool{
		"127.0.0.1": false, "10.1.2.3": false, "192.168.0.1": false, "::1": false, "fd00::1": false, "8.8.8.8": false, "2001:db8::1": false,
		"169.253.255.255": false, "169.255.0.0": false, "fec0::1": false, "fd00:ec2::253": false, "64:ff9b::808:808": false,
		"169.254.0.0": true, "169.254.169.254": true, "169.254.255.255": true, "fe80::1": true, "febf::1": true, "fe80::1%eth0": true,
		"fd00:ec2::254": true, "::ffff:169.254.169.254": true, "::169.254.169.254": true, "64:ff9b::169.254.169.254": true, "2002:a9fe:a9fe::1": true,
	} {
		err := JudgeInner(netip.MustParseAddr(text))
		if (err != nil) != refused || refused && durward.ReasonOf(err) != durward.AddressRefused {
			t.Errorf("%s: %v", text, err)
		}
	}
	if JudgeInner(netip.Addr{}) == nil {
		t.Error("no address passes")
	}
}
