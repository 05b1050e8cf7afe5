//go:build linux && (amd64 || arm64)

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// A logged engine runs commands with an allowlist, into a real log.
type logged struct {
	*core.Runtime
	t       *testing.T
	subject coretest.Subject
	dir     string // of the log
	log     *holding
}

// A holding log makes refusals wait, if it is told to.
type holding struct {
	*audit.Log
	came, held chan struct{} // came has one for each that waits; nil: none does
}

func (h *holding) Refused(c durward.Call, d durward.Decision, to durward.Contact) error {
	if h.held != nil {
		h.came <- struct{}{}
		<-h.held
	}
	return h.Log.Refused(c, d, to)
}

func newLogged(t *testing.T, allow ...string) *logged {
	t.Helper()
	l := &logged{t: t, subject: subject(t, durward.LevelIsolate), dir: filepath.Join(t.TempDir(), "audit")}
	openToAll(t, l.subject.Engine.(*Engine).scratch.parent)
	log, err := audit.Open(l.dir, audit.Options{})
	must(t, err)
	l.log = &holding{Log: log}
	t.Cleanup(func() { must(t, log.Close()) })
	g := l.subject.Grant
	g.Network = durward.Network{Mode: durward.NetAllowlist, Allow: allow}
	l.Runtime, err = core.New(core.Options{
		Source: core.Catalogue{l.subject.Tool}, Policy: coretest.AllowAll(g), Recorder: l.log,
		Engines: map[string]core.Engine{"process": l.subject.Engine},
	})
	must(t, err)
	t.Cleanup(func() { l.Shutdown(context.Background()) })
	return l
}

func (l *logged) bash(script string) durward.Call {
	c := call("bash", "-c", script)
	c.Tool, c.Dir = l.subject.Tool.ID, l.subject.Calls.Dir
	return c
}

// records gives what audit search finds, and asks that the log proves itself.
func (l *logged) records() (list []audit.Record) {
	l.t.Helper()
	for entry, err := range audit.Records(l.t.Context(), l.dir, audit.Filter{}) {
		must(l.t, err)
		list = append(list, entry.Record)
	}
	summary, err := audit.Verify(l.t.Context(), l.dir)
	if err != nil || len(summary.Problems) > 0 {
		l.t.Errorf("the log: %v %v", err, summary.Problems)
	}
	return list
}

func phases(list []audit.Record) string {
	var words []string
	for _, r := range list {
		words = append(words, strings.TrimSpace(string(r.Phase)+" "+r.Host))
	}
	return strings.Join(words, ", ")
}

// talk is a session whose output is waited for.
type talk struct {
	durward.Session
	t      *testing.T
	cursor uint64
	said   string
}

func (l *logged) open(script string) *talk {
	l.t.Helper()
	s, err := l.Open(l.t.Context(), l.bash(script), nil)
	must(l.t, err)
	l.t.Cleanup(func() { must(l.t, s.Close()) })
	return &talk{Session: s, t: l.t}
}

// until waits for a word and gives all that was said.
func (k *talk) until(word string) string {
	k.t.Helper()
	for !strings.Contains(k.said, word) {
		page, err := k.Read(k.t.Context(), k.cursor, 1<<16, 30*time.Second)
		must(k.t, err)
		if len(page.Chunks) == 0 {
			k.t.Fatalf("it said %q and not %q", k.said, word)
		}
		for _, c := range page.Chunks {
			k.said += string(c.Data)
		}
		k.cursor = page.Next
	}
	return k.said
}

// ask defines a function that asks the proxy for a tunnel, over a connection of its own, and
// gives the status of the answer in $code.
const ask = `ask() {
	exec {conn}<>/dev/tcp/127.0.0.2/3128 && printf 'CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&"$conn" && read -r -u "$conn" _ code _
}
`

// A refusal is in the log while the command that was refused goes on.
func TestRefusalsAreInTheLogAtOnce(t *testing.T) {
	l := newLogged(t, "10.9.8.7:5432")
	k := l.open(ask + `ask 192.0.2.1:80; echo "first $code"; read -r _; ask 0x7f.1:80; echo "second $code"; read -r _`)
	k.until("first 403")
	list := l.records()
	if phases(list) != "intent, event 192.0.2.1" {
		t.Fatalf("the log has %q", phases(list))
	}
	e := list[1]
	if e.Cause != "network.refused" || e.ReqID != list[0].ReqID || e.Port != 80 || e.Rule != "network.allow" || e.Times != 1 || e.Decision != "deny" {
		t.Errorf("the event is %+v", e)
	}
	if _, err := k.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	k.until("second 403")
	if list = l.records(); phases(list) != "intent, event 192.0.2.1, event" || list[2].Rule != "host" {
		t.Errorf("the log has %q, %+v", phases(list), list[len(list)-1])
	}
	must(t, k.Close())
	if list = l.records(); phases(list) != "intent, event 192.0.2.1, event, outcome" {
		t.Errorf("the log has %q", phases(list))
	}
	if n := list[len(list)-1].Network; n == nil || len(n.Refused) != 2 {
		t.Errorf("the outcome has %+v", n)
	}
}

// Of a thousand refusals 128 are told by themselves and the rest by target; none is missing
// and none is told twice.
func TestManyRefusalsAddUpInTheLog(t *testing.T) {
	const times, targets, live = 1000, 5, 128
	l := newLogged(t, "10.9.8.7:5432")
	r, err := l.Do(t.Context(), l.bash(fmt.Sprintf(`
		exec 4<>/dev/tcp/127.0.0.2/3128
		for ((i = 0; i < %[1]d; i++)); do printf 'GET http://h%%d.test/ HTTP/1.1\r\nHost: h%%d.test\r\n\r\n' $((i %% %[2]d)) $((i %% %[2]d)); done >&4 &
		for ((n = 0; n < %[1]d;)); do
			read -r -u 4 line || exit 1
			case $line in HTTP/*' 403 '*) n=$((n + 1)) ;; esac
		done`, times, targets)))
	if err != nil || r.ExitStatus() != 0 {
		t.Fatalf("%v, %q", err, r.Stderr.Bytes())
	}
	list := l.records()
	if first, last := list[0].Phase, list[len(list)-1].Phase; first != audit.Intent || last != audit.Outcome {
		t.Fatalf("the log is %s … %s", first, last)
	}
	events := list[1 : len(list)-1]
	if len(events) != live+targets {
		t.Fatalf("%d events", len(events))
	}
	counts := map[string]int64{}
	for i, e := range events {
		if e.Cause != "network.refused" || e.ReqID != list[0].ReqID || e.Rule != "network.allow" || i < live && e.Times != 1 {
			t.Errorf("event %d is %+v", i, e)
		}
		counts[e.Host] += e.Times
	}
	want := map[string]int64{}
	for i := range targets {
		want[fmt.Sprintf("h%d.test", i)] = times / targets
	}
	if !maps.Equal(counts, want) {
		t.Errorf("the events count %v", counts)
	}
	for _, c := range r.Network.Refused {
		if int64(c.Times) != want[c.Host] {
			t.Errorf("the result has %+v", c)
		}
	}
}

// Where a refusal cannot be recorded the command is ended.
func TestACommandEndsWhoseRefusalCannotBeRecorded(t *testing.T) {
	l := newLogged(t, "10.9.8.7:5432")
	c := l.bash(ask + `echo ready; read -r _; ask 192.0.2.1:80; read -r _`)
	s, err := l.Open(t.Context(), c, nil)
	must(t, err)
	defer s.Close()
	k := &talk{Session: s, t: t}
	k.until("ready")
	must(t, l.log.Close())
	if _, err := s.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context()); durward.ReasonOf(err) != durward.AuditUnavailable {
		t.Errorf("the call ended with %v", err)
	}
}

// A log that takes its time keeps no command alive.
func TestASlowLogKeepsNoCommandAlive(t *testing.T) {
	l, m := newLogged(t, "10.9.8.7:5432"), newMarker(t, 0)
	l.log.came, l.log.held = make(chan struct{}), make(chan struct{})
	k := l.open(ask + fmt.Sprintf(`sleep %s & ask 192.0.2.1:80; echo "got $code"`, m))
	<-l.log.came
	k.Cancel()
	waitFor(t, "the end of the command", 20*time.Second, func() bool { return m.alive(t) == 0 })
	close(l.log.held)
	if _, err := k.Wait(t.Context()); durward.KindOf(err) != durward.Cancelled {
		t.Errorf("the call ended with %v", err)
	}
	if list := l.records(); phases(list) != "intent, event 192.0.2.1, outcome" {
		t.Errorf("the log has %q", phases(list))
	}
}

// Calls together cannot have so many connections that others could not go on.
func TestConnectionsLeaveDescriptorsToOtherCalls(t *testing.T) {
	const files, places = 1024, 1024 / 2 / 6
	target, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: a connection has nothing open here but for us
	must(t, err)
	defer target.Close()
	at := target.Addr().String()
	l := newLogged(t, at)
	before := setFiles(t, files)
	defer setFiles(t, before)
	crowd := ask + `
		for ((i = 0; i < 64; i++)); do
			ask ` + at + `
			case $code in 200) open=$((open + 1)) ;; 503) full=$((full + 1)); exec {conn}>&- ;; *) echo "got $code" ;; esac
		done
		echo "open $((open)) full $((full)) all"; read -r _`
	first, second := l.open(crowd), l.open(crowd)
	for _, k := range []*talk{first, second} {
		k.until(" all\n")
	}
	var open, full [2]int
	for i, k := range []*talk{first, second} {
		if _, err := fmt.Sscanf(k.said, "open %d full %d", &open[i], &full[i]); err != nil || open[i]+full[i] != 64 {
			t.Errorf("it said %q", k.said)
		}
	}
	if open[0]+open[1] != places {
		t.Errorf("%v connections are open; there is room for %d", open, places)
	}
	for range 32 {
		f, err := os.Open("/etc/hostname")
		must(t, err)
		defer f.Close()
	}
	if r, err := l.Do(t.Context(), l.bash("cat /etc/hostname >/dev/null && echo done")); err != nil || string(r.Stdout.Bytes()) != "done\n" {
		t.Errorf("another call: %v, %q, %q", err, r.Stdout.Bytes(), r.Stderr.Bytes())
	}
	// Who comes when there is room again finds it.
	must(t, errors.Join(first.Close(), second.Close()))
	for i, k := range []*talk{first, second} {
		r, _ := k.Wait(t.Context()) // it was cancelled
		told := slices.ContainsFunc(r.Network.Refused, func(c durward.Contact) bool { return c.Rule == "maxConnectionsOfAll" })
		if told != (full[i] > 0) {
			t.Errorf("%d times there was no room; the result has %+v", full[i], r.Network)
		}
	}
	if r, err := l.Do(t.Context(), l.bash(ask+"ask "+at+"; echo $code")); err != nil || string(r.Stdout.Bytes()) != "200\n" {
		t.Errorf("afterwards: %v, %q", err, r.Stdout.Bytes())
	}
	if !slices.ContainsFunc(l.records(), func(r audit.Record) bool { return r.Cause == "network.refused" && r.Rule == "maxConnectionsOfAll" }) {
		t.Error("the log has no refusal for want of room")
	}
}
