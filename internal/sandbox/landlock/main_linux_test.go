package landlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary plays, by what this variable says: the child that restricts itself and
// then executes "attempt", which does what the parent asks; a "victim" that waits; and a
// program that does "nothing".
const partVariable = "LANDLOCK_PART"

// endAtOnce keeps the race detector from waiting a second at the end of each program.
const endAtOnce = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	switch os.Getenv(partVariable) {
	case "restrict":
		fmt.Fprintln(os.Stderr, restrictAndExecute())
		os.Exit(1)
	case "attempt":
		if err := makeAttempts(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "victim":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "nothing":
		return
	}
	goleak.VerifyTestMain(m)
}

// Descriptors of the child.
const (
	rulesetFD = 3 + iota
	secretFD  // a file outside, opened before
	outsideFD // the directory outside, opened before
)

// nobody is whom the child runs as when we are root.
const nobody = 65534

// A world is what the attempts happen in.
type world struct {
	Top            string // holds the directories inside, readable, execute, outside
	Inside         string
	Outside        string
	Readable       string
	Execute        string
	TCP            string // where the parent listens
	Abstract, Path string // sockets of the parent
	Parent, Victim int
	Flags          uint32
	Free           bool // it is not restricted
	Attempts       []string
}

// restrictAndExecute does what a child has to do and no more, and executes itself so
// that all its threads are held.
func restrictAndExecute() error {
	runtime.LockOSThread()
	var w world
	if err := json.Unmarshal([]byte(os.Getenv("LANDLOCK_WORLD")), &w); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if !w.Free {
		if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rulesetFD, uintptr(w.Flags), 0); errno != 0 {
			return errno
		}
	}
	if os.Getuid() == 0 {
		for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS}, {unix.SYS_SETRESGID, nobody, nobody, nobody}, {unix.SYS_SETRESUID, nobody, nobody, nobody}} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				return errno
			}
		}
	}
	if err := unix.Chdir(w.Inside); err != nil {
		return err
	}
	env := append(slices.DeleteFunc(os.Environ(), isPart), partVariable+"=attempt")
	return unix.Exec(filepath.Join(w.Execute, "self"), []string{"self"}, env)
}

// makeAttempts makes those that are asked for and prints what became of each.
func makeAttempts() error {
	var w world
	if err := json.Unmarshal([]byte(os.Getenv("LANDLOCK_WORLD")), &w); err != nil {
		return err
	}
	results := make(map[string]string)
	for _, a := range attempts() {
		if !slices.Contains(w.Attempts, a.name) {
			continue
		}
		results[a.name] = nameOf(a.try(w))
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

// nameOf gives "EACCES", "ok", or the text of an error of another kind.
func nameOf(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// newWorld makes the files of a world, all of which the child's user owns.
func newWorld(t *testing.T) world {
	t.Helper()
	top, err := os.MkdirTemp("", "landlock") // short enough to hold a socket
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(top)) })
	must(t, os.Chmod(top, 0o755))
	top, err = filepath.EvalSymlinks(top)
	must(t, err)
	w := world{
		Top: top, Inside: filepath.Join(top, "inside"), Outside: filepath.Join(top, "outside"),
		Readable: filepath.Join(top, "readable"), Execute: filepath.Join(top, "execute"), Parent: os.Getpid(),
	}
	for _, dir := range []string{w.Inside, w.Outside, w.Readable, w.Execute, w.Inside + "/a", w.Inside + "/b", w.Outside + "/empty"} {
		must(t, os.Mkdir(dir, 0o777))
	}
	for _, file := range []string{w.Inside + "/file", w.Readable + "/file", w.Outside + "/secret", w.Outside + "/victim", w.Inside + "/a/file", w.Inside + "/a/linked"} {
		must(t, os.WriteFile(file, []byte(secret), 0o666))
	}
	must(t, os.Symlink(w.Outside+"/secret", w.Inside+"/link"))
	must(t, os.Symlink("../outside", w.Inside+"/dirlink"))
	copyProgram(t, w.Execute+"/self")
	for _, copied := range []string{w.Inside, w.Outside, w.Readable} {
		must(t, os.Link(w.Execute+"/self", copied+"/program"))
	}
	if os.Getuid() == 0 {
		must(t, filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, nobody, nobody))
		}))
	}
	return w
}

const secret = "secret\n"

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer from.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	must(t, err)
	_, err = io.Copy(file, from)
	must(t, errors.Join(err, file.Close()))
}

// system lets a dynamically linked program run.
func system(t *testing.T) []Rule {
	t.Helper()
	var rules []Rule
	for _, dir := range []string{"/usr", "/lib", "/lib64", "/nix/store"} {
		if physical, err := filepath.EvalSymlinks(dir); err == nil {
			rules = append(rules, Rule{Path: physical, Rights: Read | Execute})
		}
	}
	return rules
}

// rules are those of a world.
func (w world) rules(t *testing.T) Rules {
	t.Helper()
	return Rules{Paths: append(system(t),
		Rule{Path: w.Inside, Rights: Read | Write},
		Rule{Path: w.Readable, Rights: Read},
		Rule{Path: w.Execute, Rights: Read | Execute},
		Rule{Path: "/proc", Rights: Read},
		Rule{Path: "/dev/null", Rights: Device},
	)}
}

// attempt has a restricted child make attempts, and gives what became of them.
func (w world) attempt(t *testing.T, rules *Ruleset, attempts ...string) map[string]string {
	t.Helper()
	w.Attempts, w.Flags = attempts, rules.Flags()
	text, err := json.Marshal(w)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isPart), partVariable+"=restrict", "LANDLOCK_WORLD="+string(text), endAtOnce)
	cmd.ExtraFiles = []*os.File{dup(t, rules.FD()), open(t, w.Outside+"/secret"), open(t, w.Outside)}
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the child: %v\n%s", err, stderr)
	}
	results := make(map[string]string)
	must(t, json.Unmarshal(out, &results))
	if len(results) != len(attempts) {
		t.Fatalf("of %q the child made %v", attempts, results)
	}
	return results
}

func isPart(variable string) bool { return strings.HasPrefix(variable, partVariable+"=") }

func dup(t *testing.T, fd int) *os.File {
	t.Helper()
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	must(t, err)
	f := os.NewFile(uintptr(n), "ruleset")
	t.Cleanup(func() { f.Close() })
	return f
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// built makes a ruleset that the test closes.
func built(t *testing.T, r Rules, abi ABI) *Ruleset {
	t.Helper()
	rules, err := build(r, abi)
	must(t, err)
	t.Cleanup(func() { rules.Close() })
	return rules
}

func abi(t *testing.T) ABI {
	t.Helper()
	abi, err := Probe()
	must(t, err)
	return abi
}
