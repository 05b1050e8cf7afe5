package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
)

// serve answers requests until its standard input ends. It is a process of its own, so
// that the battery counts only what the engine has open.
func serve() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() { _ = http.Serve(ln, &desk{}) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A desk knows of each endless request whether it has begun and whether its client has
// gone.
type desk struct{ work sync.Map }

type work struct{ began, gone chan struct{} }

func (d *desk) of(id string) work {
	w, _ := d.work.LoadOrStore(id, work{make(chan struct{}), make(chan struct{})})
	return w.(work)
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	value := r.URL.Query().Get("v")
	switch r.URL.Path {
	case "/hello":
		fmt.Fprintln(w, "hello")
	case "/noisy":
		_, _ = io.Copy(w, io.LimitReader(endless{}, 2<<20))
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

// endless is zeroes without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// startServer gives the address of a server in a process of its own.
func startServer(t *testing.T) netip.AddrPort {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "FETCH_PART=server")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	t.Cleanup(func() {
		stdin.Close()
		must(t, cmd.Wait())
	})
	return netip.MustParseAddrPort(strings.TrimSpace(line))
}

// outside is how a test asks the server, apart from the engine.
var outside = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func TestEngineBattery(t *testing.T) {
	at := startServer(t)
	var works atomic.Int64
	base := "http://battery.test:" + strconv.Itoa(int(at.Port()))
	call := func(path string, flags ...string) durward.Call {
		return durward.Call{Argv: append(append([]string{"curl"}, flags...), base+path)}
	}
	ask := func(ctx context.Context, path string) (int, error) {
		request, err := http.NewRequestWithContext(ctx, "GET", "http://"+at.String()+path, nil)
		if err != nil {
			return 0, err
		}
		answer, err := outside.Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	coretest.Engine(t, func(t *testing.T) coretest.Subject {
		return coretest.Subject{
			Engine: New(Options{Ports: []uint16{at.Port()}, AllowPrivate: loopback, Resolver: answering([]string{"127.0.0.1"})}),
			Tool:   durward.Tool{ID: "curl", Engine: "fetch"},
			Grant:  durward.Grant{Mode: durward.ReadOnly, StepDown: true, Limits: durward.DefaultLimits(), Keep: durward.KeepHeadTail},
			Calls: coretest.Calls{
				Dir: t.TempDir(), Succeeds: call("/hello"), Fails: call("/nothing", "-f"), Noisy: call("/noisy"),
				Refused: durward.Call{Argv: []string{"curl", "http://10.0.0.1/"}},
				Marks: func(path string) durward.Call {
					return call("/mark?v="+url.QueryEscape(filepath.ToSlash(path)), "-X", "POST")
				},
				Endless: func(t testing.TB) coretest.Work {
					id := fmt.Sprint(works.Add(1))
					return coretest.Work{Call: call("/endless?v=" + id), Watch: coretest.Watch{
						Started: func(ctx context.Context) error {
							_, err := ask(ctx, "/began?v="+id)
							return err
						},
						Gone: func() bool {
							status, err := ask(context.Background(), "/gone?v="+id)
							return err == nil && status == http.StatusOK
						},
					}}
				},
			},
		}
	})
}
