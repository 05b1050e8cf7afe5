//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
)

// A scene is a workspace in which a command runs, and all around it that the command is
// to leave alone.
type scene struct {
	*testing.T
	row   row
	level int
	user  user
	// uid and gid are whom commands run as, in the numbers of this machine.
	uid, gid int

	// The command may write the workspace and read the readable and the bin directory.
	// What is outside belongs to its user, and anybody may write there.
	top, workspace, readable, outside, bin string

	canary    *canary
	tcp, udp  string // addresses
	abstract  string // "@name"; datagrams go to the same with "-gram"
	listeners []listener

	host   policy.Host
	names  *registry // those that allowed hosts have
	engine *process.Engine
	log    *audit.Log
	base   document // changed by a row before its first call

	recorded int // records of the log that were looked at

	before   picture
	policies map[string]*policy.Policy // by their text
	runtimes map[string]*core.Runtime  // by their policy's hash
	ends     []func()
	said     map[string]bool // the errors that attempts ended with
	spoilt   bool            // the attempts were to get through
}

const (
	secret = "secret-85ebca6b\n"
	// commandUser owns the workspaces of a runtime that is root.
	commandUser = 61834
)

func newScene(t *testing.T, r row, level int, u user) *scene {
	t.Helper()
	s := &scene{T: t, row: r, level: level, user: u, names: newRegistry(), policies: map[string]*policy.Policy{}, runtimes: map[string]*core.Runtime{}, said: map[string]bool{}}
	s.top = shortDir(t, r.in)
	s.engine = process.New(process.Options{ScratchDir: s.makeDir("scratch", 0, 0o755), Clock: r.clock, Resolver: s.names, Warm: r.warm})
	t.Cleanup(func() {
		if err := s.engine.Close(); err != nil {
			t.Errorf("the engine left something behind: %v", err)
		}
	})
	s.workspace = s.makeDir("workspace", u.owner, 0o755)
	if u.owner == 0 {
		s.chmod(s.workspace, 0o777)
	}
	s.identify()
	s.furnish()
	s.raiseListeners()
	s.canary = sing(t, s.uid, s.gid)
	s.openLog()
	s.host = machine.Host(s.workspace)
	s.base = s.confined()
	if level == 0 && r.holds(0) {
		s.base = s.free().with("require", s.base["require"])
	}
	if r.change != nil {
		r.change(s)
	}
	s.before = s.around()
	return s
}

// identify asks the engine whom it will run the commands as.
func (s *scene) identify() {
	uid, gids, err := s.engine.User(durward.Grant{Mode: durward.WorkspaceWrite}, s.workspace)
	s.check(err)
	s.uid, s.gid = int(uid), int(gids[0])
	if s.uid == 0 {
		s.Fatal("commands would run as root")
	}
}

func (s *scene) furnish() {
	s.readable, s.bin = s.makeDir("readable", 0, 0o755), s.makeDir("bin", 0, 0o755)
	s.outside = s.makeDir("outside", s.uid, 0o777)
	s.makeDir("outside/empty", s.uid, 0o777)
	s.makeFile("outside/secret", s.uid, secret, 0o644)
	s.makeFile("outside/victim", s.uid, "as it was\n", 0o666)
	s.check(unix.Setxattr(s.path("outside/victim"), "user.canary", []byte("alive"), 0))
	s.check(os.Symlink("victim", s.path("outside/link")))
	s.chown(s.path("outside/link"), s.uid)
	s.makeFile("readable/file", 0, "to be read\n", 0o644)
	s.makeFile("workspace/file", s.user.owner, "to be written\n", 0o666)
	s.makeDir("workspace/dir", s.user.owner, 0o777)
	s.placeProgram(s.attemptPath())
}

// placeProgram puts the attacker's program at a path. Another process writes it: what is open
// for writing in this one while a command of another test begins is open there as well, and
// cannot be executed.
func (s *scene) placeProgram(path string) {
	s.Helper()
	out, err := exec.Command("install", "-m", "0755", program(s.T), path).CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
}

func (s *scene) raiseListeners() {
	local := [4]byte{127, 0, 0, 1}
	s.listeners = []listener{
		listen(s.T, "tcp", unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Addr: local}),
		listen(s.T, "udp", unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Addr: local}),
	}
	for i, into := range []*string{&s.tcp, &s.udp} {
		at, err := unix.Getsockname(s.listeners[i].fd)
		s.check(err)
		*into = fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	}
	s.abstract = "@durward" + strings.ReplaceAll(s.top, "/", "-")
	for _, at := range []string{"outside/s", "readable/s", s.abstract} {
		for kind, suffix := range map[int]string{unix.SOCK_STREAM: "", unix.SOCK_DGRAM: "-gram"} {
			path := at + suffix
			if at != s.abstract {
				path = s.path(path)
			}
			s.listeners = append(s.listeners, listen(s.T, path, unix.AF_UNIX, kind, &unix.SockaddrUnix{Name: s.short(path)}))
			if at != s.abstract {
				s.chmod(path, 0o777)
			}
		}
	}
}

// short gives a path that fits into the address of a socket.
func (s *scene) short(path string) string {
	if len(path) > 100 {
		s.Fatalf("the temporary directory has too long a name for a socket: %s", path)
	}
	return path
}

func (s *scene) openLog() {
	dir := filepath.Join(s.top, "audit")
	log, err := audit.Open(dir, audit.Options{})
	s.check(err)
	s.log = log
	s.Cleanup(func() {
		if err := log.Close(); err != nil {
			s.Error(err)
		}
	})
}

func (s *scene) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) path(name string) string { return filepath.Join(s.top, name) }

func (s *scene) chmod(path string, mode os.FileMode) {
	s.Helper()
	s.check(os.Chmod(path, mode))
}

func (s *scene) chown(path string, uid int) {
	s.Helper()
	if os.Geteuid() == 0 {
		s.check(os.Lchown(path, uid, uid))
	}
}

// makeDir makes a directory, and all that is between it and the scene's own.
func (s *scene) makeDir(name string, owner int, mode os.FileMode) string {
	s.Helper()
	path := s.path(name)
	s.check(os.MkdirAll(path, 0o755))
	s.chmod(path, mode)
	s.chown(path, owner)
	return path
}

func (s *scene) makeFile(name string, owner int, content string, mode os.FileMode) string {
	s.Helper()
	path := s.path(name)
	s.check(os.WriteFile(path, []byte(content), 0o600))
	s.chmod(path, mode)
	s.chown(path, owner)
	return path
}

// attemptPath holds the name of the scene, so that its processes can be told from all
// others.
func (s *scene) attemptPath() string { return filepath.Join(s.bin, "attempt") }

// shortDir makes a directory whose name leaves room for that of a socket, and that
// everybody may pass through.
func shortDir(t *testing.T, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "durward-abuse-")
	if err == nil {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A document is a policy, member by member as text.
type document map[string]string

func (d document) String() string {
	text := "sandbox:\n"
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if d[name] != "" {
			text += fmt.Sprintf("  %s: %s\n", name, d[name])
		}
	}
	return text
}

// with gives a document with another member, or without it where value is "".
func (d document) with(name, value string) document {
	d = maps.Clone(d)
	d[name] = value
	return d
}

// confined is the policy of a row at the level of the scene.
func (s *scene) confined() document {
	return document{
		"mode":       "workspace-write",
		"level":      fmt.Sprint(s.level),
		"require":    "[" + s.row.required(s.level) + "]",
		"filesystem": s.files("protect: []"),
		"limits":     "{wallMs: 60000, graceMs: 100}",
	}
}

// files gives the member "filesystem"; more may be said in it.
func (s *scene) files(more string) string {
	return fmt.Sprintf(`{read: ["@system", "${workspace}", %q, %q], %s}`, s.bin, s.readable, more)
}

// free is the policy under which nothing is confined.
func (s *scene) free() document {
	d := document{"mode": "danger-full-access", "level": "0", "limits": "{wallMs: 60000, graceMs: 100}"}
	if os.Geteuid() == 0 {
		d["identity"] = fmt.Sprintf(`"%d:%d"`, s.uid, s.gid)
	}
	return d
}

// compile gives the policy of a document, which is read once.
func (s *scene) compile(d document) *policy.Policy {
	s.Helper()
	text := d.String()
	if s.policies[text] == nil {
		p, err := s.tryCompile(d)
		if err != nil {
			s.Fatalf("%v\n%s", err, d)
		}
		s.policies[text] = p
	}
	return s.policies[text]
}

func (s *scene) tryCompile(d document) (*policy.Policy, error) {
	doc, err := policy.Parse("policy.yaml", []byte(d.String()))
	if err != nil {
		return nil, err
	}
	return policy.Compile(doc, s.host)
}

// runtime gives a runtime under a policy.
func (s *scene) runtime(p *policy.Policy) *core.Runtime {
	s.Helper()
	if r := s.runtimes[p.Hash()]; r != nil {
		return r
	}
	r, err := core.New(core.Options{
		Source: core.Catalogue{{ID: "command", Engine: "process"}}, Policy: p, Recorder: s.log,
		Engines: map[string]core.Engine{"process": s.engine}, MaxConcurrent: 64,
	})
	s.check(err)
	s.runtimes[p.Hash()] = r
	return r
}

// do makes a call under a policy that can be held here.
func (s *scene) do(d document, c durward.Call) (durward.Result, error) {
	s.Helper()
	r, err := s.call(d, c)
	if reason := durward.ReasonOf(err); slices.Contains([]durward.Reason{durward.SandboxUnavailable, durward.SandboxError, durward.Defect}, reason) {
		s.Errorf("%q: %v", c.Argv, err)
	}
	return r, err
}

// call makes a call under a policy, in the workspace unless it says where.
func (s *scene) call(d document, c durward.Call) (durward.Result, error) {
	s.Helper()
	c.Tool = "command"
	if c.Dir == "" {
		c.Dir = s.workspace
	}
	do := func() (durward.Result, error) { return s.runtime(s.compile(d)).Do(s.Context(), c) }
	if s.row.warm && s.level == 2 {
		do = s.inCell(do)
	}
	r, err := do()
	s.check(r.Discard())
	return r, err
}

// shell makes a call of a script under the row's policy. The processes of the script can
// be told from all others.
func (s *scene) shell(script string) (durward.Result, error) {
	s.Helper()
	return s.do(s.base, s.script(script))
}

func (s *scene) script(script string) durward.Call {
	return durward.Call{Argv: []string{"bash", "-c", ": " + s.top + "; " + script}}
}

// An answer is what became of an attempt. See the program in testdata.
type answer struct {
	Try, Err, Got string

	result durward.Result
	err    error
}

// attempt has the program make an attempt under the row's policy.
func (s *scene) attempt(args ...string) answer {
	s.Helper()
	return s.attemptUnder(s.base, args...)
}

func (s *scene) attemptUnder(d document, args ...string) answer {
	s.Helper()
	return s.attemptIn(d, durward.Call{Argv: append([]string{s.attemptPath()}, args...)})
}

func (s *scene) attemptIn(d document, c durward.Call) answer {
	s.Helper()
	a := answer{}
	a.result, a.err = s.do(d, c)
	a.read()
	a.Try = strings.ReplaceAll(strings.Join(c.Argv[1:], " "), s.top, "")
	s.said[a.Err] = true
	return a
}

// read takes the answer out of the result. A command that was ended has the signal for
// its error, a call that failed the reason.
func (a *answer) read() {
	lines := strings.Split(strings.TrimSpace(string(a.result.Stdout.Bytes())), "\n")
	parsed := json.Unmarshal([]byte(lines[len(lines)-1]), a)
	switch {
	case a.err != nil:
		a.Err = string(durward.ReasonOf(a.err))
	case a.result.Signal != 0:
		a.Err = unix.SignalName(unix.Signal(a.result.Signal))
	case parsed != nil || a.result.ExitStatus() != 0:
		a.Err = fmt.Sprintf("exit %d", a.result.ExitStatus())
	}
}

func (a answer) String() string {
	text := fmt.Sprintf("%q: %s", a.Try, a.Err)
	if a.Err == "" {
		text = fmt.Sprintf("%q got through: %.300q", a.Try, a.Got)
	}
	if a.err != nil {
		text += fmt.Sprintf(" (%v)", a.err)
	}
	if more := a.result.Stderr.Bytes(); len(more) > 0 {
		text += fmt.Sprintf(" %.300q", more)
	}
	return text
}

// guarantee gives who holds a guarantee, as the report of a run has it.
func guarantee(r durward.Result, g durward.Guarantee) durward.Holder {
	if r.Report == nil {
		return "nobody: there is no report"
	}
	return r.Report.Guarantees[g].Held
}

// ending gives what a run was ended by, as its report has it.
func ending(r durward.Result) durward.ReportEnd {
	if r.Report == nil {
		return durward.ReportEnd{Cause: "nothing: there is no report"}
	}
	return r.Report.End
}

// must gives what an attempt got that is to get through.
func (s *scene) must(a answer) string {
	s.Helper()
	if a.Err != "" {
		s.Fatalf("%v; it is allowed", a)
	}
	return a.Got
}

// denied asks that an attempt ended with one of the errors and saw no secret.
func (s *scene) denied(a answer, want ...string) {
	s.Helper()
	if !slices.Contains(want, a.Err) {
		s.Errorf("%v; want %v", a, want)
	}
	out := string(a.result.Stdout.Bytes()) + string(a.result.Stderr.Bytes())
	for _, hidden := range []string{strings.TrimSpace(secret), secretOfCanary} {
		if strings.Contains(out, hidden) {
			s.Errorf("%v; it has the secret", a)
		}
	}
}

// refused asks that a policy which requires what the level cannot hold is refused, and
// that nothing has run.
func (s *scene) refused(d document) {
	s.Helper()
	marker := filepath.Join(s.workspace, "ran")
	a := answer{Try: "mark"}
	a.result, a.err = s.call(d, durward.Call{Argv: []string{s.attemptPath(), "mark", marker}})
	a.read()
	s.said[a.Err] = true
	if durward.ReasonOf(a.err) != durward.SandboxUnavailable || a.result.Report != nil {
		s.Errorf("%v; want %s under\n%s", a, durward.SandboxUnavailable, d)
	}
	if _, err := os.Lstat(marker); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("the command that was refused has run: %v", err)
	}
	if e := durward.AsError(a.err); e != nil && (e.Hint == "" || e.Err == nil) {
		s.Errorf("the refusal %q says nothing of what is missing, or of what can be done: %q", e, e.Hint)
	}
}

// A sibling is another run under the same policy, that waits.
type sibling struct {
	durward.Session
	pid int // on this machine
}

// sibling starts one. It ends with the scene.
func (s *scene) sibling() sibling {
	s.Helper()
	p := s.compile(s.base).Keep(durward.KeepStream)
	session, err := s.runtime(p).Open(s.Context(), durward.Call{Tool: "command", Dir: s.workspace, Argv: []string{s.attemptPath(), "hold"}}, nil)
	s.check(err)
	s.ends = append(s.ends, func() { s.check(session.Close()) })
	if page, err := session.Read(s.Context(), 0, 1<<10, 30*time.Second); err != nil || len(page.Chunks) == 0 {
		s.Fatalf("the sibling says nothing: %v, %v", page, err)
	}
	pids := attempts(s.T, s.attemptPath()+" hold")
	if len(pids) != 1 {
		s.Fatalf("siblings: %v", pids)
	}
	return sibling{session, pids[0]}
}

// end stops what the scene has running and asks that everything around the workspace is
// as it was.
func (s *scene) end() {
	s.Helper()
	for _, end := range s.ends {
		end()
	}
	if left := processesWith(s.T, s.top); len(left) > 0 {
		s.Errorf("processes that outlive their calls: %v", left)
	}
	if left := mounts(s.T, s.top); len(left) > 0 {
		s.Errorf("mounts that outlive their calls: %q", left)
	}
	if s.spoilt {
		return
	}
	s.unchanged()
	if found := setIDFiles(s.T, s.workspace); len(found) > 0 {
		s.Errorf("set-id bits in the workspace: %q", found)
	}
	for _, l := range s.listeners {
		if l.heard() {
			s.Errorf("somebody has got through to %s", l.name)
		}
	}
	if harm := s.canary.harm(s.T); harm != "" {
		s.Errorf("the process of the same user: %s", harm)
	}
}

// around is what the command is to leave as it is.
func (s *scene) around() picture { return take(s.T, s.outside, s.readable, s.bin) }

func (s *scene) unchanged() {
	s.Helper()
	if changed := s.before.differences(s.around()); len(changed) > 0 {
		s.Errorf("outside:\n%s", strings.Join(changed, "\n"))
	}
}

// expand replaces the names of a scene's things in the words of an attempt.
func (s *scene) expand(text string) []string {
	s.Helper()
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = os.Expand(w, func(name string) string {
			switch name {
			case "top":
				return s.top
			case "outside":
				return s.outside
			case "secret", "victim":
				return filepath.Join(s.outside, name)
			case "readable":
				return s.readable
			case "ws":
				return s.workspace
			case "tcp":
				return s.tcp
			case "udp":
				return s.udp
			case "abstract":
				return s.abstract
			case "canary":
				return fmt.Sprint(s.canary.pid)
			case "runtime":
				return fmt.Sprint(os.Getpid())
			}
			s.Fatalf("%q: what is %s?", text, name)
			return ""
		})
	}
	return words
}
