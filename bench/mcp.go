//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// togetherCalls are in flight at once where calls are not made one at a time.
const togetherCalls = 8

// mcp compares `durward mcp` with a program that answers as many bytes, and a command that
// it runs with a bare spawn.
func mcp(rounds int, quick bool) error {
	spawn, done, err := newSpawner()
	if err != nil {
		return err
	}
	defer done()
	b, err := newMCPBench(filepath.Dir(spawn.nop))
	if err != nil {
		return err
	}
	if err := b.starts(max(rounds/10, 5)); err != nil {
		return err
	}
	server, err := b.serve()
	if err != nil {
		return err
	}
	return errors.Join(b.idle(server), b.reads(rounds, server), b.together(max(rounds/10, 5), server),
		b.runs(rounds, server, spawn), server.close())
}

// An mcpBench has the programs that are measured, and a policy with one root, which holds
// a file of 1 KiB and the one command, a static program.
type mcpBench struct {
	ours, empty, echo   string
	policy, state, file string
}

func newMCPBench(dir string) (b mcpBench, err error) {
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return b, err
	}
	command, err := writeNop(root)
	if err != nil {
		return b, err
	}
	b = mcpBench{policy: filepath.Join(dir, "policy.yaml"), state: filepath.Join(dir, "state"), file: filepath.Join(root, "1k")}
	text := fmt.Sprintf("version: 1\nallowedRoots: [%q]\ncommands: [{id: nop, exec: %q}]\n", root, command)
	content := strings.Repeat("A line of text for whoever reads it.\n", 1024)[:1024]
	if err := errors.Join(os.Mkdir(b.state, 0o700),
		os.WriteFile(b.file, []byte(content), 0o644), os.WriteFile(b.policy, []byte(text), 0o600)); err != nil {
		return b, err
	}
	var failed [3]error
	b.ours, failed[0] = buildDurward(dir)
	b.empty, failed[1] = buildEmpty(dir)
	b.echo, failed[2] = buildEcho(dir)
	return b, errors.Join(failed[:]...)
}

// greeting opens a session.
const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

// serve starts a server and waits for its first answer.
func (b mcpBench) serve() (*talker, error) {
	server, err := talk([]string{"DURWARD_STATE_DIR=" + b.state}, b.ours, "mcp", "--config", b.policy)
	if err != nil {
		return nil, err
	}
	if _, err := server.ask([]byte(greeting)); err != nil {
		return nil, errors.Join(err, server.close())
	}
	return server, nil
}

// reading asks for the file.
func (b mcpBench) reading(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"fs_read","arguments":{"path":%q}}}`+"\n", id, b.file)
}

// learn asks once, and gives the answer if the call went well.
func learn(server *talker, line []byte) ([]byte, error) {
	answer, err := server.ask(line)
	if err == nil && (!bytes.Contains(answer, []byte(`"result":`)) || bytes.Contains(answer, []byte(`"isError":true`))) {
		err = fmt.Errorf("the server answers %s", answer)
	}
	return bytes.Clone(answer), err
}

func (b mcpBench) starts(rounds int) error {
	var last *talker
	var failed error
	end := func() {
		if last != nil {
			failed, last = errors.Join(failed, last.close()), nil
		}
	}
	m, err := settled(rounds, end,
		func() error {
			empty, err := talk(nil, b.empty)
			return errors.Join(err, empty.close())
		},
		func() (err error) {
			last, err = b.serve()
			return err
		})
	end()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	reportStart("start of durward mcp to the answer to initialize", m[0], m[1], "<= +20 ms")
	return nil
}

func (b mcpBench) reads(rounds int, server *talker) error {
	line := b.reading(1)
	answer, err := learn(server, line)
	if err != nil {
		return err
	}
	echo, err := talk(nil, b.echo, strings.TrimSuffix(string(answer), "\n"))
	if err != nil {
		return err
	}
	bare, err := talk(nil, b.echo, strings.TrimSuffix(string(answer), "\n"), b.file, filepath.Join(b.state, "records"))
	if err != nil {
		return errors.Join(err, echo.close())
	}
	m, err := interleaved(10*rounds,
		func() error { return echo.expect(line, answer) },
		func() error { return server.expect(line, answer) },
		func() error { return bare.expect(line, answer) },
	)
	if err := errors.Join(err, echo.close(), bare.close()); err != nil {
		return err
	}
	report("fs_read of 1 KiB, to an echo of the same bytes", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 3 x")
	report("the same, by an echo that reads the file, writes two records and checks nothing", micros(m[0]), micros(m[2])+" = "+ratio(m[2], m[0]), "")
	return nil
}

func (b mcpBench) runs(rounds int, server *talker, spawn spawner) error {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"nop"}}}` + "\n")
	answer, err := learn(server, line)
	if err != nil {
		return err
	}
	m, err := interleaved(rounds, spawn.bare, func() error { return server.expect(line, answer) })
	if err != nil {
		return err
	}
	report("cmd_run of a static program, to a bare spawn", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 9 x")
	return nil
}

func (b mcpBench) together(rounds int, server *talker) error {
	const count = 90
	var lines [][]byte
	for i := range count {
		lines = append(lines, b.reading(10+i)) // all of one length, as are the answers
	}
	answer, err := learn(server, lines[0])
	if err != nil {
		return err
	}
	m, err := interleaved(rounds,
		func() error { return server.pipeline(lines, 1, len(answer)) },
		func() error { return server.pipeline(lines, togetherCalls, len(answer)) },
	)
	if err != nil {
		return err
	}
	rate := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(count)/d.Seconds()) }
	report(fmt.Sprintf("fs_read, %d at once, to one at a time", togetherCalls), rate(m[0]), rate(m[1])+" = "+ratio(m[0], m[1]), ">= 1.3 x")
	return nil
}

// idle tells what a server holds that was asked for its tools and a file, once that does
// not change any more.
func (b mcpBench) idle(server *talker) error {
	_, err := learn(server, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"))
	if err == nil {
		_, err = learn(server, b.reading(1))
	}
	if err != nil {
		return err
	}
	held, same := "", 0
	for end := time.Now().Add(10 * time.Second); same < 5 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now, err := heldBy(server.cmd.Process.Pid)
		if err != nil {
			return err
		}
		if same++; now != held {
			held, same = now, 0
		}
	}
	report("RSS of durward mcp, idle after tools/list and an fs_read", "-", held, "<= 20 MB")
	return nil
}

// heldBy tells the resident memory of a process.
func heldBy(pid int) (string, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", err
	}
	kilobytes := make(map[string]float64)
	for line := range strings.Lines(string(status)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(value, " kB\n") {
			kilobytes[name], err = strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(value, "kB\n")), 64)
		}
	}
	mb := func(name string) float64 { return kilobytes[name] * 1024 / 1e6 }
	return fmt.Sprintf("%.1f MB (%.1f of files, %.1f of its own)", mb("VmRSS"), mb("RssFile"), mb("RssAnon")), err
}
