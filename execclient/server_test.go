package execclient_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward/execclient"
	"github.com/durward/durward/execserver"
	"github.com/durward/durward/execserver/protocol"
)

// What follows is tried with the server of this module.

// serve starts a server, and gives a relay that leads to it.
func serve(t *testing.T) *relay {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended, started := make(chan error, 1), make(chan string, 1)
	options := execserver.Options{StateDir: t.TempDir(), Started: func(url string) { started <- url }}
	go func() { ended <- execserver.Run(ctx, execserver.DefaultListenURL, options) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	select {
	case url := <-started:
		return newRelay(t, strings.TrimPrefix(url, "ws://"))
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return nil
	}
}

func dialRelay(t *testing.T, r *relay, o execclient.ConnectOptions) *execclient.Client {
	t.Helper()
	c, err := execclient.Dial(t.Context(), execclient.RemoteConnectArgs{URL: r.url(), Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// shell starts a script.
func shell(t *testing.T, c *execclient.Client, p protocol.StartParams, script string) *execclient.Process {
	t.Helper()
	p.Argv, p.Cwd, p.Env = []string{"/bin/sh", "-c", script}, t.TempDir(), map[string]string{"PATH": "/usr/bin:/bin"}
	process, err := c.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// lines is what seq prints.
func lines(last int) []byte {
	var text []byte
	for i := 1; i <= last; i++ {
		text = append(strconv.AppendInt(text, int64(i), 10), '\n')
	}
	return text
}

func TestServerLosesNoByteOverTenDisconnects(t *testing.T) {
	const last = 6_500_000 // 50 MB of lines
	r := serve(t)
	p := shell(t, dialRelay(t, r, execclient.ConnectOptions{}), protocol.StartParams{}, "exec seq 1 "+strconv.Itoa(last))
	text := lines(last)
	want, got := sha256.Sum256(text), sha256.New()
	cuts, size := 0, 0
	for {
		o, err := p.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", size, err)
		}
		got.Write(o.Data)
		if size += len(o.Data); cuts < 10 && size > (cuts+1)*len(text)/11 {
			cuts++
			r.cut(false)
		}
	}
	if size != len(text) || !bytes.Equal(got.Sum(nil), want[:]) {
		t.Errorf("%d bytes of %d, or others", size, len(text))
	}
	if exit, known := p.Exit(); cuts != 10 || !known || exit.Code != 0 {
		t.Errorf("%d disconnects, exit %+v, %v", cuts, exit, known)
	}
}

func TestServerHasAChildWaitForItsReader(t *testing.T) {
	const last = 1_000_000 // 7 MB of lines
	r := serve(t)
	c := dialRelay(t, r, execclient.ConnectOptions{})
	p := shell(t, c, protocol.StartParams{}, "exec seq 1 "+strconv.Itoa(last))
	if _, err := p.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.cut(true)
	other := dialServer(t, r)
	if exit, err := shell(t, other, protocol.StartParams{}, "exec seq 1 "+strconv.Itoa(last)).Wait(t.Context()); err != nil || exit.Code != 0 {
		t.Fatalf("another session: %+v, %v", exit, err)
	}
	if _, known := p.Exit(); known {
		t.Error("the child did not wait")
	}
	r.cut(false)
	var rest bytes.Buffer
	if exit, err := p.Copy(t.Context(), &rest, &rest); err != nil || exit.Code != 0 || !bytes.HasSuffix(lines(last), rest.Bytes()) || rest.Len() < 6<<20 {
		t.Errorf("%d bytes, %+v, %v", rest.Len(), exit, err)
	}
}

// dialServer is dial without the relay.
func dialServer(t *testing.T, r *relay) *execclient.Client {
	t.Helper()
	c, err := execclient.Dial(t.Context(), execclient.RemoteConnectArgs{URL: "ws://" + r.to})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestServerDropsTheOldestOfAChildThatDoesNotWait(t *testing.T) {
	const last = 1_000_000
	r := serve(t)
	c := dialRelay(t, r, execclient.ConnectOptions{})
	done := filepath.Join(t.TempDir(), "done")
	p := shell(t, c, protocol.StartParams{PipeStdin: true, Durward: &protocol.StartExtras{}}, "read line; seq 1 "+strconv.Itoa(last)+"; echo >"+done)
	r.cut(true)
	letGo(t, r, p, c.Session())
	files := dialServer(t, r).Files(nil)
	await(t, func() bool { _, err := files.Metadata(t.Context(), done); return err == nil })
	r.cut(false)

	want, place, gaps := lines(last), 0, 0
	for {
		o, err := p.Next(t.Context())
		if err == io.EOF {
			break
		}
		var gap *execclient.GapError
		switch {
		case errors.As(err, &gap):
			gaps++
		case err != nil:
			t.Fatal(err)
		case gaps > 0 && place == 0:
			place = len(want) - 1<<20
			place += bytes.Index(want[place:], o.Data)
			fallthrough
		default:
			if !bytes.HasPrefix(want[place:], o.Data) {
				t.Fatalf("other bytes at %d", place)
			}
			place += len(o.Data)
		}
	}
	if gaps != 1 || place != len(want) {
		t.Errorf("%d gaps, and it ends at %d of %d", gaps, place, len(want))
	}
}

// letGo lets the child of a session go, by a client that takes the session up for a moment.
func letGo(t *testing.T, r *relay, p *execclient.Process, session string) {
	t.Helper()
	c, err := execclient.Dial(t.Context(), execclient.RemoteConnectArgs{URL: "ws://" + r.to, Options: execclient.ConnectOptions{Resume: session}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	again, err := c.Attach(p.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(t.Context(), []byte("go\n")); err != nil {
		t.Fatal(err)
	}
}

// await asks until it is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func TestServerTakesWritesOnce(t *testing.T) {
	r := serve(t)
	c := dialRelay(t, r, execclient.ConnectOptions{})
	p := shell(t, c, protocol.StartParams{PipeStdin: true}, "exec cat")
	want := lines(200_000) // more than a pipe holds, in several messages
	var got bytes.Buffer
	copied := make(chan error, 1)
	go func() {
		_, err := p.Copy(t.Context(), &got, &got)
		copied <- err
	}()
	var cuts sync.WaitGroup
	defer cuts.Wait()
	for at := 0; at < len(want); at += 100_000 {
		if at%500_000 == 0 {
			cuts.Go(func() { r.cut(false) }) // before the write, in it, or behind it
		}
		if err := p.Write(t.Context(), want[at:min(at+100_000, len(want))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.CloseStdin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-copied; err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes of %d, or others, %v", got.Len(), len(want), err)
	}
}

func TestServerEndsWhatIsGivenUp(t *testing.T) {
	r := serve(t)
	c := dialRelay(t, r, execclient.ConnectOptions{})
	p := shell(t, c, protocol.StartParams{}, "exec yes")
	if _, err := p.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		all, err := c.List(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0].Closed && *all[0].ExitCode == 137
	})
}

func TestServerExtras(t *testing.T) {
	r := serve(t)
	c := dialRelay(t, r, execclient.ConnectOptions{})
	p := shell(t, c, protocol.StartParams{TTY: true}, `trap 'stty size; exit 3' TERM; echo ready; while :; do sleep 0.01; done`)
	if o, err := p.Next(t.Context()); err != nil || o.Stream != protocol.PTY || !strings.HasPrefix(string(o.Data), "ready") {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := p.Resize(t.Context(), 40, 100); err != nil {
		t.Fatal(err)
	}
	if running, err := p.Terminate(t.Context(), time.Minute); err != nil || !running {
		t.Fatalf("running %v, %v", running, err)
	}
	var out bytes.Buffer
	exit, err := p.Copy(t.Context(), &out, io.Discard)
	if err != nil || exit.Code != 3 || !strings.Contains(out.String(), "40 100") {
		t.Errorf("%q, exit %+v, %v", out.String(), exit, err)
	}
}

func TestServerFiles(t *testing.T) {
	r := serve(t)
	files := dialRelay(t, r, execclient.ConnectOptions{}).Files(nil)
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "f")
	if _, err := files.ReadFile(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := files.CreateDirectory(t.Context(), filepath.Dir(path), true); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 3<<20 + 1, 8<<20 + 1} {
		want := pattern(0, size)
		if err := files.WriteFile(t.Context(), path, want); err != nil {
			t.Fatal(err)
		}
		if there, err := os.ReadFile(path); err != nil || !bytes.Equal(there, want) {
			t.Errorf("%d bytes are written of %d, %v", len(there), size, err)
		}
		if got, err := files.ReadFile(t.Context(), path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes are read of %d, %v", len(got), size, err)
		}
	}
	if m, err := files.Metadata(t.Context(), path); err != nil || !m.IsFile || m.Size != 8<<20+1 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := files.Copy(t.Context(), filepath.Dir(path), filepath.Join(dir, "b"), true); err != nil {
		t.Fatal(err)
	}
	if list, err := files.ReadDirectory(t.Context(), filepath.Join(dir, "b")); err != nil || len(list) != 1 || list[0].FileName != "f" {
		t.Errorf("%+v, %v", list, err)
	}
	walk := protocol.WalkOptions{MaxDepth: 9, MaxDirectories: 9, MaxEntries: 9}
	if w, err := files.Walk(t.Context(), dir, walk); err != nil || len(w.Entries) != 4 {
		t.Errorf("%+v, %v", w, err)
	}
	if is, err := files.Canonicalize(t.Context(), dir+"/b/../a"); err != nil || is != dir+"/a" {
		t.Errorf("%q, %v", is, err)
	}
	fired, err := files.WatchMissing(t.Context(), []string{dir + "/new"}, dir+"/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteFile(t.Context(), dir+"/new", nil); err != nil {
		t.Fatal(err)
	}
	<-fired
	if err := files.Remove(t.Context(), dir+"/a", true, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir + "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestServerAnswers(t *testing.T) {
	r := serve(t)
	limits := &protocol.Limits{Processes: ptr(uint64(1))}
	c := dialRelay(t, r, execclient.ConnectOptions{Limits: limits})
	if info, err := c.EnvironmentInfo(t.Context()); err != nil || info.Capabilities != c.Capabilities() || !info.Capabilities.DurwardFlow {
		t.Errorf("%+v, %v", info, err)
	}
	if status, err := c.EnvironmentStatus(t.Context()); err != nil || status != protocol.StatusReady {
		t.Errorf("%q, %v", status, err)
	}
	shell(t, c, protocol.StartParams{PipeStdin: true}, "exec cat")
	var refused *execclient.Error
	_, err := c.Start(t.Context(), protocol.StartParams{Argv: []string{"true"}, Cwd: "/"})
	if !errors.As(err, &refused) || refused.Code != protocol.InvalidRequest || refused.Method != protocol.ProcessStart {
		t.Errorf("a process beyond the limit: %v", err)
	}
	if _, err := c.HTTP(t.Context(), protocol.HTTPRequestParams{Method: "GET", URL: "http://127.0.0.1:1/"}); !errors.As(err, &refused) || refused.Code != protocol.InvalidRequest {
		t.Errorf("a host that nobody named: %v", err)
	}
}

func ptr[T any](v T) *T { return &v }
