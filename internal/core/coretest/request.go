package coretest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
)

const playsServer = "DURWARD_TEST_HTTP_SERVER"

// PlayServer answers the requests of a battery until its standard input ends, in a process
// that [Requests] has started for it; it gives false in every other one. A TestMain asks it
// first. So a battery counts only what the engine has open.
func PlayServer() bool {
	if os.Getenv(playsServer) == "" {
		return false
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() { _ = http.Serve(ln, &desk{}) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return true
}

// A desk knows of each endless request whether it has begun and whether its client has
// gone.
type desk struct{ work sync.Map }

type deskWork struct{ began, gone chan struct{} }

func (d *desk) of(id string) deskWork {
	w, _ := d.work.LoadOrStore(id, deskWork{make(chan struct{}), make(chan struct{})})
	return w.(deskWork)
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	value := r.URL.Query().Get("v")
	switch r.URL.Path {
	case workerPath:
		d.worker(w, r)
	case "/hello":
		fmt.Fprintln(w, "hello")
	case "/noisy":
		_, _ = io.Copy(w, io.LimitReader(zeroes{}, 2<<20))
	case "/mark":
		_ = os.WriteFile(value, nil, 0o644)
	case "/endless":
		_ = http.NewResponseController(w).Flush()
		close(d.of(value).began)
		<-r.Context().Done()
		close(d.of(value).gone)
	case "/began":
		select {
		case <-d.of(value).began:
		case <-r.Context().Done():
		}
	case "/gone":
		select {
		case <-d.of(value).gone:
		case <-time.After(time.Second):
			w.WriteHeader(http.StatusConflict)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// zeroes are without an end.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// RequestServer starts a server in a process of its own, that ends with the test.
func RequestServer(t testing.TB) netip.AddrPort {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), playsServer+"=1")
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(strings.TrimSpace(line))
}

var works atomic.Int64

// Requests gives calls for an engine that sends requests to a [RequestServer]. call makes
// one of a method and what follows the host in a URL. Refused, and Fails where the tool has
// a way to, are left to the engine's test.
func Requests(t testing.TB, server netip.AddrPort, call func(method, path string) durward.Call) Calls {
	return Calls{
		Dir: t.TempDir(), Succeeds: call("GET", "/hello"), Noisy: call("GET", "/noisy"),
		Marks: func(path string) durward.Call {
			return call("POST", "/mark?v="+url.QueryEscape(filepath.ToSlash(path)))
		},
		Endless: func(testing.TB) Work {
			id := fmt.Sprint(works.Add(1))
			return Work{Call: call("GET", "/endless?v="+id), Watch: Watch{
				Started: func(ctx context.Context) error {
					_, err := ask(ctx, server, "/began?v="+id)
					return err
				},
				Gone: func() bool {
					status, err := ask(context.Background(), server, "/gone?v="+id)
					return err == nil && status == http.StatusOK
				},
			}}
		},
	}
}

// ask asks the server apart from the engine.
func ask(ctx context.Context, server netip.AddrPort, path string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+server.String()+path, nil)
	if err != nil {
		return 0, err
	}
	outside := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := outside.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
