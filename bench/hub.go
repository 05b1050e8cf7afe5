//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// hubServers are what a hub has.
	hubServers = 10
	// wellAfter is when a server has been well for so long that it is started again at once.
	wellAfter = 10500 * time.Millisecond
)

// hub compares calls through `durward hub` with those of a client of the official SDK that calls
// the same server directly.
func hub(rounds int, quick bool) error {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newHubBench(dir)
	if err != nil {
		return err
	}
	if err := b.starts(max(rounds/60, 3)); err != nil {
		return err
	}
	ours, err := b.serve()
	if err != nil {
		return err
	}
	kills := hubServers
	if quick {
		kills = 2
	}
	err = errors.Join(b.calls(max(rounds/10, 3), ours), b.overMCP(max(rounds/10, 3), ours), ours.reportMemory("durward hub after the load", "<= 35 MB"), b.recoveries(kills, ours))
	return errors.Join(err, ours.close())
}

// A hubBench has the programs that are measured.
type hubBench struct {
	dir, ours, floor string
	started          time.Time // of the hub that is served
}

func newHubBench(dir string) (*hubBench, error) {
	b := &hubBench{dir: dir, floor: filepath.Join(dir, "mcpfloor")}
	var err error
	if b.ours, err = buildDurward(dir); err != nil {
		return nil, err
	}
	if err := buildModule(b.floor, "bench/testdata/mcpfloor"); err != nil {
		return nil, err
	}
	var servers []string
	for i := range hubServers {
		servers = append(servers, fmt.Sprintf(`{"name": "s%d", "command": %q, "args": ["serve"], "x-gateway": {"concurrency": %d}}`, i, b.floor, togetherCalls))
	}
	text := `{"servers": [` + strings.Join(servers, ",\n") + "]}"
	return b, os.WriteFile(filepath.Join(dir, "servers.json"), []byte(text), 0o644)
}

// serve starts a hub with all servers, and comes back when it serves.
func (b *hubBench) serve() (*gatewayProcess, error) {
	cmd := exec.Command(b.ours, "hub", "--port", "0", "--config", filepath.Join(b.dir, "servers.json"), "--sandbox-dir", filepath.Join(b.dir, "work"))
	cmd.Env = append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(b.dir, "state"), "LOG_LEVEL=ERROR")
	b.started = time.Now()
	return startServing(cmd)
}

// starts compares the start of a hub, until all its servers can be called, with that of one
// server, until it has told its tools.
func (b *hubBench) starts(rounds int) error {
	var last *gatewayProcess
	var failed error
	end := func() {
		if last != nil {
			failed = errors.Join(failed, last.close())
			last = nil
		}
	}
	m, err := settled(rounds, end, b.startServer, func() (err error) {
		last, err = b.serve()
		return err
	})
	end()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	reportStart(fmt.Sprintf("start of durward hub with %d servers, to that of one", hubServers), m[0], m[1], "<= +200 ms")
	return nil
}

// startServer starts one server and has it tell its tools.
func (b *hubBench) startServer() error {
	server, err := talk(nil, b.floor, "serve")
	if err != nil {
		return err
	}
	_, err = server.ask([]byte(greeting))
	if err == nil {
		err = server.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
	}
	if err == nil {
		_, err = server.ask([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"))
	}
	return errors.Join(err, server.close())
}

// calls compares POST /execute with a client of the SDK on the standard input and output of the
// same server.
func (b *hubBench) calls(rounds int, ours *gatewayProcess) error {
	order := postJSON(ours.address, "/execute", `{"tool_name":"s0__echo","arguments":{"text":"hello"}}`)
	if err := ours.works("s0__echo"); err != nil {
		return err
	}
	direct, err := talk(nil, b.floor, "drive", "stdio", b.floor, "serve")
	if err != nil {
		return err
	}
	const alone, together = 200, 50
	one, err := compared(rounds, direct, 1, alone, func() ([]time.Duration, error) { return burst(ours.address, order, 1, alone) })
	if err != nil {
		return err
	}
	report("/execute, to a call of the same server by the SDK over stdio, p50", micros(one[0].middle), micros(one[1].middle)+" = "+ratio(one[1].middle, one[0].middle), "<= 1.3 x")
	err = b.without(rounds, direct, alone, func(address string) (func() ([]time.Duration, error), error) {
		message := postJSON(address, "/", aCall)
		return func() ([]time.Duration, error) { return burst(address, message, 1, alone) }, nil
	})
	if err != nil {
		return err
	}
	many, err := compared(rounds, direct, togetherCalls, together, func() ([]time.Duration, error) { return burst(ours.address, order, togetherCalls, together) })
	if err != nil {
		return err
	}
	reportRate(fmt.Sprintf("/execute, %d in flight, calls per second", togetherCalls), togetherCalls*together, many, ">= 0.6 x")
	return direct.close()
}

// aCall calls the tool of a server, and says all that the newest revision wants said.
const aCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{` +
	`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

// without tells how much of what the hub takes is owed to there being somebody between client and
// server, and how much to what is written down. The way makes calls at an address.
func (b *hubBench) without(rounds int, direct *talker, times int, way func(address string) (func() ([]time.Duration, error), error)) error {
	program, err := buildHTTPFloor(b.dir)
	if err != nil {
		return err
	}
	for _, does := range []struct {
		what string
		args []string
	}{
		{"hands the message on and does nothing else", []string{"pipe"}},
		{"writes two records as long as ours, too", []string{"record", filepath.Join(b.dir, "records")}},
	} {
		bare, err := startServing(exec.Command(program, append(does.args, b.floor, "serve")...))
		if err != nil {
			return err
		}
		calls, err := way(bare.address)
		if err != nil {
			return errors.Join(err, bare.close())
		}
		m, err := compared(rounds, direct, 1, times, calls)
		if err := errors.Join(err, bare.close()); err != nil {
			return err
		}
		report("the same, by a server that "+does.what, micros(m[0].middle), micros(m[1].middle)+" = "+ratio(m[1].middle, m[0].middle), "")
	}
	return nil
}

// overMCP compares tools/call through the hub with tools/call of the same server over streamable
// HTTP, both by the same client.
func (b *hubBench) overMCP(rounds int, ours *gatewayProcess) error {
	answered, err := http.Get("http://" + ours.address + "/mcp")
	if err != nil {
		return err
	}
	answered.Body.Close()
	if answered.StatusCode == http.StatusNotFound {
		report("/mcp tools/call", "-", "the hub has no such endpoint", "<= 1.5 x")
		return nil
	}
	bare, err := talk(nil, b.floor, "listen")
	if err != nil {
		return err
	}
	url, err := bare.hear()
	if err != nil {
		return err
	}
	direct, err := talk(nil, b.floor, "drive", "http", string(bytes.TrimSpace(url)), "echo")
	if err != nil {
		return err
	}
	through, err := talk(nil, b.floor, "drive", "http", "http://"+ours.address+"/mcp", "s0__echo")
	if err != nil {
		return err
	}
	const alone, together = 200, 50
	one, err := compared(rounds, direct, 1, alone, func() ([]time.Duration, error) { return driven(through, 1, alone) })
	if err != nil {
		return err
	}
	report("/mcp tools/call, to the same server over streamable HTTP, p50", micros(one[0].middle), micros(one[1].middle)+" = "+ratio(one[1].middle, one[0].middle), "<= 1.5 x")
	var last *talker
	err = b.without(rounds, direct, alone, func(address string) (func() ([]time.Duration, error), error) {
		if last != nil {
			last.close()
		}
		last, err = talk(nil, b.floor, "drive", "http", "http://"+address, "echo")
		return func() ([]time.Duration, error) { return driven(last, 1, alone) }, err
	})
	if err := errors.Join(err, last.close()); err != nil {
		return err
	}
	many, err := compared(rounds, direct, togetherCalls, together, func() ([]time.Duration, error) { return driven(through, togetherCalls, together) })
	if err != nil {
		return err
	}
	reportRate(fmt.Sprintf("the same, %d in flight, calls per second", togetherCalls), togetherCalls*together, many, "")
	return errors.Join(through.close(), direct.close(), bare.close())
}

// recoveries kills servers that were well and tells the time to the first good call, beside that
// of a server's own start.
func (b *hubBench) recoveries(kills int, ours *gatewayProcess) error {
	time.Sleep(time.Until(b.started.Add(wellAfter)))
	pids, err := ours.serverPIDs()
	if err != nil {
		return err
	}
	var floor, took []time.Duration
	for i := range kills {
		name := "s" + strconv.Itoa(i)
		began := time.Now()
		if err := b.startServer(); err != nil {
			return err
		}
		floor = append(floor, time.Since(began))
		if err := syscall.Kill(pids[name], syscall.SIGKILL); err != nil {
			return err
		}
		killed := time.Now()
		for ours.works(name+"__echo") != nil {
			if time.Since(killed) > 10*time.Second {
				return fmt.Errorf("server %s does not come back", name)
			}
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(killed))
	}
	reportStart("SIGKILL of a server to the next good call, to a server's start", median(floor), median(took), "<= +200 ms")
	return nil
}

// serverPIDs gives the processes of the servers.
func (p *gatewayProcess) serverPIDs() (map[string]int, error) {
	answered, err := http.Get("http://" + p.address + "/health")
	if err != nil {
		return nil, err
	}
	defer answered.Body.Close()
	var health struct{ Details map[string]struct{ PID int } }
	if err := json.NewDecoder(answered.Body).Decode(&health); err != nil {
		return nil, err
	}
	pids := map[string]int{}
	for name, d := range health.Details {
		pids[name] = d.PID
	}
	if len(pids) != hubServers {
		return nil, fmt.Errorf("%d servers run", len(pids))
	}
	return pids, nil
}

// works calls a tool that says the same.
func (p *gatewayProcess) works(tool string) error {
	answered, err := http.Post("http://"+p.address+"/execute", "application/json", strings.NewReader(`{"tool_name":"`+tool+`","arguments":{"text":"hello"}}`))
	if err != nil {
		return err
	}
	defer answered.Body.Close()
	said, err := io.ReadAll(answered.Body)
	if err == nil && !bytes.Contains(said, []byte(`"output":"hello"`)) {
		err = fmt.Errorf("the hub says %s", said)
	}
	return err
}

// A series is how long each of many calls took, and all of them together.
type series struct{ middle, whole time.Duration }

// compared has bursts of calls take turns: those of a driver, and those of another way.
func compared(rounds int, direct *talker, inFlight, times int, other func() ([]time.Duration, error)) (of [2]series, err error) {
	var each, whole [2][]time.Duration
	ways := [2]func() ([]time.Duration, error){func() ([]time.Duration, error) { return driven(direct, inFlight, times) }, other}
	for round := range 2 * rounds {
		for i, way := range ways {
			took, err := way()
			if err != nil {
				return of, err
			}
			if last := len(took) - 1; round >= rounds {
				each[i], whole[i] = append(each[i], took[:last]...), append(whole[i], took[last])
			}
		}
	}
	for i := range of {
		of[i] = series{median(each[i]), median(whole[i])}
	}
	return of, nil
}

// driven has a driver make calls. It gives what each took, and at the end what all of them did.
func driven(d *talker, inFlight, times int) ([]time.Duration, error) {
	line, err := d.ask(fmt.Appendf(nil, "%d %d\n", inFlight, times))
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for _, field := range bytes.Fields(line) {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Duration(n))
	}
	if len(took) != inFlight*times+1 {
		return nil, fmt.Errorf("the driver says %.100q", line)
	}
	return took, nil
}

// burst is driven for requests.
func burst(address string, request []byte, inFlight, times int) ([]time.Duration, error) {
	began := time.Now()
	took, err := latencies(address, request, inFlight, times)
	return append(took, time.Since(began)), err
}

// reportRate compares how many calls per second there were.
func reportRate(what string, calls int, of [2]series, bar string) {
	rate := func(s series) float64 { return float64(calls) / s.whole.Seconds() }
	report(what, fmt.Sprintf("%.0f/s", rate(of[0])), fmt.Sprintf("%.0f/s = %s", rate(of[1]), ratio(of[0].whole, of[1].whole)), bar)
}
