package worker

import (
	"context"
	"net"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	e := engine(t, Options{Resolver: names{"meta": {"169.254.169.254"}}})
	up := speaks(t, whole(200, `{"ok":true}`))
	of := tool(up.url() + "/prefix")
	for range 2 {
		if got := e.Health(patient(t), of); got != Up {
			t.Error(got)
		}
		if got := <-up.heard; got != "GET /prefix/healthz HTTP/1.1\r\nHost: "+up.Addr().String()+"\r\nUser-Agent: durward\r\nAccept-Encoding: identity\r\n\r\n" {
			t.Errorf("%q", got)
		}
	}
	if n := up.conns.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
	closed := speaks(t, "")
	closed.Close()
	for name, base := range map[string]string{
		"no key":     speaks(t, whole(500, `{"ok":false}`)).url(),
		"a redirect": speaks(t, "HTTP/1.1 302 x\r\nLocation: "+up.url()+"\r\nContent-Length: 0\r\n\r\n").url(),
		"no HTTP":    hangsUp(t, "SSH-2.0-x\r\n").url(),
		"nothing":    hangsUp(t, "").url(),
		"endless":    speaks(t, ok+"\r\n"+strings.Repeat("x", healthBytes+1)).url(),
		"closed":     closed.url(), "metadata": "http://meta:80", "malformed": "http://[::1",
	} {
		for range mostFailures + 1 { // to look is no call, and opens no circuit
			if got := e.Health(patient(t), tool(base)); got != Down {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	secret := tool(up.url())
	secret.Transport.TokenEnv = "MISSING"
	if got := e.Health(patient(t), secret); got != Down {
		t.Errorf("without its secret: %s", got)
	}
}

// The end of the caller ends the look; it has a bound of its own beside.
func TestHealthOfASilentWorker(t *testing.T) {
	p, holds, dropped := stuck(t, "nothing is read")
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan Health, 1)
	e := engine(t, Options{})
	go func() { asked <- e.Health(ctx, tool(p.url())) }()
	await(t, holds, "a silent worker")
	cancel()
	if got := <-asked; got != Down {
		t.Error(got)
	}
	await(t, dropped, "a silent worker")
	read := make(chan struct{})
	silent := serve(t, func(*peer, net.Conn) { <-read })
	defer close(read)
	if got := e.Health(t.Context(), tool(silent.url())); got != Down {
		t.Error(got)
	}
}
