package landlock

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// peers are what the child is to be kept from, besides files.
type peers struct {
	reached atomic.Int32 // connections that came in
	victim  *exec.Cmd
}

// meet gives a world its listeners and its victim, which the child's user owns.
func (w *world) meet(t *testing.T) *peers {
	t.Helper()
	p := new(peers)
	w.Abstract = "@" + filepath.Base(w.Top)
	w.Path = w.Outside + "/socket"
	w.TCP = p.listen(t, "tcp", "127.0.0.1:0")
	p.listen(t, "unix", w.Abstract)
	p.listen(t, "unix", w.Path)
	must(t, os.Chmod(w.Path, 0o777))
	p.victim = exec.Command(filepath.Join(w.Execute, "self"))
	p.victim.Env = []string{partVariable + "=victim", endAtOnce}
	if os.Getuid() == 0 {
		p.victim.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	in, err := p.victim.StdinPipe()
	must(t, err)
	must(t, p.victim.Start())
	t.Cleanup(func() {
		in.Close()
		if err := p.victim.Wait(); err != nil {
			t.Errorf("the victim came to harm: %v", err)
		}
	})
	w.Victim = p.victim.Process.Pid
	return p
}

func (p *peers) listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.reached.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// outside tells all there is outside the rules.
func (w world) outside(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{w.Outside, w.Readable, w.Execute} {
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			b.WriteString(dir + "/" + e.Name() + " " + e.Type().String())
			if e.Type().IsRegular() && e.Name() != "program" && e.Name() != "self" {
				content, err := os.ReadFile(filepath.Join(dir, e.Name()))
				must(t, err)
				b.Write(content)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Each attempt of a process that is held to a ruleset ends as the rules say, and nothing
// outside is changed.
func TestAProcessIsHeld(t *testing.T) {
	w := newWorld(t)
	p := w.meet(t)
	rules, err := New(w.rules(t))
	must(t, err)
	defer rules.Close()
	judged := func(a attempt) bool { return a.since <= rules.ABI() }
	before := w.outside(t)
	results := w.attempt(t, rules, named(judged)...)
	for _, a := range attempts() {
		if judged(a) && !slices.Contains(a.want, results[a.name]) {
			t.Errorf("%s: %s, want %s", a.name, results[a.name], strings.Join(a.want, " or "))
		}
	}
	if after := w.outside(t); after != before {
		t.Errorf("the outside has changed:\n%s\nwas\n%s", after, before)
	}
	if n := p.reached.Load(); n > 0 {
		t.Errorf("%d connections came in", n)
	}
	for _, name := range []string{"taken", "device"} {
		if _, err := os.Lstat(filepath.Join(w.Inside, name)); err == nil {
			t.Errorf("%s is inside", name)
		}
	}
	for name, want := range map[string]string{"file": "written\n", "new": "", "b/file": secret, "b/linked": secret} {
		if got, err := os.ReadFile(filepath.Join(w.Inside, name)); err != nil || string(got) != want {
			t.Errorf("inside, %s holds %q, %v, want %q", name, got, err, want)
		}
	}
}

// Without a ruleset the same attempts of the same user succeed: it is the ruleset that
// denies them.
func TestTheRulesetIsWhatDenies(t *testing.T) {
	own := map[string]bool{ // denied to an ordinary user by others
		"make a device inside": true, "mount": true, "control null": true,
		"read by the parent's root": true, "trace the victim": true, "read the victim's memory": true,
	}
	unused := built(t, Rules{}, abi(t))
	for _, a := range attempts() {
		if own[a.name] || a.want[0] == "ok" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			w := newWorld(t)
			w.meet(t)
			w.Free = true
			if got := w.attempt(t, unused, a.name)[a.name]; got != "ok" {
				t.Errorf("%s", got)
			}
		})
	}
}

// What a kernel of an older version cannot deny is named as a gap; and what is not named
// is denied.
func TestGapsAreHonest(t *testing.T) {
	gapOf := map[string]string{
		"truncate outside": "truncate", "connect TCP": "connect_tcp", "listen TCP": "bind_tcp",
		"connect abstract": "abstract_unix_socket", "connect by path": "resolve_unix", "signal the victim": "signal",
		"send UDP": "connect_send_udp",
	}
	for version := ABI(1); version <= abi(t); version++ {
		t.Run(version.String(), func(t *testing.T) {
			w := newWorld(t)
			w.meet(t)
			rules := built(t, w.rules(t), version)
			var gaps []string
			for _, g := range rules.Gaps() {
				gaps = append(gaps, g.What)
			}
			names := named(func(a attempt) bool { return gapOf[a.name] != "" })
			results := w.attempt(t, rules, names...)
			for _, name := range names {
				open := results[name] == "ok"
				if gap := slices.Contains(gaps, gapOf[name]); gap != open {
					t.Errorf("%s: %s; a gap: %t", name, results[name], gap)
				}
			}
		})
	}
}

// The first version denies all moves between directories, without a gap.
func TestTheFirstVersionMovesNothing(t *testing.T) {
	w := newWorld(t)
	results := w.attempt(t, built(t, w.rules(t), 1), "rename inside", "link inside", "rename out")
	for name, got := range results {
		if !slices.Contains(moved, got) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNetworkIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.meet(t)
	r := w.rules(t)
	r.Network = true
	results := w.attempt(t, built(t, r, abi(t)), "connect TCP", "listen TCP", "send UDP", "connect abstract")
	for name, want := range map[string]string{"connect TCP": "ok", "listen TCP": "ok", "send UDP": "ok"} {
		if results[name] != want {
			t.Errorf("%s: %s", name, results[name])
		}
	}
	if abi(t) >= 6 && results["connect abstract"] != "EPERM" {
		t.Errorf("connect abstract: %s", results["connect abstract"])
	}
}

// A mode that only reads writes to /dev/null and its temporary directory.
func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	g := durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{
		Read: []string{w.Top}, Write: []string{durward.PrivateTmp}, Exec: []string{w.Execute},
	}}
	r, gaps, err := For(g, w.Inside)
	must(t, err)
	if len(gaps) > 0 {
		t.Errorf("gaps: %v", gaps)
	}
	r.Paths = append(r.Paths, system(t)...)
	wants := map[string]string{
		"read readable": "ok", "read outside": "ok", "write outside": "EACCES", "create readable": "EACCES", "truncate by opening": "EACCES",
		"write to null": "ok", "write to zero": "EACCES", "write inside": "ok", "create inside": "ok", "execute": "ok", "execute inside": "EACCES",
	}
	results := w.attempt(t, built(t, r, abi(t)), slices.Collect(maps.Keys(wants))...)
	for name, want := range wants {
		if results[name] != want {
			t.Errorf("%s: %s, want %s", name, results[name], want)
		}
	}
}

// A rule may be added by a descriptor in the child, for what did not exist before.
func TestBeneath(t *testing.T) {
	w := newWorld(t)
	rules := built(t, w.rules(t), abi(t))
	if got := w.attempt(t, rules, "read outside")["read outside"]; got != "EACCES" {
		t.Errorf("before: %s", got)
	}
	fd, err := unix.Open(w.Outside, unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, addRule(rules.FD(), rules.ABI().Beneath(Read, true, fd)))
	results := w.attempt(t, rules, "read outside", "write outside")
	if results["read outside"] != "ok" || results["write outside"] != "EACCES" {
		t.Errorf("after: %v", results)
	}
}

func TestNewRefuses(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink(w.Inside, w.Top+"/alias"))
	before := descriptors(t)
	for _, path := range []string{
		w.Top + "/missing", w.Inside + "/file/x", w.Inside + "/link", w.Top + "/alias", w.Top + "/alias/a", w.Inside + "/dirlink/secret",
		"relative", "", w.Top + "/../inside", w.Inside + "/", w.Inside + "\x00",
	} {
		rules, err := New(Rules{Paths: []Rule{{Path: w.Inside, Rights: Read}, {Path: path, Rights: Read}}})
		if err == nil {
			rules.Close()
			t.Errorf("%q is accepted", path)
		}
		if durward.ReasonOf(err) != durward.SandboxError {
			t.Errorf("%q: %v", path, err)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// What openat2 refuses is refused where a filter keeps openat2 from us, and no more.
func TestWalkingIsOpening(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink(w.Inside, w.Top+"/alias"))
	before := descriptors(t)
	for _, path := range []string{
		"/", w.Inside, w.Inside + "/file", w.Top + "/missing", w.Top + "/missing/x", w.Inside + "/file/x", w.Inside + "/link",
		w.Top + "/alias", w.Top + "/alias/a", "/dev/null", "/proc/self",
	} {
		var st [2]unix.Stat_t
		var errs [2]error
		for i, open := range []func(string) (int, error){openPath, walkPath} {
			var fd int
			if fd, errs[i] = open(path); errs[i] == nil {
				must(t, unix.Fstat(fd, &st[i]))
				unix.Close(fd)
			}
		}
		if errs[0] != errs[1] || st[0].Dev != st[1].Dev || st[0].Ino != st[1].Ino {
			t.Errorf("%s: %v and %v", path, errs[0], errs[1])
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestOptional(t *testing.T) {
	w := newWorld(t)
	path := w.Outside + "/later"
	rules := built(t, Rules{Paths: []Rule{{Path: path, Rights: Read, Optional: true}}}, abi(t))
	if !rules.Current() {
		t.Error("it is not current")
	}
	must(t, os.WriteFile(path, nil, 0o600))
	if rules.Current() {
		t.Error("it is current although the path exists now")
	}
}

func TestHolds(t *testing.T) {
	before := descriptors(t)
	first, err := New(Rules{})
	must(t, err)
	second, err := first.Share()
	must(t, err)
	must(t, first.Close())
	must(t, first.Close())
	if _, err := first.Share(); err != os.ErrClosed {
		t.Errorf("a closed hold is shared: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(second.FD()), unix.F_GETFD, 0); err != nil {
		t.Errorf("the other hold: %v", err)
	}
	must(t, second.Close())
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

func TestPrinted(t *testing.T) {
	w := newWorld(t)
	rules := built(t, Rules{Paths: []Rule{
		{Path: w.Inside, Rights: Read | Write},
		{Path: w.Readable, Rights: Read | Execute},
		{Path: "/dev/null", Rights: Device},
		{Path: w.Readable + "/file", Rights: Read | Write},
		{Path: w.Top + "/absent", Rights: Read, Optional: true},
	}}, 6)
	want := `landlock:6
  file /dev/null: write_file read_file ioctl_dev
  dir  TOP/inside: write_file read_file read_dir remove_dir remove_file make_dir make_reg make_sock make_fifo make_sym refer truncate
  dir  TOP/readable: execute read_file read_dir
  file TOP/readable/file: write_file read_file truncate
  none TOP/absent
  denied: bind_tcp connect_tcp
  scope: abstract_unix_socket signal
  not held: resolve_unix (unix), bind_udp (net), connect_send_udp (net), other_protocols (net)
`
	if got := strings.ReplaceAll(rules.String(), w.Top, "TOP"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestProbe(t *testing.T) {
	abi, err := Probe()
	must(t, err)
	if abi < 1 || abi > Newest {
		t.Errorf("version %d", abi)
	}
	real, err := version()
	must(t, err)
	if fd, err := createRuleset((Rules{}).attributes(min(real, Newest))); err != nil {
		t.Errorf("the kernel does not know all of %s: %v", abi, err)
	} else {
		unix.Close(fd)
	}
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM} {
		if err := unavailable("ask the kernel", errno, remedy(errno)); durward.ReasonOf(err) != durward.SandboxUnavailable || remedy(errno) == "" {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

// Every bit of a class stands once, in the order of the versions.
func TestRights(t *testing.T) {
	seen := make(map[rightClass]uint64)
	last := ABI(1)
	for _, r := range rights() {
		if seen[r.class]&r.bit != 0 || r.bit&(r.bit-1) != 0 || r.since < last || r.since > Newest {
			t.Errorf("%+v", r)
		}
		seen[r.class] |= r.bit
		last = r.since
	}
	for class, all := range seen {
		if all&(all+1) != 0 {
			t.Errorf("class %d leaves out a bit of %b", class, all)
		}
	}
}
