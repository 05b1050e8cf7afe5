package confined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/uring"
)

// busy keeps threads of an access busy with writes until release is called, which gives
// the errors of the writes.
func busy(t *testing.T, a *Access, r *fsroot.Root, threads int) (release func() []error) {
	t.Helper()
	errs := make([]error, threads)
	var writes sync.WaitGroup
	stop := make(chan struct{})
	for i := range threads {
		running := make(chan struct{})
		o := replacing
		o.Admit = func(fsroot.Place) error { // it is asked more than once
			select {
			case <-running:
			default:
				close(running)
			}
			<-stop
			return nil
		}
		writes.Go(func() { errs[i] = a.WriteFile(context.Background(), r, fmt.Sprintf("busy%d", i), []byte("x"), o) })
		<-running
	}
	return func() []error {
		close(stop)
		writes.Wait()
		return errs
	}
}

// Operations of one policy go on at once, up to a bound, and one that waits for its turn
// may stop waiting; nothing of it is done then.
func TestTurns(t *testing.T) {
	w := newWorld(t)
	k := newKeeper(t)
	a, err := k.Under(w.grant())
	must(t, err)
	r := rootAt(t, w.work)
	release := busy(t, a, r, mostThreads-1)
	if text, err := read(t.Context(), a, r, "file"); text != harmless {
		t.Errorf("with one thread left: %q, %v", text, err)
	}
	errs := release()
	release = busy(t, a, r, mostThreads)
	cause := errors.New("no more")
	for name, cancelled := range map[string]func() (context.Context, context.CancelFunc){
		"cancelled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(t.Context())
			return ctx, func() { cancel(cause) }
		},
		"late": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), time.Millisecond)
		},
	} {
		want := map[string]durward.Reason{"cancelled": durward.CallCancelled, "late": durward.DeadlineExceeded}[name]
		ctx, cancel := cancelled()
		var calls sync.WaitGroup
		calls.Go(func() {
			_, err := read(ctx, a, r, "file")
			wantReason(t, name+" read", err, want)
			if name == "cancelled" && !errors.Is(err, cause) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
		calls.Go(func() { wantReason(t, name+" write", write(ctx, a, r, "waited"), want) })
		if name == "cancelled" {
			cancel()
		}
		calls.Wait()
		cancel()
	}
	other := w.grant()
	other.Files.Write = nil
	b, err := k.Under(other)
	must(t, err)
	if text, err := read(t.Context(), b, rootAt(t, w.readable), "file"); text != harmless {
		t.Errorf("another policy: %q, %v", text, err)
	}
	must(t, errors.Join(append(errs, release()...)...))
	if _, err := os.Lstat(w.work + "/waited"); err == nil {
		t.Error("a write that was not waited for was done")
	}
	if n := heldThreads(t); n > mostThreads+1 {
		t.Errorf("%d threads are kept", n)
	}
}

// A write that is cancelled while it goes on changes nothing, and the thread serves others.
func TestCancelledWrite(t *testing.T) {
	w := newWorld(t)
	a, r := under(t, w.grant()), rootAt(t, w.work)
	before := snapshot(t, w.top)
	ctx, cancel := context.WithCancel(t.Context())
	o := replacing
	o.Admit = func(fsroot.Place) error { cancel(); return nil }
	err := a.WriteFile(ctx, r, "new/file", make([]byte, 1<<20), o)
	wantReason(t, "write", err, durward.CallCancelled)
	unchanged(t, w.top, before)
	must(t, write(t.Context(), a, r, "new"))
}

// An operation that opens something, and whose caller leaves while it goes on, leaves no
// descriptor behind, whether there was a thread for it or not.
func TestLeftAlone(t *testing.T) {
	for _, rested := range []bool{false, true} {
		t.Run(fmt.Sprintf("a thread rests: %t", rested), func(t *testing.T) { leftAlone(t, rested) })
	}
}

func leftAlone(t *testing.T, rested bool) {
	w := newWorld(t)
	r := rootAt(t, w.work)
	before := descriptors(t)
	k := New()
	a, err := k.Under(w.grant())
	must(t, err)
	if rested {
		_, err = read(t.Context(), a, r, "file")
		must(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running, more := make(chan struct{}), make(chan struct{})
	rules := fsroot.Rules{Admit: func(fsroot.Place) error { close(running); <-more; return nil }}
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := a.OpenFile(ctx, r, "file", rules)
		wantReason(t, "open", err, durward.CallCancelled)
	})
	<-running
	cancel()
	calls.Wait() // though the operation goes on
	close(more)
	must(t, k.Close())
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// Close waits for what is running, and turns away what waits and what follows.
func TestClose(t *testing.T) {
	w := newWorld(t)
	k := New()
	a, err := k.Under(w.grant())
	must(t, err)
	r := rootAt(t, w.work)
	release := busy(t, a, r, mostThreads)
	var calls sync.WaitGroup
	calls.Go(func() {
		wantReason(t, "one that waits", write(t.Context(), a, r, "waited"), durward.ShuttingDown)
		if errs := errors.Join(release()...); errs != nil {
			t.Errorf("those that ran: %v", errs)
		}
	})
	must(t, k.Close())
	must(t, k.Close())
	calls.Wait()
	_, err = read(t.Context(), a, r, "file")
	wantReason(t, "one that follows", err, durward.ShuttingDown)
	wantReason(t, "a write that follows", write(t.Context(), a, r, "waited"), durward.ShuttingDown)
	if _, err := os.Lstat(w.work + "/waited"); err == nil {
		t.Error("it was written")
	}
	for i := range mostThreads {
		if text, err := os.ReadFile(fmt.Sprintf("%s/busy%d", w.work, i)); string(text) != "x" {
			t.Errorf("busy%d: %q, %v", i, text, err)
		}
	}
	soon(t, "no thread is left", func() bool { return heldThreads(t) == 0 })
}

// A directory of the sets that was replaced is the new one for the next operation, and
// what it was before is given no more.
func TestReplacedDirectory(t *testing.T) {
	w := newWorld(t)
	a := under(t, w.grant())
	old := rootAt(t, w.work)
	must(t, write(t.Context(), a, old, "file"))
	must(t, os.Rename(w.work, w.outside+"/old"))
	w.file(t, "work/file", harmless)
	before := snapshot(t, w.outside)
	if text, err := read(t.Context(), a, rootAt(t, w.work), "file"); text != harmless {
		t.Errorf("the new one: %q, %v", text, err)
	}
	_, err := read(t.Context(), a, old, "file")
	wantReason(t, "the old one", err, durward.OutsideRoot)
	wantReason(t, "the old one", write(t.Context(), a, old, "file"), durward.OutsideRoot)
	unchanged(t, w.outside, before)
}

// A thousand operations of many policies, at once, leave no thread or descriptor behind,
// and need few of them meanwhile.
func TestAThousand(t *testing.T) {
	w, g := project(t)
	soon(t, "the threads of other tests have ended", func() bool { return heldThreads(t) == 0 })
	r := rootAt(t, w.work)
	before := descriptors(t)
	k := New()
	var calls sync.WaitGroup
	for i := range 20 {
		g := g
		g.Files.Protect = append([]string{fmt.Sprintf("%s/protected%d", w.work, i)}, g.Files.Protect...)
		calls.Go(func() {
			a, err := k.Under(g)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 25 {
				if text, err := read(t.Context(), a, r, "file"); text != harmless {
					t.Errorf("%q, %v", text, err)
				}
				name := fmt.Sprintf("%d-%d", i, j)
				if err := a.WriteFile(t.Context(), r, name, []byte("x"), fsroot.WriteOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	if n := heldThreads(t); n > mostPools*mostThreads {
		t.Errorf("%d threads are kept", n)
	}
	must(t, k.Close())
	soon(t, "no thread is left", func() bool { return heldThreads(t) == 0 })
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// A panic of an operation is its caller's, and the thread serves others.
func TestAPanic(t *testing.T) {
	w := newWorld(t)
	a, r := under(t, w.grant()), rootAt(t, w.work)
	broken := fsroot.Rules{Admit: func(fsroot.Place) error { panic("broken") }}
	for name, f := range map[string]func(){
		"open": func() { _, _ = a.OpenFile(t.Context(), r, "file", broken) },
		"list": func() { _, _ = a.OpenDir(t.Context(), r, ".", broken) },
		"write": func() {
			_ = a.WriteFile(t.Context(), r, "new", nil, fsroot.WriteOptions{Rules: broken})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it did not come back", name)
				}
			}()
			f()
		}()
	}
	must(t, write(t.Context(), a, r, "file"))
}

// A file of which nothing has to be waited for is opened with the rights of a thread, and by
// the caller: what the rules do not give stays closed, and there is always one to say so.
func TestReady(t *testing.T) {
	w := newWorld(t)
	k := newKeeper(t)
	a, err := k.Under(w.grant())
	must(t, err)
	root := rootAt(t, w.top)
	ready := func(name string) (string, bool) {
		f, ok := k.ready(a.terms, root, name, fsroot.Rules{})
		if !ok {
			return "", false
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		must(t, err)
		return string(text), true
	}
	if _, ok := ready("work/file"); ok {
		t.Error("a file is opened before there is a thread")
	}
	_, err = readOnce(t.Context(), a, root, "work/file")
	must(t, err)
	ring, none := uring.Open()
	if none == nil {
		must(t, ring.Close())
	}
	text, ok := ready("work/file")
	for tries := 0; none == nil && !ok && tries < 1000; tries++ { // others rename something
		text, ok = ready("work/file")
	}
	if ok != (none == nil) || ok && text != harmless {
		t.Errorf("of a file that is given: %q, %t; rings: %v", text, ok, none)
	}
	must(t, os.Symlink(w.outside+"/secret", w.work+"/link"))
	must(t, unix.Mkfifo(w.work+"/fifo", 0o600))
	for _, name := range []string{"outside/secret", "work/link", "work/../outside/secret", "work/fifo", "work/sub", "work/missing"} {
		if text, ok := ready(name); ok {
			t.Errorf("%s is opened: %q", name, text)
		}
	}
	must(t, os.Rename(w.work, w.top+"/moved"))
	must(t, os.Mkdir(w.work, 0o755))
	if _, ok := ready("moved/file"); ok {
		t.Error("what the rules were made for is opened where the grant does not give it any more")
	}
}
