// Package process carries out calls that run a command on this machine.
//
// A tool of this engine reads Argv: the program and its arguments, without a shell.
// The program, or what the call names in its place, is looked up in the PATH of the grant,
// unless the tool is a [Spec]; the
// command runs in the call's directory, entered by descriptor, under the plan of package
// sandbox.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
	"github.com/durward/durward/internal/sandbox"
)

// Options configure an Engine.
type Options struct {
	// Host is what the machine can hold. Nil means sandbox.Probe.
	Host func() sandbox.Host
	// ScratchDir is where the private directories of calls are made. Empty means
	// os.TempDir().
	ScratchDir string
	// Clock reads a clock that goes on while the machine sleeps. Nil means the
	// system's own.
	Clock func() time.Duration
	// Resolver finds the addresses of the hosts that commands are allowed. Nil means the
	// system's.
	Resolver netguard.Resolver
	// Warm keeps the first process of the next call ready, for a program that runs many.
	Warm bool
	// Discreet has no answer tell whether there is a program that the grant hides: it looks
	// like a missing one. Without it the answer is what the policy lacks for it.
	Discreet bool
}

// A Spec is what a tool of this engine may hold.
type Spec interface {
	// Program is the path of what is executed in place of what Argv[0] names. That is
	// then only what the program is called, where the system tells it at all: on Linux.
	Program() string
}

// An Engine runs commands. It is safe for concurrent use.
type Engine struct {
	host     func() sandbox.Host
	clock    func() time.Duration
	scratch  *scratch
	resolver netguard.Resolver
	spares   *sandbox.Spares // nil unless calls are to find something ready
	later    sync.WaitGroup  // what no answer waits for
	discreet bool
	room     egress.Room // for the connections of all calls
}

// New makes an Engine. It is closed when no call is running any more.
func New(o Options) *Engine {
	if o.Host == nil {
		o.Host = sandbox.Probe
	}
	if o.Clock == nil {
		o.Clock = sinceBoot
	}
	e := &Engine{host: o.Host, clock: o.Clock, scratch: newScratch(o.ScratchDir), resolver: o.Resolver, discreet: o.Discreet}
	if o.Warm {
		e.spares = &sandbox.Spares{}
	}
	return e
}

// Close removes what the engine keeps for its calls.
func (e *Engine) Close() error {
	if e.spares != nil {
		e.spares.Close()
	}
	e.later.Wait()
	return e.scratch.close()
}

// Enforces lists the fields that some level can hold; whether this host has it is judged
// when a call is prepared.
func (e *Engine) Enforces() []durward.GrantField {
	return []durward.GrantField{
		durward.FieldLevel, durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldIdentity, durward.FieldLimits,
	}
}

// User says whom the commands of a grant run as in a directory: their user id and all
// their groups.
func (e *Engine) User(g durward.Grant, dir string) (uid uint32, gids []uint32, err error) {
	f, err := openDir(dir)
	if err != nil {
		return 0, nil, dirError(dir, err)
	}
	defer f.Close()
	return sandbox.UserOf(g, f)
}

// Holds says why no command of a grant can be run in a directory, nil when one can.
// Nothing is run.
func (e *Engine) Holds(ctx context.Context, g durward.Grant, dir string) error {
	f, err := openDir(dir)
	if err != nil {
		return dirError(dir, err)
	}
	defer f.Close()
	private := e.scratch.take()
	return errors.Join(sandbox.Holds(ctx, g, f, private.path, e.host()), e.scratch.give(&private))
}

// Prepare opens the directory and the program, judges them, and compiles the plan.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" && c.Program == "" {
		return nil, &durward.Error{Reason: durward.ArgvEmpty, Op: "prepare", Hint: "name a program"}
	}
	for i, arg := range c.Argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return nil, &durward.Error{Reason: durward.ArgNUL, Op: "prepare", Err: durward.Detail{ArgIndex: &i}}
		}
	}
	p := &prepared{engine: e, call: c, program: c.Argv[0], grant: g, host: e.host()}
	if s, ok := t.Spec.(Spec); ok {
		p.program = s.Program()
	} else if c.Program != "" {
		p.program = c.Program
	}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// A prepared call holds its directory and its program open.
type prepared struct {
	engine  *Engine
	call    durward.Call
	program string // as it is looked up
	grant   durward.Grant
	host    sandbox.Host
	dir     *os.File
	request sandbox.Request
	plan    sandbox.Plan
	scratch privateDir
	refused func(durward.Contact) // told of each; may be nil
}

func (p *prepared) open(ctx context.Context) error {
	path, err := filepath.Abs(p.call.Dir)
	if err != nil {
		return dirError(p.call.Dir, err)
	}
	if p.dir, err = openDir(path); err != nil {
		return dirError(path, err)
	}
	if err := p.inside(); err != nil {
		return err
	}
	p.scratch = p.engine.scratch.take()
	program, err := p.find(path)
	if err != nil {
		return err
	}
	p.request = sandbox.Request{
		Argv: p.call.Argv, Env: p.environment(), PrivateEnv: p.grant.PrivateDir, Scratch: p.scratch.path, Program: program, Dir: p.dir,
		HostPIDs: unconfined(p.grant), Grant: p.grant, Terminal: p.call.Terminal != nil, Linger: min(lingerTime, max(p.grant.Limits.Grace, 0)),
		Spares: p.engine.spares,
	}
	p.request.Outlive = p.grant.Keep == durward.KeepStream || p.grant.Keep == durward.KeepAcked
	p.request.Follow = p.request.Outlive // such a call becomes a session
	p.plan, err = sandbox.Compile(ctx, p.request, p.host)
	return err
}

// followed has the plan be one whose start is waited for and whose end is told at once, as a
// session needs it, or that of a run: then nobody outlives the command.
func (p *prepared) followed(ctx context.Context, session bool) (err error) {
	if p.request.Follow == session {
		return nil
	}
	p.request.Follow, p.request.Outlive = session, session && p.request.Outlive
	p.plan, err = sandbox.Compile(ctx, p.request, p.host)
	return err
}

// find finds the program from a directory.
func (p *prepared) find(dir string) (*sandbox.Program, error) {
	if p.engine.discreet && p.grant.Mode.Confines() {
		return sandbox.FindShown(p.program, p.searchPath(), dir, p.grant.Files)
	}
	return sandbox.FindProgram(p.program, p.searchPath(), dir)
}

// searchPath is where the program is looked for: along the PATH of its environment or, as
// execvp has it, along that of the system if there is none.
func (p *prepared) searchPath() string {
	if path, ok := p.grant.Env["PATH"]; ok {
		return path
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// unconfined reports whether a grant holds a command in nothing: then it is to see the machine
// as it is, other processes included.
func unconfined(g durward.Grant) bool {
	open := g.Mode == durward.DangerFullAccess || g.Mode == durward.External
	return open && g.Level <= durward.LevelNone && len(g.Require) == 0 && g.Limits.Pids < 0
}

// OnRefused names who is told where the command is not let.
func (p *prepared) OnRefused(tell func(to durward.Contact)) { p.refused = tell }

// Program is the physical path of the program.
func (p *prepared) Program() string { return p.request.Program.Path }

// inside judges the directory that was opened: where the grant names path sets, it
// lies in one of them.
func (p *prepared) inside() error {
	sets := slices.Concat(p.grant.Files.Read, p.grant.Files.Write)
	if len(sets) == 0 {
		return nil
	}
	path, err := fsroot.PhysicalPath(p.dir)
	if err != nil {
		return dirError(p.dir.Name(), err)
	}
	if p.grant.BeginAtRoot && path == "/" {
		return nil
	}
	for _, root := range sets {
		if _, in := fsroot.Below(root, path); in {
			return nil
		}
	}
	return &durward.Error{
		Reason: durward.DirDenied, Op: "prepare", Rule: "filesystem.read", Hint: "run it inside " + sets[0] + ", or name another --root",
		Err: fmt.Errorf("%s is outside the directories the policy names", path),
	}
}

// environment is the grant's, but for the names of the private directory.
func (p *prepared) environment() []string {
	env := make([]string, 0, len(p.grant.Env))
	for name, value := range p.grant.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// Close frees the descriptors.
func (p *prepared) Close() error {
	err := p.engine.scratch.give(&p.scratch) // where nothing was run
	if p.request.Program != nil {
		err = errors.Join(err, p.request.Program.Close())
		p.request.Program = nil
	}
	if p.dir != nil {
		err = errors.Join(err, p.dir.Close())
		p.dir = nil
	}
	return err
}

func dirError(path string, err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return &durward.Error{
		Reason: durward.DirUnavailable, Op: "open working directory", Hint: "check that the directory exists",
		Err: fmt.Errorf("%s: %w", path, err),
	}
}
