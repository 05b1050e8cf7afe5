package execclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/execclient"
	"github.com/durward/durward/execserver/protocol"
)

// everything that the fake can do.
var everything = protocol.Capabilities{DurwardFlow: true, FileWriteStreaming: true, SandboxedFileStreaming: true, FSWatchMissing: true}

func dial(t *testing.T, f *fakeServer, o execclient.ConnectOptions) *execclient.Client {
	t.Helper()
	c, err := execclient.Dial(t.Context(), execclient.RemoteConnectArgs{URL: f.url(), Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func start(t *testing.T, c *execclient.Client, argv ...string) *execclient.Process {
	t.Helper()
	p, err := c.Start(t.Context(), protocol.StartParams{Argv: argv, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readAll reads the output to its end, with something done each so many bytes.
func readAll(t *testing.T, p *execclient.Process, each int, do func()) []byte {
	t.Helper()
	var all []byte
	last := uint64(0)
	for done := each; ; {
		o, err := p.Next(t.Context())
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(all), err)
		}
		if o.Seq <= last {
			t.Fatalf("number %d after %d", o.Seq, last)
		}
		last = o.Seq
		if all = append(all, o.Data...); each > 0 && len(all) >= done {
			do()
			done += each
		}
	}
}

func TestNoByteIsLostOverTenDisconnects(t *testing.T) {
	const size = 11 << 20
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "put", strconv.Itoa(size))
	cuts := 0
	got := readAll(t, p, size/11, func() {
		if cuts < 10 {
			cuts++
			f.cut()
		}
	})
	if !bytes.Equal(got, pattern(0, size)) {
		t.Errorf("%d bytes of %d, or others", len(got), size)
	}
	if exit, known := p.Exit(); cuts != 10 || !known || exit.Code != 0 {
		t.Errorf("%d disconnects, exit %+v, %v", cuts, exit, known)
	}
	if f.accepted < 11 {
		t.Errorf("%d connections", f.accepted)
	}
	if peak := f.process(p.ID()).peak; peak > protocol.FlowBytes {
		t.Errorf("%d bytes were unacknowledged at once", peak)
	}
}

func TestOutputThatIsDroppedMeanwhileIsReported(t *testing.T) {
	const size = 4 << 20
	f := newFake(t, protocol.Capabilities{})
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "cat")
	if err := p.Write(t.Context(), []byte("before")); err != nil {
		t.Fatal(err)
	}
	if o, err := p.Next(t.Context()); err != nil || string(o.Data) != "before" {
		t.Fatalf("%q, %v", o.Data, err)
	}
	f.setAway(true)
	f.cut()
	child := f.process(p.ID())
	child.putAll(size) // while nobody is there
	f.setAway(false)
	child.kill()

	var gap *execclient.GapError
	if _, err := p.Next(t.Context()); !errors.As(err, &gap) || gap.First != 2 {
		t.Fatalf("got %v", err)
	}
	rest := readAll(t, p, 0, nil)
	lost := int(gap.Last-gap.First+1) * fakeChunk
	if lost != size-1<<20 || !bytes.Equal(rest, pattern(lost, size-lost)) {
		t.Errorf("%v is told, and %d bytes came", gap, len(rest))
	}
	if exit, known := p.Exit(); !known || exit.Code != 137 {
		t.Errorf("exit %+v, %v", exit, known)
	}
}

func TestTheExitIsNoGap(t *testing.T) {
	f := newFake(t, protocol.Capabilities{})
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "cat")
	f.setAway(true)
	f.cut()
	child := f.process(p.ID())
	child.exitWith(3)
	child.put([]byte("from a descendant"))
	child.kill()
	f.setAway(false)
	if got := readAll(t, p, 0, nil); string(got) != "from a descendant" {
		t.Errorf("got %q", got)
	}
	if exit, known := p.Exit(); !known || exit.Code != 3 {
		t.Errorf("exit %+v, %v", exit, known)
	}
}

func TestWritesAreDeliveredOnce(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "cat")
	var want []byte
	for i := range 30 {
		line := fmt.Appendf(nil, "line %d\n", i)
		want = append(want, line...)
		if i%3 == 0 {
			f.lose(protocol.ProcessWrite, 1)
		}
		if err := p.Write(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count(protocol.ProcessWrite); n != 40 {
		t.Errorf("%d writes came, not 30 and 10 again", n)
	}
	var got []byte
	for len(got) < len(want) {
		o, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Data...)
	}
	if _, err := p.Terminate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got = append(got, readAll(t, p, 0, nil)...); !bytes.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAProcessIsStartedOnce(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	f.lose(protocol.ProcessStart, 1)
	p := start(t, c, "put", "10")
	if got := readAll(t, p, 0, nil); !bytes.Equal(got, pattern(0, 10)) {
		t.Errorf("got %q", got)
	}
	if _, err := c.Start(t.Context(), protocol.StartParams{ProcessID: p.ID(), Argv: []string{"put"}, Cwd: "/"}); err == nil {
		t.Error("an id was taken twice")
	}
}

func TestCallsThatAreNotMadeAgainSaySo(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	files := c.Files(nil)
	f.lose(protocol.FSWriteFile, 1)
	if err := files.WriteFile(t.Context(), "/f", []byte("x")); !errors.Is(err, execclient.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	if n := f.count(protocol.FSWriteFile); n != 1 {
		t.Errorf("written %d times", n)
	}
	f.lose(protocol.EnvironmentStatus, 2)
	if status, err := c.EnvironmentStatus(t.Context()); err != nil || status != protocol.StatusReady {
		t.Errorf("%q, %v", status, err)
	}
}

func TestOutputThatNobodyReadsHoldsNothingUp(t *testing.T) {
	const size = 7 << 19
	for name, can := range map[string]protocol.Capabilities{"flow": everything, "no flow": {}} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, can)
			c := dial(t, f, execclient.ConnectOptions{})
			unread := start(t, c, "put", strconv.Itoa(size))
			if exit, err := start(t, c, "put", strconv.Itoa(size)).Wait(t.Context()); err != nil || exit.Code != 0 {
				t.Fatalf("%+v, %v", exit, err)
			}
			got, lost := 0, 0
			for {
				o, err := unread.Next(t.Context())
				if err == io.EOF {
					break
				}
				var gap *execclient.GapError
				switch {
				case errors.As(err, &gap):
					lost += int(gap.Last-gap.First+1) * fakeChunk
				case err != nil:
					t.Fatal(err)
				}
				got += len(o.Data)
			}
			if got+lost != size || lost > 0 && can.DurwardFlow {
				t.Errorf("%d bytes came and %d are told as lost", got, lost)
			}
		})
	}
}

func TestCloseEndsAChildThatWaitsToBeRead(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "put", strconv.Itoa(64<<20))
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := c.Attach(p.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestASessionIsResumedByAnotherClient(t *testing.T) {
	const size = 3 << 20
	f := newFake(t, everything)
	first := dial(t, f, execclient.ConnectOptions{})
	p := start(t, first, "put", strconv.Itoa(size))
	var got []byte
	var last uint64
	for len(got) < size/2 {
		o, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, last = append(got, o.Data...), o.Seq
	}
	first.Close()
	if _, err := p.Wait(t.Context()); !errors.Is(err, execclient.ErrClosed) {
		t.Errorf("a closed client waits: %v", err)
	}
	second := dial(t, f, execclient.ConnectOptions{Resume: first.Session()})
	p, err := second.Attach(p.ID(), last)
	if err != nil {
		t.Fatal(err)
	}
	if got = append(got, readAll(t, p, 0, nil)...); !bytes.Equal(got, pattern(0, size)) {
		t.Errorf("%d bytes of %d, or others", len(got), size)
	}
}

func TestALostSessionEndsEverything(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "cat")
	f.forget()
	f.cut()
	if _, err := p.Wait(t.Context()); err != nil && !errors.Is(err, execclient.ErrSessionLost) {
		t.Errorf("reading: %v", err)
	}
	<-c.Done()
	if _, err := c.EnvironmentStatus(t.Context()); !errors.Is(err, execclient.ErrSessionLost) || !errors.Is(c.Err(), execclient.ErrSessionLost) {
		t.Errorf("a call: %v", err)
	}
}

func TestWithoutSessionsALostConnectionIsTheEnd(t *testing.T) {
	f := newFake(t, protocol.Capabilities{})
	f.sessions = false
	c := dial(t, f, execclient.ConnectOptions{})
	f.cut()
	<-c.Done()
	if !errors.Is(c.Err(), execclient.ErrSessionLost) {
		t.Errorf("got %v", c.Err())
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "cat")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	f.setAway(true)
	f.cut()
	if _, err := c.EnvironmentStatus(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a call without a connection: %v", err)
	}
	f.setAway(false)
	if _, err := c.EnvironmentStatus(t.Context()); err != nil {
		t.Errorf("the client suffered from it: %v", err)
	}
}

func TestFiles(t *testing.T) {
	f := newFake(t, everything)
	files := dial(t, f, execclient.ConnectOptions{}).Files(nil)
	inBlocks := func(ctx context.Context, path string, data []byte) error {
		w, err := files.Create(ctx, path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, bytes.NewReader(data))
		return errors.Join(err, w.Close())
	}
	for name, write := range map[string]func(context.Context, string, []byte) error{"at once": files.WriteFile, "in blocks": inBlocks} {
		for _, size := range []int{0, protocol.MaxBlock, protocol.MaxBlock + 1} {
			want := pattern(0, size)
			if err := write(t.Context(), "/f", want); err != nil {
				t.Fatal(err)
			}
			got, err := files.ReadFile(t.Context(), "/f")
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes of %d, %v", name, len(got), size, err)
			}
		}
	}
	if _, err := files.ReadFile(t.Context(), "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAFileIsReadAgainAfterADisconnect(t *testing.T) {
	f := newFake(t, everything)
	files := dial(t, f, execclient.ConnectOptions{}).Files(nil)
	want := pattern(0, 3<<19)
	f.setFile("/f", want)
	f.lose(protocol.FSReadBlock, 2)
	got, err := files.ReadFile(t.Context(), "/f")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	f.lose(protocol.FSWriteBlock, 1)
	if err := files.WriteFile(t.Context(), "/g", make([]byte, 8<<20+1)); !errors.Is(err, execclient.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfAServerThatReadsThemWhole(t *testing.T) {
	f := newFake(t, protocol.Capabilities{})
	files := dial(t, f, execclient.ConnectOptions{}).Files([]byte(`{}`))
	f.setFile("/f", []byte("x"))
	if got, err := files.ReadFile(t.Context(), "/f"); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if err := files.WriteFile(t.Context(), "/f", make([]byte, 9<<20)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if n := f.count(protocol.FSOpen); n != 0 {
		t.Errorf("%d opened past the sandbox object", n)
	}
}

func TestWatchMissing(t *testing.T) {
	f := newFake(t, everything)
	files := dial(t, f, execclient.ConnectOptions{}).Files(nil)
	fired, err := files.WatchMissing(t.Context(), []string{"/a"}, "/changes")
	if err != nil {
		t.Fatal(err)
	}
	<-fired
	fired, err = files.WatchMissing(t.Context(), []string{"/a"}, "/stays")
	if err != nil {
		t.Fatal(err)
	}
	f.cut()
	<-fired // nobody watches any more
}

func TestHTTP(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	r, err := c.HTTP(t.Context(), protocol.HTTPRequestParams{Method: "GET", URL: "http://h/1"})
	if err != nil || r.Status != 200 || !bytes.Equal(r.BodyBase64, pattern(0, 1<<20)) {
		t.Errorf("%d, %d bytes, %v", r.Status, len(r.BodyBase64), err)
	}
	head, body, err := c.HTTPStream(t.Context(), protocol.HTTPRequestParams{Method: "PUT", URL: "http://h/2"})
	if err != nil || head.Headers[0].Value != "PUT" {
		t.Fatalf("%+v, %v", head, err)
	}
	got, err := io.ReadAll(body)
	if err != nil || !bytes.Equal(got, pattern(0, 2<<20)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, _, err := c.HTTPStream(t.Context(), protocol.HTTPRequestParams{URL: "http://h/none"}); err == nil {
		t.Error("no error")
	}
}

func TestABodyEndsWithItsConnection(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	_, body, err := c.HTTPStream(t.Context(), protocol.HTTPRequestParams{URL: "http://h/9"})
	if err != nil {
		t.Fatal(err)
	}
	f.cut() // while the body is more than is held, and holds the connection up
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, execclient.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	_, body, err = c.HTTPStream(t.Context(), protocol.HTTPRequestParams{URL: "http://h/9"})
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
	if _, err := c.EnvironmentStatus(t.Context()); err != nil {
		t.Errorf("a body that was given up holds up the rest: %v", err)
	}
}

func TestTokens(t *testing.T) {
	f := newFake(t, everything)
	f.token = "secret"
	args := execclient.RemoteConnectArgs{URL: f.url(), BearerToken: "secret"}
	c, err := execclient.Dial(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if said := fmt.Sprintf("%v %+v %#v", args, args, args); bytes.Contains([]byte(said), []byte("secret")) {
		t.Errorf("the token shows: %s", said)
	}
	args.BearerToken = "other"
	if _, err := execclient.Dial(t.Context(), args); err == nil {
		t.Error("a wrong token is let in")
	}
	for _, url := range []string{"ws://192.0.2.1:1", "ws://localhost:1", "ws://127.0.0.1.example:1", "http://127.0.0.1:1", "ws:///"} {
		if _, err := execclient.Dial(t.Context(), execclient.RemoteConnectArgs{URL: url, BearerToken: "secret"}); err == nil {
			t.Errorf("%s was dialled", url)
		}
	}
	if n := len(f.auth); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

func TestAServerThatStillHoldsTheOldConnectionIsAskedAgain(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	p := start(t, c, "cat")
	f.mu.Lock()
	f.busy = 3
	f.mu.Unlock()
	f.cut()
	if err := p.Write(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
}

func TestAServerThatTalksRubbishIsLeft(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	if _, err := c.HTTP(t.Context(), protocol.HTTPRequestParams{URL: "http://h/rubbish"}); err == nil {
		t.Error("the call succeeds")
	}
	<-c.Done()
	if f.mu.Lock(); f.accepted != 1 {
		t.Errorf("%d connections", f.accepted)
	}
	f.mu.Unlock()
}

func TestWhatWasNotSentIsAskedFor(t *testing.T) {
	f := newFake(t, everything)
	p := start(t, dial(t, f, execclient.ConnectOptions{}), "holey")
	var out, errs bytes.Buffer
	if exit, err := p.Copy(t.Context(), &out, &errs); err != nil || exit.Code != 0 || out.String() != "ac" || errs.String() != "b" {
		t.Errorf("%q, %q, %+v, %v", out.String(), errs.String(), exit, err)
	}
}

func TestASilentConnectionIsLeft(t *testing.T) {
	f := newFake(t, everything)
	r := newRelay(t, strings.TrimPrefix(f.url(), "ws://"))
	c := dialRelay(t, r, execclient.ConnectOptions{KeepAlive: 20 * time.Millisecond})
	p := start(t, c, "cat")
	r.silence()
	if err := p.Write(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if o, err := p.Next(t.Context()); err != nil || string(o.Data) != "x" {
		t.Errorf("%q, %v", o.Data, err)
	}
}

func TestWritesThatNobodyTakes(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	none, err := c.Attach("none", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Write(t.Context(), []byte("x")); !errors.Is(err, execclient.ErrUnknownProcess) {
		t.Errorf("to a process that is not there: %v", err)
	}
	var refused *execclient.Error
	if _, err := none.Next(t.Context()); !errors.As(err, &refused) || refused.Code != protocol.InvalidRequest {
		t.Errorf("output of a process that is not there: %v", err)
	}
	over := start(t, c, "put", "1")
	if _, err := over.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := over.Write(t.Context(), []byte("x")); !errors.Is(err, execclient.ErrStdinClosed) {
		t.Errorf("to a process that is over: %v", err)
	}
}

func TestABodyIsGivenUpWithItsContext(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	_, body, err := c.HTTPStream(ctx, protocol.HTTPRequestParams{URL: "http://h/9"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := c.EnvironmentStatus(t.Context()); err != nil {
		t.Errorf("it holds up the rest: %v", err)
	}
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerThatIsTooLargeIsNotAskedForAgain(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{})
	if _, err := c.HTTP(t.Context(), protocol.HTTPRequestParams{URL: "http://h/huge"}); !errors.Is(err, execclient.ErrAnswerTooLarge) {
		t.Errorf("got %v", err)
	}
	if _, err := c.EnvironmentStatus(t.Context()); err != nil {
		t.Errorf("the client is of no use any more: %v", err)
	}
}

func TestWhatAServerCannotDoIsNotAskedFor(t *testing.T) {
	f := newFake(t, protocol.Capabilities{})
	c := dial(t, f, execclient.ConnectOptions{})
	if _, err := start(t, c, "cat").Terminate(t.Context(), time.Second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a grace: %v", err)
	}
	args := execclient.RemoteConnectArgs{URL: f.url(), Options: execclient.ConnectOptions{Limits: &protocol.Limits{}}}
	if _, err := execclient.Dial(t.Context(), args); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("limits: %v", err)
	}
}

func TestResumingIsGivenUp(t *testing.T) {
	f := newFake(t, everything)
	c := dial(t, f, execclient.ConnectOptions{ResumeTimeout: 50 * time.Millisecond})
	f.setAway(true)
	f.cut()
	<-c.Done()
	if !errors.Is(c.Err(), execclient.ErrSessionLost) {
		t.Errorf("got %v", c.Err())
	}
}
