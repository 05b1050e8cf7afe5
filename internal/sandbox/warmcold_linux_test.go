//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
)

// everythingSeen prints what a command can see of how it was started.
const everythingSeen = `
exec 2>&1
echo "argv0=$0 args=$*"; pwd; ls -di .; umask; ulimit -a; ulimit -aH; nice; tty; env | sort
grep -vE '^(State|SigBlk|Vm|Rss|Hugetlb|voluntary|nonvoluntary|Cpus|Mems|Ngid|Stk|Pid|Tgid|PPid|NSp|NStgid|NSsid|Speculation|SigQ)' /proc/$$/status
grep -E '^SigQ' /proc/$$/status | cut -d/ -f2
cut -d' ' -f2,4-8,18,19,40,41 /proc/$$/stat
grep -v :memory: /proc/$$/cgroup
cat /proc/$$/limits /proc/$$/oom_score_adj /proc/$$/timerslack_ns /proc/$$/uid_map /proc/$$/comm
tr '\0' ' ' < /proc/$$/cmdline; echo; readlink /proc/$$/exe /proc/$$/cwd /proc/$$/root
for f in /proc/$$/fd/*; do case $(readlink $f) in pipe*) echo $f pipe;; *) echo $f $(readlink $f);; esac; done
cut -d' ' -f4- /proc/$$/mountinfo | sed 's/ shared:[0-9]*//; s/ master:[0-9]*//' | sort
ls -la / /dev /tmp /dev/pts | sed 's/  */ /g; s/ [A-Z][a-z][a-z] [0-9]* [0-9][0-9]:[0-9][0-9] / /; s/^\(d[^ ]*\) [0-9]*/\1/'
hostname; cat /proc/sysvipc/*; cut -d: -f1 /proc/net/dev; echo $$ $PPID
taskset -p $$; chrt -p $$ ; ionice -p $$
echo end
`

// A seen call is all that its caller learns, but for the times.
type seen struct {
	printed, failed, reason string
	status                  syscall.WaitStatus
	lost                    bool
}

func (c seen) String() string {
	return fmt.Sprintf("failed %q (%s), status %#x, lost %v\n%s", c.failed, c.reason, uint32(c.status), c.lost, c.printed)
}

// sees runs the command, on a terminal if it is to have one.
func (r *trial) sees(t *testing.T) (c seen) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdio := Stdio{r.null, in, in}
	plan, err := Compile(t.Context(), r.request, r.host)
	if err != nil {
		in.Close()
		out.Close()
		return seen{failed: err.Error(), reason: string(durward.ReasonOf(err))}
	}
	if r.request.Terminal {
		in.Close()
		out.Close()
		var slave *os.File
		if out, slave, err = OpenTerminal(durward.WindowSize{Rows: 24, Cols: 80}, plan.UID); err != nil {
			t.Fatal(err)
		}
		in, stdio = slave, Stdio{slave, slave, slave}
	}
	read := make(chan string)
	go func() { text, _ := io.ReadAll(out); read <- string(text) }()
	p, err := Start(t.Context(), plan, r.request, stdio, r.host)
	if err == nil {
		select {
		case <-p.Exited():
		case <-time.After(20 * time.Second):
			t.Error("it hangs")
		}
		p.Kill()
		err = p.Close()
		exit := p.Exit()
		if exit.Err != nil {
			err = exit.Err
		}
		c.status, c.lost = exit.Status, exit.Lost
	}
	in.Close()
	if err != nil {
		c.failed, c.reason = err.Error(), string(durward.ReasonOf(err))
	}
	c.printed = <-read
	out.Close()
	return c
}

// A command that finds its process ready sees what it would without, and so does its
// caller: each case is run without spares and with one.
func TestWarmIsAsCold(t *testing.T) {
	type change = func(t *testing.T, r *trial, dir string)
	file := func(text string, mode os.FileMode) change {
		return func(t *testing.T, r *trial, dir string) {
			path := filepath.Join(dir, "program")
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			program, err := FindProgram(path, "/usr/bin:/bin", "/")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { program.Close() })
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			r.request.Program, r.request.Argv = program, []string{"its name", "a", ""}
		}
	}
	sh := func(script string, more ...string) change {
		return func(t *testing.T, r *trial, _ string) {
			r.shell(t, script)
			r.request.Argv = append(r.request.Argv, more...)
		}
	}
	all := func(list ...change) change {
		return func(t *testing.T, r *trial, dir string) {
			for _, c := range list {
				c(t, r, dir)
			}
		}
	}
	limits := func(set func(*durward.Limits)) change {
		return func(_ *testing.T, r *trial, _ string) { set(&r.request.Grant.Limits) }
	}
	terminal := func(_ *testing.T, r *trial, _ string) { r.request.Terminal, r.request.Follow = true, true }
	cases := map[string]change{
		"everything":         sh(everythingSeen, "name", "a", "", "b c"),
		"everything, no mem": all(sh(everythingSeen, "name"), limits(func(l *durward.Limits) { l.Memory = 0 })),
		"everything, limits": all(sh(everythingSeen, "name"), limits(func(l *durward.Limits) { l.Pids, l.OpenFiles, l.FileSize, l.CPU = 20, 17, 4096, 1500*time.Millisecond })),
		"a terminal":         all(sh(everythingSeen+"\nps -o pid,ppid,pgid,sid,tpgid,tty; stty -a; echo hi > /dev/tty", "name"), terminal),
		"a background job":   all(sh("set -m; (sleep 0.1; echo bg; stty tostop; sh -c 'echo x'; kill -9 $$) & wait; echo end"), terminal),
		"directory 0100":     inDirectory(0o100),
		"directory 0700":     inDirectory(0o700),
		"directory 0755":     inDirectory(0o755),
		"directory 0744":     inDirectory(0o744),
		"directory 0711":     inDirectory(0o711),
		"not a program":      file("\x7fELFnothing", 0o755),
		"no magic":           file("echo hello\n", 0o755),
		"empty":              file("", 0o755),
		"script":             file("#!/bin/sh\necho \"$0|$1|$#\"; cat /proc/$$/comm; exit 7\n", 0o755),
		"script, env":        file("#!/usr/bin/env sh\necho \"$0|$1|$#\"\n", 0o755),
		"script, none":       file("#!/no/such\n", 0o755),
		"script 0644":        file("#!/bin/sh\n", 0o644),
		"script 0700":        file("#!/bin/sh\necho ran\n", 0o700),
		"script 0711":        file("#!/bin/sh\necho ran\n", 0o711),
		"file limit":         all(sh(`head -c 9000 /dev/zero > f; echo $?`), limits(func(l *durward.Limits) { l.FileSize = 4096 })),
		"little space":       all(sh(`echo hi`), limits(func(l *durward.Limits) { l.AddressSpace = 100 << 10 })),
		"few files":          all(sh(`echo hi`), limits(func(l *durward.Limits) { l.OpenFiles = 3 })),
		"15 KiB":             sh(`echo ${#1}`, "n", strings.Repeat("x", 15<<10)),
		"17 KiB":             sh(`echo ${#1}`, "n", strings.Repeat("x", 17<<10)),
		"100 KiB":            sh(`echo ${#1}`, "n", strings.Repeat("x", 100<<10)),
		"200 KiB in one":     sh(`echo ${#1}`, "n", strings.Repeat("x", 200<<10)),
		"3 MiB":              sh(`echo ${#1}`, append([]string{"n"}, strings.Split(strings.Repeat(strings.Repeat("x", 30<<10)+" ", 100), " ")...)...),
		"many":               sh(`echo $#`, append([]string{"n"}, strings.Split(strings.Repeat(" ", 1500), " ")...)...),
		"TERM":               sh("kill -TERM $$; sleep 5"),
		"KILL":               sh("kill -KILL $$; sleep 5"),
		"SEGV":               sh("kill -SEGV $$; sleep 5"),
		"ABRT":               sh("kill -ABRT $$; sleep 5"),
		"left behind":        sh("sleep 30 & exit 4"),
		"deaf left behind":   sh("(trap '' TERM; setsid sleep 30) & exit 4"),
		"no argv":            func(t *testing.T, r *trial, _ string) { r.program(t, "true"); r.request.Argv = []string{""} },
		"loopback":           all(sh(everythingSeen, "x"), func(_ *testing.T, r *trial, _ string) { r.request.Grant.Network.Mode = durward.NetLoopback }),
		"full":               all(sh(everythingSeen, "x"), func(_ *testing.T, r *trial, _ string) { r.request.Grant.Network.Mode = durward.NetFull }),
		"identity keep, all": all(sh(everythingSeen, "x"), func(_ *testing.T, r *trial, _ string) { r.request.Grant.Identity.Keep = true }),
	}
	warmAsCold(t, cases)
}

// inDirectory has the command begin in a directory of a mode.
func inDirectory(mode os.FileMode) func(*testing.T, *trial, string) {
	return func(t *testing.T, r *trial, dir string) {
		sub := filepath.Join(dir, "sub")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(sub)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close(); _ = os.Chmod(sub, 0o700) })
		if err := os.Chmod(sub, mode); err != nil {
			t.Fatal(err)
		}
		r.request.Dir = f
		r.shell(t, `echo "in $(pwd)"; cd sub 2>&1; ls -la 2>&1 | wc -l; exit 3`)
	}
}

// warmAsCold runs each call without spares and with one.
func warmAsCold(t *testing.T, cases map[string]func(*testing.T, *trial, string)) {
	for name, change := range cases {
		for _, follow := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,follow=%v", name, follow), func(t *testing.T) {
				r := isolated(t)
				r.request.Env = []string{"PATH=/usr/bin:/bin", "X=y z"}
				r.request.Follow, r.request.Linger = follow, 50*time.Millisecond
				change(t, r, filepath.Dir(r.marker))
				if r.request.Grant.Limits.Memory > 0 && r.compile(t).shape.memory == memoryCgroup2 {
					r.host = r.host.WithoutMemory()
				}
				r.sees(t)
				cold := r.sees(t) // now with a room that is kept
				r.request.Spares = &Spares{}
				defer r.request.Spares.Close()
				key := r.compile(t).key
				for i := range 2 {
					n := r.request.Spares.waiting(key)
					if n == 0 && i > 0 {
						t.Logf("call %d finds nothing ready", i)
					}
					if now := r.sees(t); now != cold {
						t.Errorf("call %d, %d ready: %s", i, n, diff(cold.String(), now.String()))
					}
					r.request.Spares.Settle()
				}
			})
		}
	}
}

// diff lists the lines that only one has.
func diff(a, b string) string {
	var out strings.Builder
	count := map[string]int{}
	for line := range strings.Lines(a) {
		count[line]++
	}
	for line := range strings.Lines(b) {
		count[line]--
	}
	for _, text := range []string{a, b} {
		for line := range strings.Lines(text) {
			if count[line] > 0 {
				fmt.Fprintf(&out, "cold %s\n", strings.TrimSpace(line))
				count[line]--
			} else if count[line] < 0 {
				fmt.Fprintf(&out, "warm %s\n", strings.TrimSpace(line))
				count[line]++
			}
		}
	}
	return out.String()
}
