package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/engine/process"
)

func run(t *testing.T, s coretest.Subject, c durward.Call) (durward.Result, error) {
	t.Helper()
	c.CommandID, c.Arrived = c.Argv[0], time.Now()
	p, err := s.Engine.Prepare(t.Context(), s.Tool, c, s.Grant)
	if err != nil {
		return durward.Result{}, err
	}
	defer func() { must(t, p.Close()) }()
	return p.Run(t.Context())
}

// A command begins where its rule says, by the directory that was found.
func TestWorkingDirectories(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for d := root; d != filepath.Dir(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o1777))
	}
	other := filepath.Join(root, "other")
	must(t, os.Mkdir(other, 0o755))
	must(t, os.WriteFile(root+"/file", nil, 0o644))
	must(t, os.Symlink(other, root+"/link"))
	must(t, os.Symlink("/usr", root+"/out"))
	within, fixed, none := Directory{Within: true}, Directory{Fixed: other}, Directory{}
	first, err := filepath.EvalSymlinks(os.TempDir())
	must(t, err)
	for _, tt := range []struct {
		rule   Directory
		asked  string
		begins string
		reason durward.Reason
	}{
		{within, "", first, ""},
		{within, other, other, ""},
		{within, root + "/link", other, ""},
		{within, other + "/../other", other, ""},
		{within, "/usr", "", durward.DirDenied},
		{within, root + "/out", "", durward.DirDenied},
		{within, "/nowhere", "", durward.DirDenied},
		{within, root + "/file", "", durward.DirUnavailable},
		{within, root + "/missing", "", durward.FileNotFound},
		{fixed, "", other, ""},
		{fixed, other, other, ""},
		{fixed, root + "/link", other, ""},
		{fixed, root, "", durward.DirNotAllowed},
		{fixed, "/usr", "", durward.DirNotAllowed},
		{fixed, "/nowhere", "", durward.DirNotAllowed},
		{Directory{Fixed: root + "/link"}, "", "", durward.DirUnavailable}, // it has come to its place
		{Directory{Fixed: "/"}, "", "/", ""},
		{none, "", "/", ""},
		{none, "/", "", durward.DirNotAllowed},
		{none, other, "", durward.DirNotAllowed},
	} {
		s := newSubject(t, func(c *Command) { c.Dir = tt.rule })
		r, err := run(t, s, durward.Call{Argv: []string{"pwd", "-P"}, Dir: tt.asked})
		if durward.ReasonOf(err) != tt.reason || err == nil && string(r.Stdout.Bytes()) != tt.begins+"\n" {
			t.Errorf("%+v, %q: %q, %v; want %q, %q", tt.rule, tt.asked, r.Stdout.Bytes(), err, tt.begins, tt.reason)
		}
	}
}

// Arguments are judged from the working directory, before anything runs, and go behind the
// fixed ones.
func TestArguments(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	marker := filepath.Join(root, "ran")
	refused := errors.New("refused")
	var scoped []error
	s := newSubject(t, func(c *Command) {
		c.Judge = func(args []string, scope func(string) error) error {
			for _, a := range args {
				scoped = append(scoped, scope(a))
			}
			if len(args) == 2 {
				return refused
			}
			return nil
		}
		c.Argv = func(args []string) []string { return append([]string{"fixed"}, args...) }
	})
	if _, err := run(t, s, durward.Call{Argv: []string{"touch", marker, "/etc/passwd"}}); !errors.Is(err, refused) {
		t.Errorf("the command gives %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it ran")
	}
	if len(scoped) != 2 || scoped[0] != nil || durward.ReasonOf(scoped[1]) != durward.ArgOutsideRoots {
		t.Errorf("the scope says %v", scoped)
	}
	r, err := run(t, s, durward.Call{Argv: []string{"echo", "asked"}})
	if err != nil || string(r.Stdout.Bytes()) != "fixed asked\n" {
		t.Errorf("%q, %v", r.Stdout.Bytes(), err)
	}
	if _, err := run(t, s, durward.Call{Argv: []string{"no such command"}}); durward.ReasonOf(err) != durward.CommandUnknown {
		t.Errorf("an unknown one gives %v", err)
	}
}

// The program is that of the command, whatever its name leads to, and goes by the name.
func TestTheProgramIsNotLookedUpByItsName(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	name := filepath.Join(root, "name")
	must(t, os.Symlink("/bin/false", name))
	s := newSubject(t, func(c *Command) { c.Name = name })
	r, err := run(t, s, durward.Call{Argv: []string{"sh", "-c", "echo $0"}})
	if err != nil || string(r.Stdout.Bytes()) != name+"\n" {
		t.Errorf("%q, %v", r.Stdout.Bytes(), err)
	}
	var _ process.Spec = program("")
}

// The time of a command counts from its slot, the shorter of two limits holds, and a wait
// for a slot is bounded by the same. Nothing is left of what ran out of time.
func TestTime(t *testing.T) {
	for _, tt := range []struct{ own, asked time.Duration }{{200 * time.Millisecond, 0}, {time.Minute, 200 * time.Millisecond}, {200 * time.Millisecond, time.Minute}} {
		s := newSubject(t, func(c *Command) { c.Timeout = tt.own })
		call := durward.Call{Argv: []string{"sleep", "1000"}}
		call.Ask.Limits.Wall = tt.asked
		r, err := run(t, s, call)
		if durward.ReasonOf(err) != durward.DeadlineExceeded || durward.OutcomeOf(r, err) != durward.OutcomeTimeout {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestSlots(t *testing.T) {
	timeout := 100 * time.Millisecond
	s := newSubject(t, func(c *Command) { c.Timeout = timeout })
	spec := s.Tool.Spec.(Spec)
	spec.Slots = NewSlots(1)
	s.Tool.Spec = spec
	must(t, spec.Slots.take(t.Context(), time.Now()))
	marker := filepath.Join(t.TempDir(), "ran")
	_, err := run(t, s, durward.Call{Argv: []string{"touch", marker}})
	if e := durward.AsError(err); e == nil || e.Reason != durward.DeadlineExceeded || e.Rule != "concurrency" {
		t.Errorf("without a slot: %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it ran without a slot")
	}
	prepared, err := s.Engine.Prepare(t.Context(), s.Tool, durward.Call{Argv: []string{"touch", marker}, CommandID: "touch", Arrived: time.Now()}, s.Grant)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := prepared.Run(ctx); durward.KindOf(err) != durward.Cancelled {
		t.Errorf("cancelled while it waits: %v", err)
	}
	must(t, prepared.Close())
	spec.Slots.release()
	timeout = time.Minute
	if r, err := run(t, s, durward.Call{Argv: []string{"echo", "there"}}); err != nil || string(r.Stdout.Bytes()) != "there\n" {
		t.Errorf("with a slot: %q, %v", r.Stdout.Bytes(), err)
	}
	if spec.Slots.free != 1 || len(spec.Slots.waiting) != 0 {
		t.Errorf("%d slots are free and %d calls wait; one was given back", spec.Slots.free, len(spec.Slots.waiting))
	}
}

// Whoever arrived first is next, in whatever order calls come to the queue; who stops waiting
// holds up nobody.
func TestSlotsGoByArrival(t *testing.T) {
	const n = 20
	slots, began := NewSlots(1), time.Now()
	must(t, slots.take(t.Context(), began))
	turns := make(chan int)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, i := range rand.Perm(n) {
		all.Go(func() {
			who := t.Context()
			if i%5 == 0 {
				who = ctx
			}
			if err := slots.take(who, began.Add(time.Duration(i/2))); err == nil {
				turns <- i
				slots.release()
			}
		})
	}
	waitUntil(t, func() bool { return slots.queued() == n })
	cancel()
	waitUntil(t, func() bool { return slots.queued() == n-n/5 })
	slots.release()
	last := 0
	for range n - n/5 {
		i := <-turns
		if i%5 == 0 || i/2 < last/2 {
			t.Errorf("%d comes after %d", i, last)
		}
		last = i
	}
	all.Wait()
	if slots.free != 1 {
		t.Errorf("%d slots are free", slots.free)
	}
}

// Who is expected is next, though others are there before; who does not come is passed over.
func TestSlotsWaitForWhoIsExpected(t *testing.T) {
	slots, began := NewSlots(1), time.Now()
	given := func(w *waiter) bool {
		select {
		case <-w.turn:
			return true
		default:
			return false
		}
	}
	slots.Expect(began)
	forget := slots.Expect(began)
	slots.Expect(began.Add(1))
	third := slots.join(began.Add(1))
	unexpected := slots.join(began.Add(2))
	if given(third) || given(unexpected) {
		t.Fatal("a slot went to somebody behind who is expected")
	}
	if first := slots.join(began); !given(first) || given(third) {
		t.Fatal("the first is there, and the slot is free")
	}
	slots.release()
	if given(third) || given(unexpected) {
		t.Fatal("the second is still expected")
	}
	forget()
	if !given(third) || given(unexpected) {
		t.Error("the second does not come any more")
	}
	slots.release()
	if !given(unexpected) || slots.free != 0 || len(slots.waiting) != 0 {
		t.Error("nobody is left but the last")
	}
}

// There can be more of them from one moment to the next, or fewer as commands end.
func TestSlotsCanBeMoreOrFewer(t *testing.T) {
	slots, began := NewSlots(2), time.Now()
	must(t, slots.take(t.Context(), began))
	must(t, slots.take(t.Context(), began))
	slots.Resize(1)
	next := slots.join(began)
	slots.release()
	select {
	case <-next.turn:
		t.Fatal("one runs, there is one slot, and another one began")
	default:
	}
	slots.Resize(2)
	<-next.turn
	slots.release()
	slots.release()
	if slots.free != 2 {
		t.Errorf("%d slots are free", slots.free)
	}
}

func (s *Slots) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// waitUntil looks again and again until something is so.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for !is() {
		if t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
		runtime.Gosched()
	}
}

// A tool of another engine, and a call without a command, are mistakes and no panics.
func TestMistakes(t *testing.T) {
	s := newSubject(t, nil)
	for what, refused := range map[string]func() (core.Prepared, error){
		"another spec": func() (core.Prepared, error) {
			return s.Engine.Prepare(t.Context(), durward.Tool{ID: "x"}, durward.Call{Argv: []string{"true"}}, s.Grant)
		},
		"no argv": func() (core.Prepared, error) { return s.Engine.Prepare(t.Context(), s.Tool, durward.Call{}, s.Grant) },
	} {
		if p, err := refused(); p != nil || err == nil || strings.Contains(fmt.Sprint(err), "panic") {
			t.Errorf("%s: %v, %v", what, p, err)
		}
	}
}
