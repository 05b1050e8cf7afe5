//go:build linux

package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// An execBench has a server and the floor beside it, each a process of its own, and the
// program that does nothing.
type execBench struct {
	spawn spawner
	// ours and floor are the two, which end with close, and url and bare their addresses.
	ours, floor *talker
	url, bare   string
	file        string // 1 MiB
	ids         int    // of processes
}

// execServer compares `durward exec-server` with a bare WebSocket, with bare spawns and bare files.
func execServer(rounds int, quick bool) error {
	spawn, done, err := newSpawner()
	if err != nil {
		return err
	}
	defer done()
	b := &execBench{spawn: spawn}
	if err := b.begin(filepath.Dir(spawn.nop)); err != nil {
		return err
	}
	size := 200 << 20
	if quick {
		size /= 10
	}
	return errors.Join(b.holds(), b.initializes(rounds), b.processes(rounds), b.terminals(rounds), b.output(max(rounds/60, 3), size), b.files(max(rounds/5, 5)),
		b.together(max(rounds/30, 3)), b.ours.close(), b.floor.close())
}

// begin starts both.
func (b *execBench) begin(dir string) error {
	program, err := buildDurward(dir)
	if err != nil {
		return err
	}
	floor := filepath.Join(dir, "wsfloor")
	if err := build(floor, "./bench/testdata/wsfloor"); err != nil {
		return err
	}
	b.file = filepath.Join(dir, "1m")
	content := strings.Repeat("A line of text for whoever reads it.\n", 1<<20)[:1<<20]
	state := filepath.Join(dir, "state")
	if err := errors.Join(os.WriteFile(b.file, []byte(content), 0o644), os.Mkdir(state, 0o700)); err != nil {
		return err
	}
	if b.ours, b.url, err = listening([]string{"DURWARD_STATE_DIR=" + state}, program, "exec-server", "--exit-on-stdin-close"); err != nil {
		return err
	}
	b.floor, b.bare, err = listening(nil, floor, b.file)
	return err
}

// listening starts a program that prints its address.
func listening(env []string, program string, args ...string) (*talker, string, error) {
	t, err := talk(env, program, args...)
	if err != nil {
		return nil, "", err
	}
	line, err := t.hear()
	return t, strings.TrimSpace(string(line)), err
}

// holds tells what a server holds that has done nothing yet, and what it holds with 100
// processes.
func (b *execBench) holds() error {
	held, err := heldBy(b.ours.cmd.Process.Pid)
	if err != nil {
		return err
	}
	report("RSS of durward exec-server, idle", "-", held, "<= 25 MB")
	c, err := dialSession(b.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	for range 100 {
		if _, err := c.ask(b.starting(`"tty":false,`, "null", "sleep", "600")); err != nil {
			return err
		}
	}
	if held, err = heldBy(b.ours.cmd.Process.Pid); err != nil {
		return err
	}
	report("RSS of durward exec-server, with 100 processes that live", "-", held, "<= 45 MB")
	return nil
}

// initializes asks on connections that are open, of which each answers once.
func (b *execBench) initializes(rounds int) error {
	first, err := dialWire(b.url)
	if err != nil {
		return err
	}
	defer first.CloseNow()
	answer, err := first.ask([]byte(hello))
	if err != nil {
		return err
	}
	var floor, ours wire
	var failed error
	settle := func() {
		for _, c := range []wire{floor, ours} {
			if c.Conn != nil {
				_ = c.CloseNow()
			}
		}
		var errs [2]error
		floor, errs[0] = dialWire(fmt.Sprintf("%s/echo?size=%d", b.bare, len(answer)))
		ours, errs[1] = dialWire(b.url)
		failed = errors.Join(failed, errs[0], errs[1])
	}
	ask := func(c *wire) func() error {
		return func() error {
			if failed != nil {
				return failed
			}
			_, err := c.ask([]byte(hello))
			return err
		}
	}
	m, err := settled(rounds, settle, ask(&floor), ask(&ours))
	if err != nil {
		return err
	}
	report("initialize, to an echo of the same size", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 2 x")
	return errors.Join(floor.CloseNow(), ours.CloseNow())
}

// starting is the request to start a program, under a sandbox object or null.
func (b *execBench) starting(rest, sandbox string, argv ...string) []byte {
	b.ids++
	return fmt.Appendf(nil, `{"id":%d,"method":"process/start","params":{"processId":"p%[1]d","argv":["%[2]s"],"cwd":%[3]q,"env":{},%[4]s"sandbox":%[5]s}}`,
		b.ids, strings.Join(argv, `","`), filepath.Dir(b.file), rest, sandbox)
}

// workspace is the sandbox object of a client of today, which reads all and writes the folder.
func (b *execBench) workspace() string {
	return fmt.Sprintf(`{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[`+
		`{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}]},`+
		`"network":"restricted"},"cwd":%[1]q,"workspaceRoots":[%[1]q],"windowsSandboxLevel":"disabled"}`, filepath.Dir(b.file))
}

// processes starts one at a time and waits for its close.
func (b *execBench) processes(rounds int) error {
	c, err := dialSession(b.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	run := func(sandbox string) func() error {
		return func() error {
			if err := c.say(b.starting(`"tty":false,`, sandbox, b.spawn.nop)); err != nil {
				return err
			}
			_, err := c.until(`"process/closed"`)
			return err
		}
	}
	m, err := interleaved(rounds, b.spawn.bare, run("null"), run(b.workspace()))
	if err != nil {
		return err
	}
	report("process of a static program, start to close, to a bare spawn", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 4 x")
	report("the same, under a sandbox object that writes a workspace", micros(m[0]), micros(m[2])+" = "+ratio(m[2], m[0]), "<= 12 x")
	return nil
}

// terminals sends a line through a terminal to cat and back, twice as it is: the echo and cat's.
func (b *execBench) terminals(rounds int) error {
	t, err := openTerminal("cat")
	if err != nil {
		return err
	}
	defer t.close()
	c, err := dialSession(b.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	start := b.starting(`"tty":true,`, "null", "cat")
	if _, err := c.ask(start); err != nil {
		return err
	}
	const line, back = "hello\n", "hello\r\nhello\r\n"
	request := fmt.Appendf(nil, `{"id":1,"method":"process/write","params":{"processId":"p%d","chunk":%q}}`, b.ids, base64.StdEncoding.EncodeToString([]byte(line)))
	m, err := interleaved(rounds,
		func() error { return t.echo(line, back) },
		func() error { return errors.Join(c.say(request), c.carried(back)) },
	)
	if err != nil {
		return err
	}
	report("line to a terminal and back, to a bare terminal", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 3 x")
	return nil
}

// output has a process write to a client that keeps up.
func (b *execBench) output(turns, size int) error {
	floor, err := dialWire(fmt.Sprintf("%s/send?size=%d", b.bare, size))
	if err != nil {
		return err
	}
	defer floor.CloseNow()
	c, err := dialSession(b.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	through := func(c wire, request func() []byte) func() error {
		return func() error {
			if err := c.say(request()); err != nil {
				return err
			}
			got, err := c.until(`"process/closed"`)
			if err == nil && got < size*4/3 {
				err = fmt.Errorf("%d bytes of frames came for %d of output", got, size)
			}
			return err
		}
	}
	m, err := interleaved(turns,
		through(floor, func() []byte { return []byte("go") }),
		through(c, func() []byte { return b.starting(`"tty":false,`, "null", "head", "-c", fmt.Sprint(size), "/dev/zero") }),
	)
	if err != nil {
		return err
	}
	rate := func(d time.Duration) string { return fmt.Sprintf("%.0f MiB/s", float64(size)/(1<<20)/d.Seconds()) }
	report(fmt.Sprintf("output of %d MiB, to the same frames alone", size>>20), rate(m[0]), rate(m[1])+" = "+ratio(m[0], m[1]), ">= 0.6 x")
	return nil
}

// files reads and writes 1 MiB.
func (b *execBench) files(rounds int) error {
	c, err := dialSession(b.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	content, err := os.ReadFile(b.file)
	if err != nil {
		return err
	}
	for _, what := range []struct{ name, method, path, data string }{
		{"reading", "fs/readFile", "/read", ""},
		{"writing", "fs/writeFile", "/write", fmt.Sprintf(`"dataBase64":%q,`, base64.StdEncoding.EncodeToString(content))},
	} {
		floor, err := dialWire(b.bare + what.path)
		if err != nil {
			return err
		}
		request := func(sandbox string) []byte {
			return fmt.Appendf(nil, `{"id":1,"method":%q,"params":{%s"path":%q,"sandbox":%s}}`, what.method, what.data, b.file, sandbox)
		}
		ask := func(c wire, request []byte) func() error {
			return func() error { _, err := c.ask(request); return err }
		}
		m, err := interleaved(rounds, ask(floor, request("null")), ask(c, request("null")), ask(c, request(b.workspace())))
		if err := errors.Join(err, floor.CloseNow()); err != nil {
			return err
		}
		report(what.name+" a file of 1 MiB, to bare I/O and the same frames", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 1.5 x")
		report("the same, under a sandbox object", micros(m[0]), micros(m[2])+" = "+ratio(m[2], m[0]), "<= 2 x")
	}
	return nil
}

// together starts processes with some of them in flight, here, with ours, and to tell how much
// of that is owed to a server in between, with one that does nothing else.
func (b *execBench) together(turns int) error {
	const count = 200
	c, err := dialSession(b.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	floor, err := dialWire(b.bare + "/start")
	if err != nil {
		return err
	}
	defer floor.CloseNow()
	bare := func() error {
		var all sync.WaitGroup
		var errs [togetherCalls]error
		for i := range errs {
			all.Go(func() {
				for range count / togetherCalls {
					errs[i] = errors.Join(errs[i], b.spawn.bare())
				}
			})
		}
		all.Wait()
		return errors.Join(errs[:]...)
	}
	m, err := interleaved(turns, bare, func() error { return b.startAll(c, count) }, func() error { return b.startAll(floor, count) })
	if err != nil {
		return err
	}
	rate := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", count/d.Seconds()) }
	report(fmt.Sprintf("processes started, %d in flight, to bare spawns", togetherCalls), rate(m[0]), rate(m[1])+" = "+ratio(m[0], m[1]), ">= 0.5 x")
	report("the same, by a server that checks, holds and records nothing", rate(m[0]), rate(m[2])+" = "+ratio(m[0], m[2]), "")
	return nil
}

// startAll starts so many processes, with some of them in flight, and waits for their end.
func (b *execBench) startAll(c wire, count int) error {
	for i := range count + togetherCalls {
		if i >= togetherCalls {
			if _, err := c.until(`"process/closed"`); err != nil {
				return err
			}
		}
		if i < count {
			if err := c.say(b.starting(`"tty":false,`, "null", b.spawn.nop)); err != nil {
				return err
			}
		}
	}
	return nil
}
