//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// allow has the command reach some hosts.
func (r *trial) allow(entries ...string) {
	r.request.Grant.Network = durward.Network{Mode: durward.NetAllowlist, Allow: entries}
}

// greeted gives what the command prints, when all who connect are told whom they reached.
func (r *trial) greeted(t *testing.T) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, out, out}, r.host)
	if err != nil {
		t.Fatal(err)
	}
	var greeters sync.WaitGroup
	for _, w := range p.Ways() {
		greeters.Go(func() {
			for {
				c, err := w.Accept()
				if err != nil {
					return
				}
				fmt.Fprintf(c, "this is %q\n", w.Target)
				c.Close()
			}
		})
	}
	<-p.Exited()
	p.Kill()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	greeters.Wait()
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func isolated(t *testing.T) *trial {
	t.Helper()
	h := ProbeAll()
	if err := h.Level(durward.LevelIsolate); err != nil {
		t.Fatal(err)
	}
	r := newTrial(t, h)
	r.confine(durward.LevelIsolate)
	return r
}

// Every pair that the allowlist names is answered by the runtime, under its name and its
// address, and so is the proxy. There is nothing else. Rooms and namespaces are fresh, then
// kept.
func TestEveryWayLeadsToTheRuntime(t *testing.T) {
	r := isolated(t)
	r.allow("db.test:5432", "db.test:5433", "cache.test:6379", "10.9.8.7:80", "10.9.8.7:81", "127.0.0.1:8080", "localhost:9090", "[fd00::7]:82", "*.below.test:443")
	r.program(t, "bash", "-c", `
		ask() { exec 3<>"/dev/tcp/$1/$2" && head -n 1 <&3; }
		proxy=${HTTP_PROXY#http://}
		for at in db.test:5432 db.test:5433 cache.test:6379 10.9.8.7:80 10.9.8.7:81 127.0.0.1:8080 localhost:9090 fd00::7:82 "$proxy" \
			db.test:80 10.9.8.7:82 10.9.8.6:80 sub.below.test:443 192.0.2.1:443 ::1:82; do
			echo "$at: $(ask "${at%:*}" "${at##*:}" 2>/dev/null || echo no)"
		done
		env | grep -ci "^[a-z]*_proxy="`)
	want := `db.test:5432: this is "db.test:5432"
db.test:5433: this is "db.test:5433"
cache.test:6379: this is "cache.test:6379"
10.9.8.7:80: this is "10.9.8.7:80"
10.9.8.7:81: this is "10.9.8.7:81"
127.0.0.1:8080: this is "127.0.0.1:8080"
localhost:9090: this is "localhost:9090"
fd00::7:82: this is "[fd00::7]:82"
127.0.0.2:3128: this is ":0"
db.test:80: no
10.9.8.7:82: no
10.9.8.6:80: no
sub.below.test:443: no
192.0.2.1:443: no
::1:82: no
8
`
	for i := range 4 {
		if got := r.greeted(t); got != want {
			t.Errorf("call %d:\n%s", i, got)
		}
	}
	if held := r.compile(t).Report.Guarantees[durward.Net]; held.Held != durward.HeldKernel || held.Mode != "allowlist" {
		t.Errorf("the report says %+v", held)
	}
}

// The private /etc/hosts has the names wherever /etc comes from.
func TestHostsHaveTheNames(t *testing.T) {
	for name, change := range map[string]func(*durward.Files){
		"no /etc":         func(*durward.Files) {},
		"the file":        func(f *durward.Files) { f.Read = append(f.Read, hostsFile) },
		"all of /etc":     func(f *durward.Files) { f.Read = append(f.Read, "/etc") },
		"the whole host":  func(f *durward.Files) { f.HostReadOnly = true },
		"it being denied": func(f *durward.Files) { f.Deny = append(f.Deny, hostsFile) },
	} {
		t.Run(name, func(t *testing.T) {
			r := isolated(t)
			r.request.Grant.Files.Read = slices.DeleteFunc(r.request.Grant.Files.Read, func(path string) bool { return name == "all of /etc" && strings.HasPrefix(path, "/etc/") })
			change(&r.request.Grant.Files)
			r.allow("db.test:5432")
			r.shell(t, "cat /etc/hosts; (echo x >> /etc/hosts) 2>/dev/null && echo written")
			for range 3 {
				if got, want := r.says(t), "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.1.0.1 db.test\n"; got != want {
					t.Errorf("it says %q", got)
				}
			}
		})
	}
	if text, err := os.ReadFile(hostsFile); err != nil || strings.Contains(string(text), "db.test") {
		t.Errorf("the machine's own: %q %v", text, err)
	}
}

// A way that cannot be made stops the start.
func TestNoWayNoCommand(t *testing.T) {
	r := isolated(t)
	r.allow("db.test:5432", "10.9.8.7:80", "[fd00::7]:82")
	p := r.compile(t)
	tried := 0
	for i, c := range p.Sources {
		if !strings.HasPrefix(c.Name, stepListen) {
			continue
		}
		tried++
		changed := p
		changed.Sources = slices.Clone(p.Sources)
		changed.Sources[i].NR = noSuchCall
		err := r.start(changed)
		if durward.ReasonOf(err) != durward.SandboxUnavailable || !strings.Contains(err.Error(), c.Name) || r.ran() {
			t.Errorf("%s: %v; ran: %v", c, err, r.ran())
		}
	}
	if tried < 20 {
		t.Errorf("%d steps were tried", tried)
	}
}

func TestTooManyWays(t *testing.T) {
	r := isolated(t)
	var entries []string
	for i := range mostWays {
		entries = append(entries, fmt.Sprintf("h%d.test:80", i))
	}
	r.allow(entries[:mostWays-1]...)
	r.compile(t)
	if err := r.start(r.compile(t)); err != nil || !r.ran() {
		t.Errorf("as many as can be: %v; ran: %v", err, r.ran())
	}
	r.allow(entries...)
	if _, err := Compile(t.Context(), r.request, r.host); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Errorf("one more: %v", err)
	}
}

// Nor does a name get an address that is itself named.
func TestNamesMakeRoom(t *testing.T) {
	ways, err := waysOf(durward.Network{Mode: durward.NetAllowlist, Allow: []string{"127.1.0.2:80", "a.test:80", "b.test:80"}})
	if err != nil || len(ways) != 4 {
		t.Fatal(ways, err)
	}
	at := make(map[netip.AddrPort]bool)
	for _, w := range ways {
		if at[w.at] {
			t.Errorf("two are at %s", w.at)
		}
		at[w.at] = true
	}
}

// A file of the machine that is put in the place of its /etc/hosts is seen by calls that begin
// later, and by none with names in a file of its own: a kept room has no cover that could go.
func TestHostsAreCoveredForEachCall(t *testing.T) {
	r := isolated(t)
	r.request.Grant.Files.HostReadOnly = true
	r.allow("db.test:5432")
	for _, c := range r.compile(t).Room {
		if c.Name == stepHosts {
			t.Errorf("the room that is kept has %s", c)
		}
	}
}

// The proxy keeps out of the way of what is named.
func TestTheProxyMakesRoom(t *testing.T) {
	ways, err := waysOf(durward.Network{Mode: durward.NetAllowlist, Allow: []string{proxyAt.String(), "127.0.0.2:3129", "a.test:1"}})
	if err != nil || len(ways) != 4 || ways[0].at.String() != "127.0.0.2:3130" || ways[0].target != (netguard.Target{}) {
		t.Errorf("%v %v", ways, err)
	}
}
