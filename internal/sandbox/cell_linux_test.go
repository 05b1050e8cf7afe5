//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// warmCell gives a trial at level 2 with a cell that is ready.
func warmCell(t *testing.T, change func(*trial, string)) (*trial, *Spares, string) {
	t.Helper()
	r, s := isolated(t), &Spares{}
	t.Cleanup(s.Close)
	dir := filepath.Dir(r.marker)
	change(r, dir)
	if plan := r.compile(t); plan.warm == nil && plan.shape.memory == memoryCgroup2 {
		r.host = r.host.WithoutMemory() // a process is born in such a cgroup: no spare suits
	}
	r.request.Spares = s
	r.again(t, s)
	return r, s, dir
}

// again runs the command, and waits until the next cell is ready.
func (r *trial) again(t *testing.T, s *Spares) string {
	t.Helper()
	said, _ := r.prints(t, true)
	s.Settle()
	return said
}

// Each command that a cell runs has an empty /tmp, process numbers from the beginning, and
// nothing in memory that another one shared.
func TestNobodyHasLivedInACell(t *testing.T) {
	for _, mode := range []durward.NetworkMode{durward.NetNone, durward.NetLoopback, durward.NetFull} {
		t.Run(string(mode), func(t *testing.T) {
			r, s, _ := warmCell(t, func(r *trial, _ string) {
				r.request.Grant.Network.Mode = mode
				r.shell(t, `cat /tmp/left /dev/shm/left 2>/dev/null; cat /proc/sysvipc/shm | wc -l; ls -d /proc/[0-9]*; echo x > /tmp/left; ipcmk -M 10 >/dev/null && cat /proc/sysvipc/shm | wc -l`)
			})
			for i := range 5 {
				if s.waiting(r.compile(t).key) != 1 {
					t.Fatalf("call %d finds no cell", i)
				}
				if said := strings.Join(strings.Fields(r.again(t, s)), " "); !strings.HasPrefix(said, "1 /proc/1 /proc/2") || !strings.HasSuffix(said, " 2") {
					t.Fatalf("call %d: %q", i, said)
				}
			}
		})
	}
}

// What is protected and denied is so in a cell, also what came or changed after it was made.
func TestACellKeepsWhatIsKept(t *testing.T) {
	r, s, dir := warmCell(t, func(r *trial, dir string) {
		for _, name := range []string{"fixed", "secret", "shut/in"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("first\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		f := &r.request.Grant.Files
		f.Protect, f.Deny = []string{dir + "/fixed"}, []string{dir + "/secret", dir + "/shut"}
		r.shell(t, `cat secret shut/in 2>/dev/null; for f in fixed secret shut/in; do (echo x > $f) 2>/dev/null && echo wrote $f; done; cat fixed; [ -s secret ] && echo seen; ls shut 2>/dev/null; echo end`)
	})
	for i, content := range []string{"first\n", "second\n", "third\n"} {
		if i > 0 { // another file in its place
			for _, name := range []string{"fixed", "secret"} {
				next := filepath.Join(dir, name+".next")
				if err := os.WriteFile(next, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 3 {
			if said := r.again(t, s); said != content+"end\n" {
				t.Errorf("it says %q", said)
			}
		}
	}
}

// A cell is for calls of its view, wherever they begin and whatever they run.
func TestACellIsForItsView(t *testing.T) {
	r, s, dir := warmCell(t, func(r *trial, dir string) {
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
			t.Fatal(err)
		}
		r.shell(t, "pwd; ls -d /opt 2>/dev/null")
	})
	key := r.compile(t).key
	sub, err := os.Open(filepath.Join(dir, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	r.request.Dir = sub
	r.program(t, "ls", "-d", "/tmp")
	if r.compile(t).key != key {
		t.Error("another directory and program take another cell")
	}
	if said := r.again(t, s); said != "/tmp\n" {
		t.Errorf("it says %q", said)
	}
	waiting := slices.Clone(s.free)
	r.request.Grant.Files.Read = append(r.request.Grant.Files.Read, "/opt")
	r.program(t, "ls", "-d", "/opt")
	if r.compile(t).key == key {
		t.Fatal("another view has the same cell")
	}
	if said, _ := r.prints(t, true); said != "/opt\n" {
		t.Errorf("it says %q", said)
	}
	s.Settle()
	for _, cell := range waiting {
		if !slices.Contains(s.free, cell) {
			t.Error("its cell was taken for another view")
		}
	}
	tools := filepath.Join(dir, "tools")
	for i := range 2 { // another directory of that name
		if err := os.Mkdir(tools, 0o755); err != nil {
			t.Fatal(err)
		}
		r.request.Grant.Files.Exec = append(slices.Clip(r.request.Grant.Files.Exec), tools)
		if now := r.compile(t).key; now == key {
			t.Error("where programs may be executed from is another place, and the cell the same")
		} else {
			key = now
		}
		r.request.Grant.Files.Exec = r.request.Grant.Files.Exec[:len(r.request.Grant.Files.Exec)-1]
		if err := os.Rename(tools, tools+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	changed := r.compile(t).shape
	changed.limits.Tmp++
	if changed.key() == r.compile(t).key {
		t.Error("another limit of /tmp has the same cell")
	}
}

// A cell that nobody takes goes, with all that it held.
func TestACellThatNobodyTakes(t *testing.T) {
	r, s, _ := warmCell(t, func(r *trial, _ string) { r.shell(t, "true") })
	cell := s.free[0]
	if cell.end == nil || cell.own.mounts == nil {
		t.Fatal("it would wait for ever, or its mounts go with the last of its processes")
	}
	s.forget(cell)
	if err := unix.Kill(cell.pid, 0); err != unix.ESRCH || len(s.free) > 0 {
		t.Errorf("%v, %d wait", err, len(s.free))
	}
	s.forget(cell)
	if err := r.start(r.compile(t)); err != nil {
		t.Error(err)
	}
}
