package landlock

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/sandbox/uring"
)

func openedThread(t *testing.T, r Rules) *Thread {
	t.Helper()
	thread, err := OpenThread(r)
	must(t, err)
	t.Cleanup(func() { must(t, thread.Close()) })
	return thread
}

// What a function does on the thread is held to the rules; what others do meanwhile is
// not, goroutines that the function starts among them.
func TestAThreadIsHeld(t *testing.T) {
	w := newWorld(t)
	thread := openedThread(t, w.rules(t))
	before := w.outside(t)
	do := func(f func() error) error { return thread.Do(t.Context(), f) }
	for name, f := range map[string]func() error{
		"read":   func() error { return read(w.Inside + "/file") },
		"create": func() error { return write(w.Inside+"/new", os.O_CREATE) },
		"rename": func() error { return os.Rename(w.Inside+"/a/file", w.Inside+"/b/file") },
	} {
		if err := do(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	outside := open(t, w.Outside)
	for name, f := range map[string]func() error{
		"read":        func() error { return read(w.Outside + "/secret") },
		"dots":        func() error { return read(w.Inside + "/../outside/secret") },
		"link":        func() error { return read(w.Inside + "/link") },
		"proc root":   func() error { return read("/proc/self/root" + w.Outside + "/secret") },
		"thread root": func() error { return read("/proc/thread-self/root" + w.Outside + "/secret") },
		"list":        func() error { return list(w.Outside) },
		"create":      func() error { return write(w.Outside+"/new", os.O_CREATE) },
		"truncate":    func() error { return unix.Truncate(w.Outside+"/victim", 0) },
		"remove":      func() error { return unix.Unlink(w.Outside + "/victim") },
		"execute":     func() error { return execute(w.Outside + "/program") },
		"beneath": func() error {
			_, err := unix.Openat(int(outside.Fd()), "secret", unix.O_RDONLY, 0)
			return err
		},
	} {
		if err := do(f); !errors.Is(err, unix.EACCES) {
			t.Errorf("%s outside: %v", name, err)
		}
		if err := read(w.Outside + "/secret"); err != nil {
			t.Errorf("everybody else is held, too: %v", err)
		}
	}
	if after := w.outside(t); after != before {
		t.Errorf("the outside has changed:\n%s\nwas\n%s", after, before)
	}
	err := do(func() error {
		other := make(chan error)
		go func() { other <- read(w.Outside + "/secret") }()
		return <-other
	})
	if err != nil {
		t.Errorf("a goroutine of the function: %v", err)
	}
}

// A program that a function starts is held to the rules.
func TestAThreadsChildrenAreHeld(t *testing.T) {
	w := newWorld(t)
	thread := openedThread(t, w.rules(t))
	if err := thread.Do(t.Context(), func() error { return execute(w.Execute + "/self") }); err != nil {
		t.Errorf("execute: %v", err)
	}
	cat, err := filepath.EvalSymlinks("/bin/cat")
	must(t, err)
	for file, passes := range map[string]bool{w.Readable + "/file": true, w.Outside + "/secret": false} {
		err := thread.Do(t.Context(), func() error { return exec.Command(cat, file).Run() })
		if (err == nil) != passes {
			t.Errorf("cat %s: %v", file, err)
		}
	}
}

// The process has exactly the threads that are held held, whatever threads Go makes
// meanwhile, and when they are closed none.
func TestOnlyThreadsAreHeld(t *testing.T) {
	w := newWorld(t)
	soon(t, "those of other tests have ended", func() bool { return len(heldThreads(t)) == 0 })
	var ids []string
	for range 3 {
		thread := openedThread(t, w.rules(t))
		must(t, thread.Do(t.Context(), func() error {
			ids = append(ids, threadName())
			return busyThreads(20)
		}))
		if held := heldThreads(t); !slices.Equal(held, slices.Sorted(slices.Values(ids))) {
			t.Errorf("held are %q, not %q", held, ids)
		}
	}
}

func threadName() string {
	link, _ := os.Readlink("/proc/thread-self") // a name is no content
	return filepath.Base(link)
}

// busyThreads makes Go have as many threads at once.
func busyThreads(n int) error {
	var all sync.WaitGroup
	together := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			arrived.Done()
			<-together
		})
	}
	arrived.Wait()
	close(together)
	all.Wait()
	return nil
}

// heldThreads names the threads of this process that can gain no privileges.
func heldThreads(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*")
	must(t, err)
	var held []string
	for _, task := range tasks {
		status, err := os.ReadFile(task + "/status")
		if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") { // a thread may have ended
			held = append(held, filepath.Base(task))
		}
	}
	slices.Sort(held)
	return held
}

// soon waits for what has been set going.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
	}
}

func waitGone(t *testing.T, id string) {
	t.Helper()
	soon(t, "thread "+id+" has ended", func() bool {
		_, err := os.Lstat("/proc/self/task/" + id)
		return errors.Is(err, os.ErrNotExist)
	})
}

func TestAClosedThreadIsGone(t *testing.T) {
	before := descriptors(t)
	thread, err := OpenThread(Rules{})
	must(t, err)
	var id string
	must(t, thread.Do(t.Context(), func() error { id = threadName(); return nil }))
	if _, err := os.Lstat("/proc/self/task/" + id); err != nil {
		t.Fatalf("thread %s: %v", id, err)
	}
	must(t, thread.Close())
	must(t, thread.Close())
	waitGone(t, id)
	ran := false
	if err := thread.Do(t.Context(), func() error { ran = true; return nil }); err != os.ErrClosed || ran {
		t.Errorf("a closed thread runs %t, %v", ran, err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// No thread is the first one of the process, even where it is the first to be free.
func TestNeverTheFirstThread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 50 {
		thread, err := OpenThread(Rules{})
		must(t, err)
		must(t, thread.Do(t.Context(), func() error {
			if unix.Gettid() == unix.Getpid() {
				t.Error("it is")
			}
			return nil
		}))
		must(t, thread.Close())
	}
}

// Functions run one after the other, and whoever waits for his turn may stop waiting.
func TestTurns(t *testing.T) {
	thread := openedThread(t, Rules{})
	running, more := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := thread.Do(t.Context(), func() error { close(running); <-more; return errors.New("its own") }); err == nil || err.Error() != "its own" {
			t.Errorf("the first: %v", err)
		}
	})
	<-running
	cause := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	all.Go(func() {
		if err := thread.Do(ctx, func() error { t.Error("it ran"); return nil }); err != cause {
			t.Errorf("the second: %v", err)
		}
	})
	cancel(cause)
	if err := thread.Do(ctx, func() error { t.Error("it ran"); return nil }); err != cause {
		t.Errorf("one that is too late: %v", err)
	}
	count := 0 // no lock: the functions take turns
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := thread.Do(t.Context(), func() error { count++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(more)
	all.Wait()
	if count != 800 {
		t.Errorf("%d functions ran", count)
	}
}

// Close lets the running function end and turns the waiting ones away.
func TestCloseWaits(t *testing.T) {
	thread := openedThread(t, Rules{})
	running, more := make(chan struct{}), make(chan struct{})
	ended := false
	var all sync.WaitGroup
	all.Go(func() {
		if err := thread.Do(t.Context(), func() error { close(running); <-more; ended = true; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-running
	all.Go(func() { close(more) })
	must(t, thread.Close())
	if !ended {
		t.Error("Close did not wait")
	}
	all.Wait()
}

// A panic is the caller's, and the thread goes on; Goexit ends the thread.
func TestFunctionsThatDoNotReturn(t *testing.T) {
	thread := openedThread(t, Rules{})
	func() {
		defer func() {
			if v, ok := recover().(error); !ok || !strings.Contains(v.Error(), "broken") {
				t.Errorf("the panic is %v", v)
			}
		}()
		_ = thread.Do(t.Context(), func() error { panic("broken") })
	}()
	must(t, thread.Do(t.Context(), func() error { return nil }))
	if err := thread.Do(t.Context(), func() error { runtime.Goexit(); return nil }); err == nil {
		t.Error("a function that did not return has no error")
	}
	if err := thread.Do(t.Context(), func() error { return nil }); err != os.ErrClosed {
		t.Errorf("after the thread's end: %v", err)
	}
}

func TestAThreadRefuses(t *testing.T) {
	if thread, err := OpenThread(Rules{Paths: []Rule{{Path: "/no/such/path", Rights: Read}}}); err == nil {
		thread.Close()
		t.Error("it is opened")
	}
}

// A thread is current until a path of its rules names another file, or it has ended.
func TestACurrentThread(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o700))
	rules := Rules{Paths: []Rule{{Path: dir, Rights: Read}}}
	thread := openedThread(t, rules)
	if !thread.Current() {
		t.Error("a new thread is not current")
	}
	must(t, os.Rename(dir, dir+"2"))
	must(t, os.Mkdir(dir, 0o700))
	if thread.Current() {
		t.Error("a thread is current whose directory was replaced")
	}
	other := openedThread(t, rules)
	must(t, other.Close())
	if other.Current() {
		t.Error("a closed thread is current")
	}
}

// A thread leaves signals and the network to the process it is part of.
func TestAThreadIsForFiles(t *testing.T) {
	thread := openedThread(t, Rules{})
	for _, g := range thread.Gaps() {
		if g.What != "resolve_unix" && abi(t) >= 5 {
			t.Errorf("a gap: %s", g)
		}
	}
	if text := thread.String(); strings.Contains(text, "scope") || strings.Contains(text, "tcp") {
		t.Errorf("it prints\n%s", text)
	}
	must(t, thread.Do(t.Context(), func() error { return listen("tcp", "127.0.0.1:0") }))
	must(t, thread.Do(t.Context(), func() error { return unix.Tgkill(unix.Getpid(), unix.Getpid(), 0) }))
}

// A thread lends its rights to who opens something, on any thread, and no more than those.
func TestAThreadLendsItsRights(t *testing.T) {
	w := newWorld(t)
	thread := openedThread(t, Rules{Paths: []Rule{{Path: w.Inside, Rights: Read}}})
	dir, err := unix.Open(w.Top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(dir)
	must(t, os.WriteFile(w.Inside+"/lent", nil, 0o600))
	must(t, os.Symlink(w.Outside+"/secret", w.Inside+"/astray"))
	none := error(unix.ENOSYS)
	if ring, err := uring.Open(); err == nil {
		none = nil
		must(t, ring.Close())
	}
	inside, outside := filepath.Base(w.Inside), filepath.Base(w.Outside)
	for name, given := range map[string]bool{
		inside + "/lent": true, outside + "/secret": false, inside + "/astray": false,
		inside + "/../" + outside + "/secret": false, w.Outside + "/secret": false,
	} {
		how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC}
		fd, err := thread.Openat2(dir, name, how)
		for tries := 0; given && err == unix.EAGAIN && tries < 1000; tries++ { // others rename something
			fd, err = thread.Openat2(dir, name, how)
		}
		if err == nil {
			must(t, unix.Close(fd))
		}
		if (err == nil) != (given && none == nil) {
			t.Errorf("%s: %v", name, err)
		}
		fd, err = unix.Openat2(dir, name, &how)
		if err != nil {
			t.Errorf("whoever asks is held, too: %s: %v", name, err)
		}
		unix.Close(fd)
	}
	must(t, thread.Close())
	if _, err := thread.Openat2(dir, inside+"/lent", unix.OpenHow{}); err != cmp.Or(none, error(unix.EBADF)) {
		t.Errorf("a thread that has ended: %v", err)
	}
}
