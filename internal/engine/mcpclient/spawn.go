package mcpclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/sandbox"
)

// usualPath is where programs are looked for when the environment does not say.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// A spawn is one start of a server's program: what it needs, and what it leaves.
type spawn struct {
	*server
	grant   durward.Grant
	request sandbox.Request
	plan    sandbox.Plan
	scratch string // the private directory of this run; empty when there is none

	stdin, stdout, stderr *os.File   // our ends
	theirs                []*os.File // the program's, and what is open for the start alone
}

// spawnProgram starts the program of a server. Nothing is left when it fails.
func (s *server) spawnProgram(ctx context.Context) (*spawn, *sandbox.Process, error) {
	r := &spawn{server: s}
	proc, err := r.start(ctx)
	closeAll(r.theirs)
	if err != nil {
		closeAll([]*os.File{r.stdin, r.stdout, r.stderr})
		return nil, nil, errors.Join(err, r.removeScratch())
	}
	return r, proc, nil
}

func (r *spawn) start(ctx context.Context) (*sandbox.Process, error) {
	if err := r.confine(); err != nil {
		return nil, err
	}
	if err := r.describe(); err != nil {
		return nil, err
	}
	host := sandbox.Probe()
	plan, err := sandbox.Compile(ctx, r.request, host)
	if err != nil {
		return nil, err
	}
	r.plan = plan
	if err := r.makeScratch(); err != nil {
		return nil, err
	}
	stdio, err := r.open()
	if err != nil {
		return nil, err
	}
	return sandbox.Start(ctx, plan, r.request, stdio, host)
}

// confine makes the grant that the program runs under: that of the sandbox policy which the
// configuration has for it, and else one that confines nothing.
func (r *spawn) confine() error {
	doc := &policy.Document{Mode: durward.DangerFullAccess}
	if r.config.Sandbox != nil {
		var err error
		if doc, err = policy.Parse(r.config.SandboxWhere.File, r.config.Sandbox); err != nil {
			return err
		}
	}
	lift(&doc.Limits, r.config.Sandbox == nil)
	on := machine.Host(r.engine.options.SandboxDir)
	on.Environ, on.Home = r.engine.options.Environ, r.engine.options.Environ["HOME"]
	p, err := policy.Compile(doc, on)
	if err != nil {
		return err
	}
	if r.grant = p.Grant(); r.grant.Files.CopyOnWrite {
		return &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "mcp.start", Rule: "filesystem.copyOnWrite", Hint: "leave filesystem.copyOnWrite out",
			Err: errors.New("nobody would see what a server writes to a copy"),
		}
	}
	return nil
}

// lift takes away the limits that are for a command which comes to an end, where nobody wrote
// them; and all of them where there is no sandbox.
func lift(l *durward.Limits, all bool) {
	unwritten := func(member *int64) {
		if *member == 0 {
			*member = durward.Unlimited
		}
	}
	unwritten((*int64)(&l.Wall))
	unwritten((*int64)(&l.CPU))
	unwritten(&l.OutputHard)
	if all {
		for _, member := range []*int64{&l.Memory, &l.Pids, &l.OpenFiles, &l.FileSize} {
			unwritten(member)
		}
	}
}

// describe puts the request together.
func (r *spawn) describe() error {
	env, err := r.environment()
	if err != nil {
		return err
	}
	dir := r.config.Dir
	if dir == "" {
		dir = r.engine.options.SandboxDir
	}
	opened, err := openDir(dir)
	if err != nil {
		return err
	}
	r.theirs = append(r.theirs, opened)
	program, err := sandbox.FindProgram(r.config.Command, env["PATH"], dir)
	if err != nil {
		return err
	}
	r.request = sandbox.Request{
		Argv: append([]string{r.config.Command}, r.config.Args...), Env: listed(env), PrivateEnv: r.private(env), Scratch: r.scratch,
		Program: program, Dir: opened, Grant: r.grant, HostPIDs: !r.grant.Mode.Confines(), Follow: true, Outlive: true,
	}
	return nil
}

// environment is all that the program sees of any, but for what names its private directory.
func (r *spawn) environment() (map[string]string, error) {
	o := r.engine.options
	env := maps.Clone(r.grant.Env)
	if r.config.Sandbox == nil {
		env["PATH"] = usualPath
		if path := sandbox.SearchPath(o.Environ["PATH"]); path != "" {
			env["PATH"] = path
		}
		home, err := r.home()
		if err != nil {
			return nil, err
		}
		env["HOME"] = home
	}
	env["SANDBOX_DIR"] = o.SandboxDir
	for _, name := range r.config.InheritEnv {
		if value, ok := o.Environ[name]; ok {
			env[name] = value
		}
	}
	maps.Copy(env, r.config.Env)
	path, err := r.engine.scratchDir(r.config.Name + "." + rand.Text())
	r.scratch = path
	return env, err
}

// home gives the directory of the server that outlives its runs.
func (r *spawn) home() (string, error) {
	home, err := filepath.Join(r.engine.options.HomeDir, r.config.Name), error(nil)
	if r.engine.options.HomeDir == "" {
		home, err = r.engine.scratchDir(r.config.Name)
	}
	if err != nil {
		return "", err
	}
	return home, os.MkdirAll(home, 0o700)
}

// private lists the variables that are to name the private directory of this run.
func (r *spawn) private(env map[string]string) []string {
	names := []string{"TMPDIR"}
	if r.config.Sandbox != nil {
		names = r.grant.PrivateDir
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, set := env[name]; return set })
}

func listed(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// makeScratch makes the private directory, if the plan wants it.
func (r *spawn) makeScratch() error {
	path := r.scratch
	if r.scratch = ""; !r.plan.Scratch {
		return nil
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	r.scratch = path
	return r.give(func(uid, gid int) error { return os.Lchown(path, uid, gid) })
}

func (r *spawn) removeScratch() error {
	if r.scratch == "" {
		return nil
	}
	return os.RemoveAll(r.scratch)
}

// give makes something the program's own where it runs as another user.
func (r *spawn) give(chown func(uid, gid int) error) error {
	if int(r.plan.UID) == os.Geteuid() || os.Geteuid() < 0 {
		return nil
	}
	if err := chown(int(r.plan.UID), int(r.plan.GID)); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// open makes the three streams.
func (r *spawn) open() (sandbox.Stdio, error) {
	var stdio sandbox.Stdio
	for _, s := range []struct {
		ours, theirs **os.File
		in           bool
	}{{&r.stdin, &stdio.Stdin, true}, {&r.stdout, &stdio.Stdout, false}, {&r.stderr, &stdio.Stderr, false}} {
		read, write, err := os.Pipe() // which no program inherits
		if err != nil {
			return stdio, err
		}
		*s.ours, *s.theirs = read, write
		if s.in {
			*s.ours, *s.theirs = write, read
		}
		r.theirs = append(r.theirs, *s.theirs)
		(*s.theirs).Fd() // has it block: a program does not expect its streams to say "try again"
		if err := r.give((*s.theirs).Chown); err != nil {
			return stdio, err
		}
	}
	return stdio, nil
}

// openDir opens a directory.
func openDir(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			return f, nil
		}
		f.Close()
	}
	return nil, &durward.Error{
		Reason: durward.DirUnavailable, Op: "mcp.start", Hint: "check that the directory exists", Err: fmt.Errorf("%s is no directory that can be opened", path),
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
