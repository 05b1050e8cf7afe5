//go:build linux || darwin

package pathguard

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// swapping puts two things in the place of a name in turn, until it is stopped.
func swapping(t testing.TB, one, other, at string) (stop func()) {
	t.Helper()
	stopped := make(chan struct{})
	var turns sync.WaitGroup
	turns.Go(func() {
		for {
			select {
			case <-stopped:
				return
			default:
			}
			for _, name := range []string{one, other} {
				if os.Rename(name, at) == nil {
					_ = os.Rename(at, name)
				}
			}
		}
	})
	return func() { close(stopped); turns.Wait() }
}

const races = 1000

// However a directory and a link are swapped, nothing outside is read.
func TestNoReadLeavesWhileTheTreeChanges(t *testing.T) {
	top := plant(t, map[string]string{
		"root/real/x": "inside", "root/link": "-> ../outside", "outside/x": secret,
		"root/file": "inside", "root/leaf": "-> ../outside/x",
	})
	g, files := open(t, Options{}, top+"/root"), unconfined(t)
	stop := swapping(t, top+"/root/real", top+"/root/link", top+"/root/d")
	defer stop()
	stopLeaf := swapping(t, top+"/root/file", top+"/root/leaf", top+"/root/l")
	defer stopLeaf()
	got := map[string]int{}
	for range races {
		for _, path := range []string{"/root/d/x", "/root/l", "/root/d/../d/x"} {
			text, err := read(t, g, files, top+path)
			switch reason := durward.ReasonOf(err); {
			case err == nil && text != "inside":
				t.Fatalf("%s gave %q", path, text)
			case err != nil && reason != durward.OutsideRoot && reason != durward.FileNotFound:
				t.Fatalf("%s: %v", path, err)
			default:
				got[string(reason)]++
			}
		}
	}
	t.Log(got)
}

// Nor is anything written outside, or in a part of the root that is in no zone.
func TestNoWriteLeavesItsZoneWhileTheTreeChanges(t *testing.T) {
	top := plant(t, map[string]string{
		"root/zone/real/": "", "root/zone/out": "-> ../../outside", "root/zone/aside": "-> ../aside",
		"root/aside/x": "aside", "outside/x": "outside", "root/zone/leaf": "-> ../aside/x", "root/zone/file": "",
	})
	g, files := open(t, Options{Zones: []Zone{{Path: top + "/root/zone", Recursive: true, CreateIfMissing: true}}}, top+"/root"), unconfined(t)
	outside, aside := snapshot(t, top+"/outside"), snapshot(t, top+"/root/aside")
	zone := top + "/root/zone"
	for _, stop := range []func(){
		swapping(t, zone+"/real", zone+"/out", zone+"/d"),
		swapping(t, zone+"/real", zone+"/aside", zone+"/e"),
		swapping(t, zone+"/file", zone+"/leaf", zone+"/l"),
	} {
		defer stop()
	}
	for range races / 20 {
		for _, path := range []string{"/d/x", "/d/new/er", "/e/x", "/e/new/er", "/l"} {
			_ = g.WriteFile(t.Context(), files, zone+path, []byte("written"), WriteOptions{Overwrite: true})
		}
	}
	unchanged(t, top+"/outside", outside)
	unchanged(t, top+"/root/aside", aside)
}

// What is outside gets one answer, whatever is there.
func TestExistenceOutsideIsNotObservable(t *testing.T) {
	top := plant(t, map[string]string{
		"root/link": "-> ../outside/x", "root/dir": "-> ../outside", "root/chain": "-> link", "outside/": "", "root/zone/": "",
		"root/zone/deep": "-> ../../outside/x/deeper",
	})
	g := open(t, Options{Zones: []Zone{{Path: top + "/root", Recursive: true, CreateIfMissing: true}}}, top+"/root")
	files, at := unconfined(t), top+"/outside/x"
	ask := func(path string) []durward.Error {
		_, read := g.OpenFile(t.Context(), files, path)
		_, dir := g.OpenWorkingDir(t.Context(), files, path)
		judged := g.JudgeWrite(t.Context(), files, path, 1, WriteOptions{Overwrite: true})
		written := g.WriteFile(t.Context(), files, path, []byte("x"), WriteOptions{Overwrite: true})
		var all []durward.Error
		for _, err := range []error{read, dir, judged, written, g.JudgeArgument(t.Context(), top+"/root", path)} {
			e := *durward.AsError(err)
			e.Err = nil // its text is compared
			all = append(all, e, durward.Error{Op: err.Error()})
		}
		return all
	}
	states := map[string]func(){
		"a file":      func() { must(t, os.WriteFile(at, []byte(secret), 0o644)) },
		"a directory": func() { must(t, os.Mkdir(at, 0o755)) },
		"a fifo":      func() { must(t, unix.Mkfifo(at, 0o644)) },
		"a link":      func() { must(t, os.Symlink("../outside", at)) },
		"a loop":      func() { must(t, os.Symlink("x", at)) },
		"a shut one":  func() { must(t, os.Mkdir(at, 0)) },
	}
	for _, path := range []string{
		"/outside/x", "/outside/x/", "/outside/x/y", "/outside/x/../y", "/outside/x/y/../../x", "/root/dir/x", "/root/chain/y",
		"/root/dir/x/y", "/root/link/y", "/root/zone/../../outside/x", "/outside/" + strings.Repeat("y", 300), "/outside/x/" + strings.Repeat("y", 300),
	} {
		want := ask(top + path)
		for _, e := range want[:2] {
			if e.Reason != "" && e.Reason != durward.OutsideRoot {
				t.Errorf("%s: %+v", path, e)
			}
		}
		for what, make := range states {
			make()
			before := snapshot(t, top+"/outside")
			if diff := cmp.Diff(want, ask(top+path), cmp.AllowUnexported(durward.Error{})); diff != "" {
				t.Errorf("%s tells whether there is %s:\n%s", path, what, diff)
			}
			unchanged(t, top+"/outside", before)
			must(t, os.Remove(at))
		}
	}
}

// A panic while a path is looked at is that of the call, and not of the program.
func TestAPanicIsTheCallers(t *testing.T) {
	defer func() {
		if p := recover(); p != "oh" {
			t.Errorf("it comes as %v", p)
		}
	}()
	_, _ = waited(t.Context(), "op", func() (int, error) { panic("oh") }, func(int) { t.Error("nothing is to be dropped") })
	t.Error("it is gone")
}
