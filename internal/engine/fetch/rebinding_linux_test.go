package fetch

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/durward/durward"
)

// The name leads to the server that is allowed first, and to one that is not from then
// on. The request goes where the address was judged.
func TestRebinding(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "public") })
	forbidden, err := net.Listen("tcp", "127.0.0.2:"+s.port)
	must(t, err)
	defer forbidden.Close()
	names := answering([]string{"127.0.0.1"}, []string{"127.0.0.2"})
	s.Engine.Resolver = names
	if got := s.output(t, "$/"); got != "public" || names.asked.Load() != 1 {
		t.Errorf("%q after %d lookups", got, names.asked.Load())
	}
	if _, err := s.curl(t.Context(), durward.Grant{}, "$/"); durward.ReasonOf(err) != durward.AddressRefused {
		t.Errorf("the second time: %v", err)
	}
	own, err := net.Dial("tcp", forbidden.Addr().String())
	must(t, err)
	defer own.Close()
	first, err := forbidden.Accept()
	must(t, err)
	defer first.Close()
	if first.RemoteAddr().String() != own.LocalAddr().String() {
		t.Error("somebody was there before")
	}
}
