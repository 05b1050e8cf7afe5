//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward"
)

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
