//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/sandbox"
)

// spawns compares each level with a bare spawn of the same program, with a small heap
// and with 512 MiB of it resident.
func spawns(rounds int, quick bool) error {
	s, done, err := newSpawner()
	if err != nil {
		return err
	}
	defer done()
	s.host = sandbox.ProbeAll()
	if err := s.measure(rounds, "small heap"); err != nil {
		return err
	}
	heap := make([]byte, 512<<20)
	for i := 0; i < len(heap); i += 4096 {
		heap[i] = 1
	}
	err = s.measure(rounds, "512 MiB resident")
	heap[0] = 2
	return err
}

type spawner struct {
	nop  string
	null *os.File
	host sandbox.Host
}

// newSpawner gives one with a folder of its own, which holds the program and can be entered
// by everybody. done removes it.
func newSpawner() (s spawner, done func(), err error) {
	dir, err := os.MkdirTemp("", "durward-bench-")
	if err != nil {
		return s, nil, err
	}
	done = func() {
		os.RemoveAll(dir)
		if s.null != nil {
			s.null.Close()
		}
	}
	if err = os.Chmod(dir, 0o755); err == nil {
		s.nop, err = writeNop(dir)
	}
	if err == nil {
		s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	}
	if err != nil {
		done()
	}
	return s, done, err
}

// measure compares each containment with the bare spawn. The first row of it is level
// 0 as its own mode has it: the runtime's own user. The second adds a limit on memory,
// which a cgroup holds where one can be had. The third changes the user and limits the
// number of processes, which takes a user namespace.
func (s spawner) measure(rounds int, heap string) error {
	wide := durward.Grant{Mode: durward.DangerFullAccess, Limits: durward.DefaultLimits()}
	other := durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelNone, StepDown: true, Limits: durward.DefaultLimits()}
	wide.Limits.Memory, other.Limits.Memory = durward.Unlimited, durward.Unlimited
	bounded := wide
	bounded.Limits.Memory = durward.DefaultLimits().Memory
	names, bars, funcs := []string{"bare"}, []string{""}, []func() error{s.bare}
	var warm []*sandbox.Spares
	settle := func() {
		for _, spares := range warm {
			spares.Settle()
		}
	}
	add := func(name, bar string, g durward.Grant, h sandbox.Host, spares *sandbox.Spares) error {
		run, err := s.spawn(g, h, spares)
		names, bars, funcs = append(names, name), append(bars, bar), append(funcs, run)
		return err
	}
	for _, t := range s.host.Trials {
		if t.Err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s is not measured: %v\n", t.Containment, t.Err)
			continue
		}
		host := s.host.With(t.Containment)
		var err error
		switch t.Containment {
		case sandbox.PIDNamespace:
			err = errors.Join(add("level-0 spawn, PID namespace and reaper", "<= 3 x", wide, host, nil),
				add("level-0 spawn, the same, with a memory limit", "", bounded, host, nil),
				add("level-0 spawn, the same, another user, process limit", "", other, host, nil))
		case sandbox.Cgroup:
			err = errors.Join(add("level-0 spawn, no namespace, cgroup", "<= 1.8 x", wide, host, nil),
				add("level-0 spawn, the same, with a memory limit", "", bounded, host, nil))
		case sandbox.Subreaper:
			err = add("level-0 spawn, no namespace, subreaper", "", wide, host, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, l := range []struct {
		name, bar string
		warm      string // the bar where the first process is ready, or empty
		level     durward.Level
		network   durward.Network
	}{
		{"level-1 spawn", "<= 3.5 x", "<= 3.5 x", durward.LevelRestrict, durward.Network{Mode: durward.NetNone}},
		{"level-2 spawn, no network, in a namespace that is kept", "<= 5 x", "<= 3 x", durward.LevelIsolate, durward.Network{Mode: durward.NetNone}},
		{"level-2 spawn, loopback, in a new network namespace", "<= 8 x", "<= 3 x", durward.LevelIsolate, durward.Network{Mode: durward.NetLoopback}},
		{"level-2 spawn, the machine's network", "<= 5 x", "<= 3 x", durward.LevelIsolate, durward.Network{Mode: durward.NetFull}},
		{"level-2 spawn, an allowlist, its listeners handed out", "<= 9 x", "", durward.LevelIsolate, durward.Network{
			Mode: durward.NetAllowlist, Allow: []string{"db.example:5432", "*.example.org:443"},
		}},
	} {
		g, err := s.confined(l.level, l.network)
		if err != nil {
			return err
		}
		if err := add(l.name, l.bar, g, s.host, nil); err != nil {
			return err
		}
		if l.warm == "" {
			continue
		}
		spares := &sandbox.Spares{}
		defer spares.Close()
		warm = append(warm, spares)
		if err := add(l.name+", warm", l.warm, g, s.host, spares); err != nil {
			return err
		}
	}
	written := len(funcs)
	for _, w := range []struct {
		name string
		cow  bool
	}{{"level-2 spawn, the folder written", false}, {"level-2 spawn, a copy of the folder written", true}} {
		g, err := s.writing(w.cow)
		if err != nil {
			return err
		}
		if err := add(w.name, "", g, s.host, nil); err != nil {
			return err
		}
	}
	names, bars, funcs = append(names, "bwrap with all it has, for scale"), append(bars, ">= 4 x level 2"), append(funcs, s.bubblewrap)
	m, err := settled(rounds, settle, funcs...)
	if err != nil {
		return err
	}
	for i := 1; i < len(m); i++ {
		report(names[i]+", "+heap, micros(m[0]), micros(m[i])+" = "+ratio(m[i], m[0]), bars[i])
	}
	extra := m[written+1] - m[written]
	report("copyOnWrite, extra, "+heap, micros(m[0]), micros(extra)+" = "+ratio(extra, m[0]), "<= 1.5 x")
	return nil
}

// writing is the grant of the built-in policy at level 2 to write the folder of the program,
// or a copy of it. Nothing is protected: the kernel takes milliseconds to stop watching what
// is missing, in which the copy would be lost.
func (s spawner) writing(cow bool) (durward.Grant, error) {
	dir := filepath.Dir(s.nop)
	flags := policy.Flags{Level: durward.LevelIsolate, CopyOnWrite: cow}
	if !cow {
		flags.Write = []string{dir}
	}
	p, err := policy.Default(machine.Host(dir), flags)
	if err != nil {
		return durward.Grant{}, err
	}
	g := p.Grant()
	g.Limits.Memory, g.Files.Protect = durward.Unlimited, nil
	return g, nil
}

// confined is the grant of the built-in policy at a level, in the folder of the program.
func (s spawner) confined(at durward.Level, network durward.Network) (durward.Grant, error) {
	p, err := policy.Default(machine.Host(filepath.Dir(s.nop)), policy.Flags{Level: at})
	if err != nil {
		return durward.Grant{}, err
	}
	g := p.Grant()
	g.Network = network
	g.Limits.Memory = durward.Unlimited
	return g, nil
}

// bare is the floor: the runtime's own spawn of the same program.
func (s spawner) bare() error {
	fd := s.null.Fd()
	pid, err := syscall.ForkExec(s.nop, []string{s.nop}, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd}})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err = syscall.Wait4(pid, &status, 0, nil)
	return err
}

// bubblewrap runs the program in the sandbox of that name, with what level 2 gives: new
// namespaces, a private root, and no capabilities.
func (s spawner) bubblewrap() error {
	dir := filepath.Dir(s.nop)
	cmd := exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", dir, dir, "--chdir", dir, s.nop)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("bwrap: %w: %s", err, out)
	}
	return nil
}

// spawn prepares a call once and gives a function that spawns it, waits for its end
// and frees it.
func (s spawner) spawn(g durward.Grant, h sandbox.Host, spares *sandbox.Spares) (func() error, error) {
	dir, err := os.Open(filepath.Dir(s.nop))
	if err != nil {
		return nil, err
	}
	program, err := sandbox.FindProgram(s.nop, "", "/")
	if err != nil {
		return nil, err
	}
	r := sandbox.Request{Argv: []string{s.nop}, Program: program, Dir: dir, Grant: g, Scratch: filepath.Dir(s.nop), Spares: spares}
	plan, err := sandbox.Compile(context.Background(), r, h)
	stdio := sandbox.Stdio{Stdin: s.null, Stdout: s.null, Stderr: s.null}
	return func() error {
		p, err := sandbox.Start(context.Background(), plan, r, stdio, h)
		if err != nil {
			return err
		}
		<-p.Exited()
		p.Kill()
		copies := p.Copies()
		if len(copies) > 0 {
			<-p.Gone()
		}
		err = p.Exit().Err
		for _, c := range copies {
			err = errors.Join(err, c.Close())
		}
		return errors.Join(err, p.Close())
	}, err
}
