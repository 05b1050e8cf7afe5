//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/durward/durward/internal/schema"
	"github.com/durward/durward/worker"
)

// gateway compares a worker that does nothing, called directly, with the same through
// `durward gateway`, which checks the input against a schema and records each call; and, to
// tell how much of that is owed to a program in between, through a bare reverse proxy.
func gateway(rounds int, quick bool) error {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	direct, stop, err := serveNothing()
	if err != nil {
		return err
	}
	through, err := serveGateway(dir, direct)
	if err != nil {
		return errors.Join(err, stop())
	}
	bare, err := serveProxy(dir, direct)
	if err != nil {
		return errors.Join(err, through.close(), stop())
	}
	g := gatewayBench{ways: waysTo(direct, through.address, bare.address), rounds: rounds, burst: time.Second}
	if quick {
		g.burst /= 5
	}
	err = errors.Join(g.added(), g.rate(), through.reportMemory("durward gateway after the load", "<= 40 MB"), validation(dir, rounds))
	return errors.Join(err, through.close(), bare.close(), stop())
}

// serveNothing serves a tool that does nothing.
func serveNothing() (address string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	nothing := worker.Func(func(context.Context, worker.Call) (any, error) { return json.RawMessage("{}"), nil })
	go func() { ended <- worker.Serve(ctx, l, nothing, worker.Options{}) }()
	return l.Addr().String(), func() error { cancel(); return <-ended }, nil
}

// benchInput is an input of 1 KiB, and benchSchema what it has to be.
var benchInput = fmt.Sprintf(`{"url":"https://example.org/","mode":"crawl","max_pages":10,"formats":["markdown","html"],"note":%q}`, strings.Repeat("x", 920))

const benchSchema = `{
  "type": "object", "required": ["url"], "additionalProperties": false,
  "properties": {
    "url": {"type": "string", "format": "uri", "pattern": "^https?://", "maxLength": 2048},
    "mode": {"enum": ["crawl", "scrape"]},
    "max_pages": {"type": "integer", "minimum": 1, "maximum": 1000},
    "formats": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"enum": ["markdown", "html", "text"]}},
    "note": {"type": "string", "maxLength": 4096}
  }
}`

// A gatewayProcess is a gateway, a hub or a proxy that runs.
type gatewayProcess struct {
	cmd     *exec.Cmd
	address string
}

func serveGateway(dir, direct string) (*gatewayProcess, error) {
	program, err := buildDurward(dir)
	if err != nil {
		return nil, err
	}
	manifest := "domain_id: bench\nversion: \"1\"\ntools:\n  - tool_id: nothing\n    transport: {type: http, base_url: \"http://" + direct + "\"}\n    input_schema_ref: in.json\n"
	policies := "concurrency: {max_inflight: 64, max_queue: 64}\n"
	for name, text := range map[string]string{"manifest.yaml": manifest, "policies.yaml": policies, "in.json": benchSchema} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program, "gateway", "--port", "0", "--manifest", filepath.Join(dir, "manifest.yaml"), "--policies", filepath.Join(dir, "policies.yaml"))
	cmd.Env = append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(dir, "state"))
	return startServing(cmd)
}

// serveProxy serves the worker behind the reverse proxy of net/http.
func serveProxy(dir, direct string) (*gatewayProcess, error) {
	program, err := buildHTTPFloor(dir)
	if err != nil {
		return nil, err
	}
	return startServing(exec.Command(program, "proxy", "http://"+direct))
}

// startServing starts a program that says where it serves, and comes back when it does.
func startServing(cmd *exec.Cmd) (*gatewayProcess, error) {
	p := &gatewayProcess{cmd: cmd}
	errorsOf, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewReader(errorsOf)
	line, err := said.ReadString('\n')
	var ok bool
	if p.address, ok = strings.CutPrefix(strings.TrimSpace(line), "Serving on http://"); !ok {
		return nil, errors.Join(err, fmt.Errorf("%s says %q", cmd.Path, line), p.close())
	}
	go func() { _, _ = said.WriteTo(io.Discard) }() // a line for each call; it ends with the program
	return p, nil
}

func (p *gatewayProcess) close() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait() // by the signal
	return err
}

func (p *gatewayProcess) reportMemory(what, bar string) error {
	held, err := heldBy(p.cmd.Process.Pid)
	report("RSS of "+what, "-", held, bar)
	return err
}

// A gatewayBench has the ways to the worker. The first is the direct one.
type gatewayBench struct {
	ways   []way
	rounds int
	burst  time.Duration
}

// A way leads to the worker, with a request that is answered.
type way struct {
	through, address string
	request          []byte
	bars             [3]string // of the median, of the 99th of a hundred, and of the rate
}

func waysTo(direct, gateway, bare string) []way {
	envelope := `{"meta":{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","tool_run_id":"01890a5d-ac96-774b-bcce-b302099a8057","domain_id":"bench","deadline_ms":4102444800000},"input":` + benchInput + `}`
	return []way{
		{address: direct, request: postJSON(direct, "/run", envelope)},
		{"the gateway", gateway, postJSON(gateway, "/v1/tools/nothing:run", `{"input":`+benchInput+`}`), [...]string{"<= +0.3 ms", "<= +2 ms", ">= 0.6 x"}},
		{through: "a bare reverse proxy", address: bare, request: postJSON(bare, "/run", envelope)},
	}
}

func postJSON(address, path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, address, len(body), body)
}

// added tells what each way adds to a call, with eight in flight.
func (g gatewayBench) added() error {
	const inFlight = 8
	times := make([][]time.Duration, len(g.ways))
	for range max(g.rounds/30, 2) {
		for i, w := range g.ways {
			took, err := latencies(w.address, w.request, inFlight, 200)
			if err != nil {
				return err
			}
			times[i] = append(times[i], took...)
		}
	}
	for i, w := range g.ways[1:] {
		for n, q := range []struct {
			what string
			of   float64
		}{{"a run through " + w.through + ", 8 in flight, p50", 0.50}, {"the same, p99", 0.99}} {
			a, b := quantile(times[0], q.of), quantile(times[i+1], q.of)
			report(q.what, micros(a), fmt.Sprintf("%s = +%s", micros(b), micros(b-a)), w.bars[n])
		}
	}
	return nil
}

func quantile(times []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[int(q*float64(len(sorted)-1))]
}

// latencies sends a request so often on each of so many connections, and gives what each took.
func latencies(address string, request []byte, inFlight, times int) ([]time.Duration, error) {
	took := make([][]time.Duration, inFlight)
	failed := make([]error, inFlight)
	var clients sync.WaitGroup
	for i := range inFlight {
		clients.Go(func() {
			c, err := dial(address, request)
			if err != nil {
				failed[i] = err
				return
			}
			defer c.Close()
			for range times {
				began := time.Now()
				if err := c.ask(); err != nil || !strings.Contains(c.status, " 200 ") {
					failed[i] = errors.Join(err, errors.New("the answer was "+c.status))
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	clients.Wait()
	return slices.Concat(took...), errors.Join(failed...)
}

// rate compares the calls per second of the ways, with 32 in flight.
func (g gatewayBench) rate() error {
	const inFlight = 32
	rates := make([][]time.Duration, len(g.ways))
	for range max(g.rounds/60, 2) {
		for i, w := range g.ways {
			n, err := load(w.address, w.request, inFlight, g.burst)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], g.burst/time.Duration(max(n, 1)))
		}
	}
	direct := median(rates[0])
	for i, w := range g.ways[1:] {
		b := median(rates[i+1])
		report("runs per second through "+w.through+", 32 in flight", fmt.Sprintf("%.0f/s", 1/direct.Seconds()), fmt.Sprintf("%.0f/s = %s", 1/b.Seconds(), ratio(direct, b)), w.bars[2])
	}
	return nil
}

// validation tells how long it takes to hold 1 KiB to a schema.
func validation(dir string, rounds int) error {
	folder := schema.NewFolder(dir, func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, path)) })
	compiled, err := folder.Compile("in.json")
	if err != nil {
		return err
	}
	input := json.RawMessage(benchInput)
	m, err := interleaved(10*rounds, func() error {
		if wrong := compiled.Check(input); len(wrong) > 0 {
			return fmt.Errorf("%v", wrong)
		}
		return nil
	})
	if err != nil {
		return err
	}
	report("an input of 1 KiB held to its schema", "-", micros(m[0]), "<= 20 us")
	return nil
}
