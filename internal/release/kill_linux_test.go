package release

import (
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release/releasetest"
)

// The parts that the test binary plays in processes of their own, by the variable partVariable.
const (
	partVariable = "RELEASE_PART"
	partWork     = "work"
	partFull     = "full"
)

func TestMain(m *testing.M) {
	switch os.Getenv(partVariable) {
	case partWork:
		work(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	case partFull:
		fill(os.Args[1])
	default:
		verifyMain(m)
	}
}

// part is the test binary in another part.
func part(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), partVariable+"="+name, "GORACE=atexit_sleep_ms=0") // with the race detector a program waits for a second before it ends
	return c
}

// A job is what a process is killed at.
type job struct {
	name string
	do   func(*Place) error
	// was is what is there before: programs by their names.
	was map[string]string
	// may lists which versions the program may have when the process is killed; "" is none.
	may []string
}

var jobs = []job{
	{"first", func(p *Place) error { return p.Put(releasetest.Script("2"), willDo) }, nil, []string{"", "2"}},
	{"update", func(p *Place) error { return p.Put(releasetest.Script("2"), willDo) }, map[string]string{"durward": "1"}, []string{"1", "2"}},
	{"another update", func(p *Place) error { return p.Put(releasetest.Script("2"), willDo) }, map[string]string{"durward": "1", "durward.previous": "0"}, []string{"1", "2"}},
	{"rollback", func(p *Place) error { return p.Rollback(willDo) }, map[string]string{"durward": "1", "durward.previous": "0"}, []string{"1", "0"}},
}

// work does a job by one of the ways in a process of its own. It says each step it comes to, and
// kills itself there if it is the last one to come to.
func work(path, jobName, wayName, last string) {
	j := jobs[slices.IndexFunc(jobs, func(j job) bool { return j.name == jobName })]
	by := ways[slices.IndexFunc(ways, func(w way) bool { return w.name == wayName })]
	p := &Place{Path: path, exchange: exchange, reached: func(step string) {
		fmt.Println(step)
		if step == last {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // it comes
		}
	}}
	by.set(p)
	p, err := open(p)
	if err == nil {
		err = errors.Join(j.do(p), p.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A killed is what a process left that was killed at a step of its job.
type killed struct {
	job
	by         way
	step, path string
}

func (k killed) String() string { return fmt.Sprintf("%s %s, killed at %s", k.name, k.by.name, k.step) }

// killAtEachStep has processes killed at each step of some jobs, by each of some ways.
func killAtEachStep(t *testing.T, jobs []job, ways []way, then func(killed)) {
	t.Helper()
	for _, j := range jobs {
		for _, by := range ways {
			steps, err := part(t, partWork, filepath.Join(place(t, j), "durward"), j.name, by.name, "").Output()
			must(t, err)
			for step := range strings.Lines(string(steps)) {
				k := killed{j, by, strings.TrimSpace(step), filepath.Join(place(t, j), "durward")}
				said, err := part(t, partWork, k.path, j.name, by.name, k.step).CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
					t.Fatalf("%s: %v\n%s", k, err, said)
				}
				then(k)
			}
		}
	}
}

// A process that is killed at any step of its work leaves a program that runs, and after the
// next update nothing is to be seen of it.
func TestKilledAtEachStep(t *testing.T) {
	times := 0
	killAtEachStep(t, jobs, ways, func(k killed) {
		times++
		now := says(t, k.path)
		if away := k.by.name == "moved away" && k.step == "forth"; !away && !slices.Contains(k.may, now) {
			t.Errorf("%s: %q is installed", k, now)
		}
		p := openBy(t, k.path, k.by)
		now = says(t, k.path) // where it was away it is back
		if !slices.Contains(k.may, now) {
			t.Errorf("%s: %q is installed then", k, now)
		}
		must(t, p.Put(releasetest.Script("3"), willDo), p.Close())
		want := map[string]string{"durward": "3"}
		if now != "" {
			want["durward.previous"] = now
		}
		holds(t, filepath.Dir(k.path), want)
		if now == "" {
			return
		}
		rollback(t, k.path, k.by)
		if again := says(t, k.path); again != now {
			t.Errorf("%s: %q and not %q after a rollback", k, again, now)
		}
		rollback(t, k.path, k.by)
		holds(t, filepath.Dir(k.path), want)
	})
	if times < 50 {
		t.Errorf("only %d steps were found", times)
	}
}

// Behind a process that was killed there are two programs to choose from, if there were before.
func TestRollbackAfterAKill(t *testing.T) {
	killAtEachStep(t, jobs[2:], ways, func(k killed) {
		must(t, openBy(t, k.path, k.by).Close())
		before := says(t, k.path)
		rollback(t, k.path, k.by)
		between := says(t, k.path)
		rollback(t, k.path, k.by)
		if after := says(t, k.path); before == "" || after != before || between == before {
			t.Errorf("%s: %s, %s, %s", k, before, between, after)
		}
	})
}

// place makes a folder with what is there before a job.
func place(t *testing.T, j job) string {
	dir := t.TempDir()
	for name, version := range j.was {
		must(t, os.WriteFile(filepath.Join(dir, name), releasetest.Script(version), 0o755))
	}
	return dir
}

// says runs a program and gives the version that it says, or "" where there is no program.
func says(t *testing.T, path string) string {
	t.Helper()
	if !exists(path) {
		return ""
	}
	said, err := exec.Command(path).Output()
	must(t, err)
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(said)), `{"data":{"version":"`), `"}}`)
}

func TestRightsOfTheProgram(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	path := filepath.Join(t.TempDir(), "durward")
	put(t, path, ways[0], "1")
	put(t, path, ways[0], "2")
	for _, name := range []string{path, path + ".previous"} {
		info, err := os.Stat(name)
		must(t, err)
		if info.Mode() != 0o755 {
			t.Errorf("%s has mode %s", name, info.Mode())
		}
	}
}

// A folder that another user can change is no place to put a program that one will run.
func TestAFolderOfSomebodyElse(t *testing.T) {
	dir := "/" // root's
	if os.Geteuid() == 0 {
		dir = t.TempDir()
		must(t, os.Chown(dir, 65533, 65533))
	}
	if _, err := Open(filepath.Join(dir, "durward")); durward.ReasonOf(err) != durward.FilePermission {
		t.Error(err)
	}
}

// Nor is one that everybody can change; what is there is not touched. In a sticky folder nobody can
// take the place of another's file.
func TestAFolderThatIsOpenToAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "durward")
	put(t, path, ways[0], "1")
	must(t, os.WriteFile(filepath.Join(dir, ".durward.new-1"), releasetest.Script("2"), 0o644))
	for mode, want := range map[os.FileMode]bool{0o777: false, 0o703: false, 0o775: true, 0o777 | os.ModeSticky: true} {
		must(t, os.Chmod(dir, mode))
		before := snapshot(t, dir)
		p, err := Open(path)
		if err == nil {
			must(t, p.Close())
		}
		if (err == nil) != want || err != nil && (durward.ReasonOf(err) != durward.FilePermission || !maps.Equal(before, snapshot(t, dir))) {
			t.Errorf("%s: %v", mode, err)
		}
		must(t, os.WriteFile(filepath.Join(dir, ".durward.new-1"), releasetest.Script("2"), 0o644))
	}
}

const (
	tinyBytes  = 256 << 10
	tinyInodes = 16
)

// fill has an installation meet a full disk at each step that needs room: with one page less
// taken each time, and one file less.
func fill(dir string) {
	t := &alone{}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(t, unix.Mount("tiny", dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=%d", tinyBytes, tinyInodes)))
	bin, ballast := filepath.Join(dir, "bin"), filepath.Join(dir, "ballast")
	must(t, os.Mkdir(bin, 0o755), os.Mkdir(ballast, 0o755))
	path := filepath.Join(bin, "durward")
	put(t, path, ways[0], "0")
	put(t, path, ways[0], "1")
	large := append(releasetest.Script("2"), make([]byte, 40<<10)...)
	refused := 0
	for _, limited := range []func(free int){
		func(free int) { must(t, os.WriteFile(filepath.Join(ballast, "pages"), pages(free), 0o644)) },
		func(free int) { takeInodes(t, ballast, free) },
	} {
		for free := 0; ; free++ {
			must(t, os.RemoveAll(ballast), os.Mkdir(ballast, 0o755))
			limited(free)
			if !meetsFullDisk(t, path, large) {
				break
			}
			refused++
		}
		rollback(t, path, ways[0])
	}
	if refused < 5 {
		t.Fatalf("the disk was full %d times", refused)
	}
}

// pages is a text that leaves only so many pages.
func pages(free int) []byte {
	var fs unix.Statfs_t
	must(&alone{}, unix.Statfs(os.Args[1], &fs))
	return make([]byte, (int(fs.Bavail)-free)*int(fs.Bsize))
}

// takeInodes leaves only so many files to be made.
func takeInodes(t testing.TB, dir string, free int) {
	var fs unix.Statfs_t
	must(t, unix.Statfs(dir, &fs))
	for i := range int(fs.Ffree) - free {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644))
	}
}

// meetsFullDisk puts a program in place, and reports whether there was no room: then all is as
// it was.
func meetsFullDisk(t testing.TB, path string, program []byte) bool {
	before := snapshot(t, filepath.Dir(path))
	p := openBy(t, path, ways[0])
	err := p.Put(program, willDo)
	must(t, p.Close())
	after := snapshot(t, filepath.Dir(path))
	if err == nil {
		if after["durward"] != string(program) || after["durward.previous"] != before["durward"] {
			t.Fatal("it is not there")
		}
		return false
	}
	if !errors.Is(err, unix.ENOSPC) || !maps.Equal(before, after) {
		t.Fatalf("%v, and %d files of %d", err, len(after), len(before))
	}
	return true
}

func TestFullDisk(t *testing.T) {
	c := part(t, partFull, t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 {
		return // no user namespaces here, and nobody else may mount
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// alone is the testing.TB of a process that plays a part.
type alone struct{ testing.TB }

func (*alone) Helper() {}

func (*alone) Fatal(args ...any) { log.Fatal(args...) }

func (*alone) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (*alone) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
