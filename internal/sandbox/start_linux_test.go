//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

func TestMain(m *testing.M) {
	if os.Getenv(refuseEnv) != "" {
		if err := refuseShared(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if err := ProbeAll().Release(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// A trial is one request with what it needs to be started.
type trial struct {
	request Request
	host    Host
	null    *os.File
	marker  string // the file that the command would make
}

func newTrial(t *testing.T, h Host) *trial {
	t.Helper()
	top := t.TempDir()
	for dir := top; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	program, err := FindProgram("touch", "/usr/bin:/bin", "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close(); dir.Close(); program.Close() })
	limits := durward.DefaultLimits()
	limits.AddressSpace = 1 << 30
	return &trial{
		host: h, null: null, marker: filepath.Join(top, "ran"),
		request: Request{
			Argv: []string{"touch", filepath.Join(top, "ran")}, Program: program, Dir: dir,
			Grant: durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelNone, StepDown: true, Limits: limits},
		},
	}
}

// confine has the command run at a level, where it may write its marker.
func (r *trial) confine(at durward.Level) {
	top := filepath.Dir(r.marker)
	g := &r.request.Grant
	g.Mode, g.Level, g.MinLevel, g.StepDown = durward.WorkspaceWrite, at, at, false
	g.Files = durward.Files{Read: []string{"/usr"}, Write: []string{top, durward.PrivateTmp}, Exec: []string{"/usr", top}}
	g.Network.Mode = durward.NetNone
	for _, path := range []string{"/bin", "/lib", "/lib64", "/etc/ld.so.cache"} {
		physical, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil:
		case physical != path:
			g.Files.Links = append(g.Files.Links, durward.Link{Path: path, To: physical})
		default:
			g.Files.Read = append(g.Files.Read, path)
			g.Files.Exec = append(g.Files.Exec, path)
		}
	}
	r.request.Scratch = top
}

// shell has the shell run a script.
func (r *trial) shell(t *testing.T, script string) { t.Helper(); r.program(t, "sh", "-c", script) }

// pipe makes a pipe that is closed after the test, if not before.
func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	return read, write
}

// program has another program run.
func (r *trial) program(t *testing.T, argv ...string) {
	t.Helper()
	program, err := FindProgram(argv[0], "/usr/bin:/bin", "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	r.request.Program, r.request.Argv = program, argv
}

func (r *trial) compile(t *testing.T) Plan {
	t.Helper()
	p, err := Compile(t.Context(), r.request, r.host)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tell has the reaper do what a changed plan says.
func (*trial) tell(t *testing.T, p *Plan) {
	t.Helper()
	if err := p.retell(); err != nil {
		t.Fatal(err)
	}
}

// start starts the plan and waits for its end; the error is that of the start, early
// or late.
func (r *trial) start(p Plan) error {
	proc, err := Start(context.Background(), p, r.request, Stdio{r.null, r.null, r.null}, r.host)
	if err != nil {
		return err
	}
	<-proc.Exited()
	proc.Kill()
	return errors.Join(proc.Exit().Err, proc.Close())
}

// says gives what the command prints.
func (r *trial) says(t *testing.T) string {
	t.Helper()
	said, _ := r.prints(t, false)
	return said
}

// prints gives what the command prints, its errors among it if they are wanted, and what
// was found to have changed.
func (r *trial) prints(t *testing.T, errorsToo bool) (printed string, breach error) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdio := Stdio{r.null, out, r.null}
	if errorsToo {
		stdio.Stderr = out
	}
	p, err := Start(t.Context(), r.compile(t), r.request, stdio, r.host)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	p.Kill()
	if err := errors.Join(p.Exit().Err, p.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), p.Breach()
}

func (r *trial) ran() bool {
	_, err := os.Stat(r.marker)
	return err == nil
}

// eachHost gives the host as it would be with each containment alone, with children that
// share our memory and without.
func eachHost() iter.Seq2[Containment, Host] {
	h := ProbeAll()
	return func(yield func(Containment, Host) bool) {
		for _, c := range h.Trials {
			if c.Err != nil {
				continue
			}
			for _, shared := range []error{h.SharedErr, errNotHere} {
				one := h.With(c.Containment)
				one.SharedErr = shared
				if !yield(c.Containment, one) {
					return
				}
			}
		}
	}
}

var errNotHere = errors.New("not here")

func eachTrial(t *testing.T, test func(t *testing.T, r *trial)) {
	h := ProbeAll()
	if h.best() == "" {
		t.Fatalf("no containment works: %v", h.Trials)
	}
	for _, c := range h.Trials {
		if c.Err != nil {
			t.Logf("%s is not to be had here: %v", c.Containment, c.Err)
			continue
		}
		for _, at := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
			if at == durward.LevelIsolate && c.Containment != PIDNamespace {
				continue
			}
			for _, way := range []struct{ follow, copied bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
				t.Run(fmt.Sprintf("%s/level=%d/follow=%v/copied=%v", c.Containment, at.Number(), way.follow, way.copied), func(t *testing.T) {
					r := newTrial(t, h.With(c.Containment))
					r.request.Follow = way.follow
					if way.copied {
						r.host.SharedErr = errNotHere
					}
					if at > durward.LevelNone {
						r.confine(at)
					}
					test(t, r)
				})
			}
		}
	}
}

// A plan as it is compiled runs the command, and says when its start is a slower one.
func TestPlanRuns(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		p := r.compile(t)
		if err := r.start(p); err != nil || !r.ran() {
			t.Fatalf("%v; ran: %v", err, r.ran())
		}
		if copied := r.host.SharedErr != nil; tellsOfCopy(p) != copied {
			t.Fatalf("a copy: %v, but it says\n%s\n%v", copied, p, p.Report.Weak)
		}
	})
}

// noSuchCall is a system call that every kernel answers with ENOSYS.
const noSuchCall = 4000

// Each step in turn is made to fail by the kernel. The start names it, the command
// has not run, and nothing is left. What has to do with a room is tried where the call
// builds it, where it is built to be kept, and where it is kept.
func TestEachFailingStepStopsTheStart(t *testing.T) {
	share, sources, room := func(p *Plan) *[]Call { return &p.Share }, func(p *Plan) *[]Call { return &p.Sources }, func(p *Plan) *[]Call { return &p.Room }
	enter, own := func(p *Plan) *[]Call { return &p.Enter }, func(p *Plan) *[]Call { return &p.Own }
	before, command := func(p *Plan) *[]Call { return &p.Before }, func(p *Plan) *[]Call { return &p.Command }
	eachTrial(t, func(t *testing.T, r *trial) {
		fresh := func() { r.host.rooms = &rooms{} }
		second := func() { r.host.rooms = &rooms{once: []string{r.compile(t).shape.view}} }
		steps := r.failEach(t, fresh, share, sources, room, own, before, command)
		if r.request.Grant.Level == durward.LevelIsolate && r.host.UID == 0 {
			steps += r.failEach(t, second, room)
			second()
			if err := r.start(r.compile(t)); err != nil || !r.ran() || len(r.host.rooms.kept) != 1 {
				t.Fatalf("no room is kept: %v", err)
			}
			if err := os.Remove(r.marker); err != nil {
				t.Fatal(err)
			}
			steps += r.failEach(t, func() {}, sources, enter, own, command)
			r.host.rooms.close()
		}
		if steps < 8 {
			t.Fatalf("only %d steps were tried", steps)
		}
		if left := ourChildren(t); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

// failEach makes each call of some lists fail, each in a start of its own, and counts them.
func (r *trial) failEach(t *testing.T, prepare func(), lists ...func(*Plan) *[]Call) (steps int) {
	t.Helper()
	for _, list := range lists {
		for i := range *list(new(r.compile(t))) {
			prepare()
			p := r.compile(t)
			calls := slices.Clone(*list(&p))
			calls[i].NR = noSuchCall
			*list(&p) = calls
			r.tell(t, &p)
			err := r.start(p)
			if calls[i].Allow == AnyError {
				continue
			}
			steps++
			var step *StepError
			if !errors.As(err, &step) || step.Step != calls[i].Name || step.Errno != unix.ENOSYS {
				t.Errorf("%s: %v", calls[i].Name, err)
			}
			if r.ran() {
				t.Fatalf("the command ran although %q failed", calls[i].Name)
			}
		}
	}
	return steps
}

// ourChildren lists our children but for the watchdog, dead ones included.
func ourChildren(t *testing.T) []string {
	t.Helper()
	_, others := sortChildren(t)
	return others
}

func ourWatchdogs(t *testing.T) []string {
	t.Helper()
	watchdogs, _ := sortChildren(t)
	return watchdogs
}

func sortChildren(t *testing.T) (watchdogs, others []string) {
	t.Helper()
	for _, pid := range children(os.Getpid()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		name := fmt.Sprintf("%d %q", pid, line)
		if strings.HasPrefix(string(line), "durward-watchdog") {
			watchdogs = append(watchdogs, name)
		} else {
			others = append(others, name)
		}
	}
	return watchdogs, others
}

// The plan is data: compiling twice gives the same text, and it names what happens.
func TestPlanPrints(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		text := r.compile(t).String()
		if again := r.compile(t).String(); again != text {
			t.Fatalf("two plans for one request:\n%s\n%s", text, again)
		}
		for _, want := range []string{"own session: setsid()", "umask: umask(63)", "open files: prlimit64(0, ", "execute the program: execveat("} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	})
}

// What the grant requires and level 0 does not hold is refused, unless the grant is a
// default that may step down; then the report names it.
func TestRequire(t *testing.T) {
	r := newTrial(t, Probe().WithoutMemory())
	kernel := durward.Requirement{Guarantee: durward.Kill, Kernel: true}
	for _, test := range []struct {
		name    string
		grant   durward.Grant
		refused bool
	}{
		{"kill by the kernel", durward.Grant{Require: []durward.Requirement{kernel}}, false},
		{"files", durward.Grant{Require: []durward.Requirement{{Guarantee: durward.FSWrite}}}, true},
		{"files of a default", durward.Grant{StepDown: true, Require: []durward.Requirement{{Guarantee: durward.FSWrite}}}, false},
		{"files of a default, firmly", durward.Grant{StepDown: true, Require: []durward.Requirement{{Guarantee: durward.FSWrite, Firm: true}}}, true},
		{"memory by the runtime", durward.Grant{Limits: durward.DefaultLimits(), Require: []durward.Requirement{{Guarantee: durward.Mem}}}, false},
		{"memory by the kernel", durward.Grant{Limits: durward.DefaultLimits(), Require: []durward.Requirement{{Guarantee: durward.Mem, Kernel: true}}}, true},
		{"a level that there is none of", durward.Grant{Level: durward.LevelContainer}, true},
		{"level 0, at least level 2", durward.Grant{MinLevel: durward.LevelIsolate}, true},
		{"a vouched sandbox", durward.Grant{Mode: durward.External, Require: []durward.Requirement{{Guarantee: durward.FSWrite}}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := r.request
			request.Grant = test.grant
			request.Grant.Level = max(request.Grant.Level, durward.LevelNone)
			p, err := Compile(t.Context(), request, r.host)
			if refused := durward.ReasonOf(err) == durward.SandboxUnavailable; refused != test.refused || (err != nil) != test.refused {
				t.Fatalf("%v", err)
			}
			if test.grant.StepDown && !test.refused && !slices.ContainsFunc(p.Report.Weak, func(s string) bool { return strings.HasPrefix(s, "fs.write") }) {
				t.Fatalf("the report does not name what is missing: %v", p.Report.Weak)
			}
		})
	}
}

// Who wrote a requirement that is refused is told to take it out, not to use a mode that
// does not require it by itself either.
func TestHintOfARequirement(t *testing.T) {
	r := newTrial(t, Probe().WithoutMemory())
	for _, test := range []struct {
		mode durward.Mode
		q    durward.Requirement
		want string
	}{
		{durward.DangerFullAccess, durward.Requirement{Guarantee: durward.Mem, Kernel: true}, "take mem! out of require"},
		{durward.ReadOnly, durward.Requirement{Guarantee: durward.Mem, Kernel: true}, "take mem! out of require"},
		{durward.DangerFullAccess, durward.Requirement{Guarantee: durward.FSWrite}, "take fs.write out of require"},
		{durward.WorkspaceWrite, durward.Requirement{Guarantee: durward.FSWrite}, "use a mode that does not require it"},
	} {
		request := r.request
		request.Grant = durward.Grant{Mode: test.mode, Level: durward.LevelNone, Limits: durward.DefaultLimits(), Require: []durward.Requirement{test.q}}
		_, err := Compile(t.Context(), request, r.host)
		var e *durward.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, test.want) {
			t.Errorf("%s, %s: %+v, want %q", test.mode, test.q, e, test.want)
		}
	}
}

// The kernel looks at a command before it looks at us or at the reaper, whose end would
// be everybody's.
func TestTheCommandIsKilledFirst(t *testing.T) {
	own, err := os.ReadFile(victimFile)
	if err != nil || Probe().VictimErr != nil {
		t.Logf("not to be had here: %v, %v", err, Probe().VictimErr)
		return
	}
	eachTrial(t, func(t *testing.T, r *trial) {
		modes := []durward.Mode{r.request.Grant.Mode}
		if r.request.Grant.Level == durward.LevelNone {
			modes = append(modes, durward.DangerFullAccess)
		}
		for _, mode := range modes {
			program, err := FindProgram("sh", "/usr/bin:/bin", "/")
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			said := filepath.Join(filepath.Dir(r.marker), string(mode))
			r.request.Grant.Mode, r.request.Program = mode, program
			r.request.Argv = []string{"sh", "-c", fmt.Sprintf("echo > %s; exec sleep 86400", said)}
			p, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
			if err != nil {
				t.Fatal(err)
			}
			for began := time.Now(); !exists(said) && time.Since(began) < 10*time.Second; {
				time.Sleep(time.Millisecond) // between two looks
			}
			command := p.pid
			if !p.plan.direct {
				of, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid))
				if err != nil || string(of) != string(own) {
					t.Errorf("%s: the reaper has %q, and we have %q: %v", mode, of, own, err)
				}
				if left := children(p.pid); len(left) > 0 {
					command = left[0]
				}
			}
			of, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", command))
			if err != nil || strings.TrimSpace(string(of)) != "1000" || command == p.pid && !p.plan.direct {
				t.Errorf("%s: the command has %q: %v", mode, of, err)
			}
			p.Kill()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if now, err := os.ReadFile(victimFile); err != nil || string(now) != string(own) {
			t.Errorf("we have %q now: %v", now, err)
		}
	})
}

// Where a command cannot be made the first to be killed, the report says so.
func TestNobodyCanBeMadeTheFirstToBeKilled(t *testing.T) {
	r := newTrial(t, Probe())
	r.host.VictimErr = nil
	before := r.compile(t)
	r.host.VictimErr = errors.New("read-only file system")
	p := r.compile(t)
	if len(p.Command) >= len(before.Command) || len(p.Report.Weak) != len(before.Report.Weak)+1 {
		t.Fatalf("%s\n%v", p, p.Report.Weak)
	}
	if err := r.start(p); err != nil || !r.ran() {
		t.Fatalf("%v; ran: %v", err, r.ran())
	}
}

// Without a containment nothing is run.
func TestNoContainmentNoCommand(t *testing.T) {
	r := newTrial(t, Probe())
	r.host.Trials = []Trial{{PIDNamespace, syscall.EPERM}, {Cgroup, syscall.EPERM}, {Subreaper, syscall.EPERM}}
	if _, err := Compile(t.Context(), r.request, r.host); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Fatalf("%v", err)
	}
}

// The reaper that is told to end does so even while a crowd of processes comes and
// goes, and whoever stops it is told to go on. It is stopped once it has said that the
// command runs: a start waits for that.
func TestKillIsPrompt(t *testing.T) {
	for c, h := range eachHost() {
		r := newTrial(t, h)
		r.shell(t, "read -r begin; kill -STOP $PPID; while :; do (sleep 0.001 & sleep 0.001) & sleep 0.002; done")
		r.request.Follow = true
		stdin, begin := pipe(t)
		p, err := Start(t.Context(), r.compile(t), r.request, Stdio{stdin, r.null, r.null}, r.host)
		stdin.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := begin.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		begin.Close()
		time.AfterFunc(100*time.Millisecond, p.Kill)
		select {
		case <-p.Gone():
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the tree lives on", c)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The end of a call that comes while its process is being started never reaches the
// process of a neighbour, whose descriptor may have the same number a moment later.
func TestAnEndDuringTheStartIsNobodyElses(t *testing.T) {
	t.Run("shared", func(t *testing.T) { testAnEndDuringTheStart(t, Probe().SharedErr, 700) })
	t.Run("copied", func(t *testing.T) { testAnEndDuringTheStart(t, errNotHere, 40) })
}

func testAnEndDuringTheStart(t *testing.T, shared error, rounds int) {
	r := newTrial(t, Probe())
	r.host.SharedErr = shared
	plan := r.compile(t)
	stop := make(chan struct{})
	var hasty sync.WaitGroup
	for range 4 {
		hasty.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%40)*20*time.Microsecond)
				if p, err := Start(ctx, plan, r.request, Stdio{r.null, r.null, r.null}, r.host); err == nil {
					p.Kill()
					_ = p.Close() // it was killed
				}
				cancel()
			}
		})
	}
	for range rounds {
		p, err := Start(t.Context(), plan, r.request, Stdio{r.null, r.null, r.null}, r.host)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
		if exit := p.Exit(); exit.Lost || exit.Status != 0 {
			t.Errorf("a neighbour was hit: %+v", exit)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	hasty.Wait()
}

// A command that stops its reaper before that has said that the command runs does not hold
// the start up.
func TestAStoppedReaperStarts(t *testing.T) {
	for _, h := range eachHost() {
		r := newTrial(t, h)
		r.shell(t, "kill -STOP $PPID; exec sleep 300")
		r.request.Follow = true
		for range 5 {
			p, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
			if err != nil {
				t.Fatal(err)
			}
			p.Kill()
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
