//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	commandline "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

var update = commandline.Bool("update", false, "write the golden files anew")

// A drawing is what a golden plan is compiled from: a host and a request that are data
// and nothing else, so that every machine has the same plan.
type drawing struct {
	name    string
	at      durward.Level
	host    Host
	request Request
	// seen is what the request shows at level 2. Elsewhere it is looked up by [viewOf].
	seen view
}

// goldens vary one thing at a time, for each level and each kind of user of ours.
func goldens() []drawing {
	var list []drawing
	for _, at := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
		for _, user := range []string{"root", "user"} {
			add := func(what string, change func(*drawing)) {
				d := draw(at, user == "root")
				d.name = fmt.Sprintf("level-%d-%s-%s", at.Number(), user, what)
				change(&d)
				list = append(list, d)
			}
			add("read-only", func(*drawing) {})
			add("workspace-write", (*drawing).writing)
			if at == durward.LevelNone {
				add("full-access", (*drawing).open)
				add("full-access-cgroup", func(d *drawing) { d.open(); d.only(Cgroup) })
			}
			if at < durward.LevelIsolate {
				add("cgroup", func(d *drawing) { d.only(Cgroup) })
				add("subreaper", func(d *drawing) { d.only(Subreaper) })
			}
			if at == durward.LevelIsolate {
				add("copy-on-write", (*drawing).copying)
			}
			if at > durward.LevelNone {
				for _, mode := range []durward.NetworkMode{durward.NetFull, durward.NetLoopback, durward.NetAllowlist} {
					if at == durward.LevelRestrict && mode != durward.NetFull {
						break // the others take a network of the call's own
					}
					add("net-"+string(mode), func(d *drawing) { d.reach(mode) })
				}
				add("landlock-10", func(d *drawing) { d.host.landlock = func() landlock.ABI { return 10 } })
			}
		}
	}
	return append(list, oddGoldens()...)
}

// oddGoldens are those of one level and one user.
func oddGoldens() []drawing {
	keep := draw(durward.LevelIsolate, true)
	keep.name, keep.request.Grant.Identity.Keep = "level-2-root-keep", true
	fixed := draw(durward.LevelIsolate, true)
	fixed.name, fixed.request.Grant.Identity = "level-2-root-fixed", durward.Identity{Fixed: true, UID: 1234, GID: 5678}
	bare := draw(durward.LevelIsolate, true)
	bare.name, bare.host.landlock = "level-2-root-no-landlock", nil
	host := draw(durward.LevelIsolate, false)
	host.name, host.seen.host, host.seen.places = "level-2-user-host-ro", true, nil
	tmp := draw(durward.LevelIsolate, true)
	tmp.name, tmp.seen.tmp = "level-2-root-tmp-is-read", false
	tmp.seen.places = append(tmp.seen.places, place{path: "/tmp", kind: shown, dir: true})
	terminal := draw(durward.LevelRestrict, false)
	terminal.name, terminal.request.Terminal, terminal.request.Follow = "level-1-user-terminal", true, true
	script := draw(durward.LevelNone, false)
	script.name, script.request.Program.script = "level-0-user-script", true
	forked := draw(durward.LevelNone, true)
	forked.name, forked.host.SharedErr, forked.request.Follow = "level-0-root-forked", errNotHere, true
	over := draw(durward.LevelIsolate, false)
	over.name, over.seen.host, over.seen.places = "level-2-user-hosts-over-the-machines", true, nil
	over.reach(durward.NetAllowlist)
	return []drawing{keep, fixed, bare, host, tmp, terminal, script, forked, over}
}

// draw gives a command that reads the system and its workspace.
func draw(at durward.Level, root bool) drawing {
	own := account{1000, 1000}
	if root {
		own = account{}
	}
	limits := durward.DefaultLimits()
	limits.AddressSpace = 1 << 30
	return drawing{
		at: at,
		host: Host{
			UID: own.uid, GID: own.gid, HostUID: own.uid, UserNamespace: true, Keyrings: true, MaxLimits: unlimited(),
			Trials:       []Trial{{Containment: PIDNamespace}, {Containment: Cgroup}, {Containment: Subreaper}},
			machineFiles: "kcore keys timer_list sysrq-trigger", landlock: func() landlock.ABI { return 7 },
			plans: &plans{}, levels: offered(),
		},
		request: Request{
			Argv: []string{"make", "all"}, Env: []string{"LANG=C.UTF-8", "PATH=/usr/bin:/bin"},
			PrivateEnv: []string{"HOME", "TMPDIR"}, Scratch: "/tmp/scratch", Program: &Program{Path: "/usr/bin/make"},
			Linger: 100 * time.Millisecond,
			Grant: durward.Grant{
				Mode: durward.ReadOnly, Level: at, MinLevel: at, StepDown: true, Limits: limits,
				Network: durward.Network{Mode: durward.NetNone},
				Files: durward.Files{
					Read: []string{"/etc/passwd", "/usr", "/work"}, Write: []string{durward.PrivateTmp},
					Exec: []string{"/usr", "/work"}, Links: []durward.Link{{Path: "/bin", To: "/usr/bin"}},
				},
			},
		},
		seen: view{
			tmp: true, links: []durward.Link{{Path: "/bin", To: "/usr/bin"}},
			places: []place{{path: "/etc/passwd", kind: shown, changed: 1}, {path: "/etc/ssl", kind: shown, dir: true}, {path: "/usr", kind: shown, dir: true}, {path: "/work", kind: shown, dir: true}},
			exec:   []place{{path: "/usr", dir: true}, {path: "/work", dir: true}},
		},
	}
}

func unlimited() (most hardLimits) {
	for i := range most {
		most[i] = unix.RLIM_INFINITY
	}
	return most
}

// offered is a probe that has found every level.
func offered() *levelProbe {
	p := &levelProbe{}
	for i := range p.once {
		p.once[i].Do(func() {})
	}
	return p
}

// writing gives the command its workspace to write, with something kept in it and
// something hidden. No rule of level 1 can take that back.
func (d *drawing) writing() {
	f := &d.request.Grant.Files
	d.request.Grant.Mode = durward.WorkspaceWrite
	f.Read, f.Write = f.Read[:2], append(f.Write, "/work")
	d.seen.places = []place{
		{path: "/etc/passwd", kind: shown},
		{path: "/usr", kind: shown, dir: true},
		{path: "/work", kind: written, dir: true, owned: d.host.UID == 0},
		{path: "/work/.env", kind: hidden},
		{path: "/work/.git", kind: pinned, dir: true},
		{path: "/work/.git/hooks", kind: kept, dir: true},
	}
}

// copying has what the command writes land in copies, of its workspace and of another
// directory.
func (d *drawing) copying() {
	d.writing()
	f := &d.request.Grant.Files
	f.CopyOnWrite, f.Write = true, append(f.Write, "/other")
	work := &d.seen.places[2]
	work.copy = &layer{1000, 1000, 0o755}
	if work.owned {
		work.copy = &layer{65533, 65533, 0o755} // as which the command runs
	}
	other := place{path: "/other", kind: written, dir: true, copy: &layer{1000, 2000, 0o1770}}
	d.seen.places = slices.Insert(d.seen.places, 1, other)
}

// open gives everything.
func (d *drawing) open() {
	g := &d.request.Grant
	g.Mode, g.Network.Mode, g.StepDown = durward.DangerFullAccess, durward.NetFull, false
	g.Files = durward.Files{}
}

// reach has the command reach something, and its view have the ways there.
func (d *drawing) reach(mode durward.NetworkMode) {
	n := durward.Network{Mode: mode}
	if mode == durward.NetAllowlist {
		n.Allow = []string{"db.example:5432", "*.example.org:443", "10.1.2.3:80", "[fd00::1]:80"}
	}
	d.request.Grant.Network = n
	d.seen.ways, _ = waysOf(n) // of what it was just given
}

func (d *drawing) only(c Containment) { d.host = d.host.With(c) }

// plan compiles: up to level 1 from the request, at level 2 from what was seen of it.
func (d *drawing) plan(t *testing.T) Plan {
	t.Helper()
	if d.at < durward.LevelIsolate {
		p, err := Compile(t.Context(), d.request, d.host)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	s, err := shapeOf(d.at, d.request, d.host)
	if err != nil {
		t.Fatal(err)
	}
	s.network, s.unix = d.request.Grant.Network.Mode, s.abi >= landlock.FiltersSockets
	s.keep = s.id.uid == s.own.uid && s.own.uid == 0
	s.dir, s.program, s.view = "/work", d.request.Program.Path, d.seen.String()
	p, err := compile(s, d.seen)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGoldenPlans compares each plan, and what would be held by it, with the file of its
// name.
//
//	go test ./internal/sandbox -run TestGoldenPlans -update
func TestGoldenPlans(t *testing.T) {
	dir := filepath.Join("testdata", "plans")
	var names []string
	for _, d := range goldens() {
		names = append(names, d.name+".txt")
		t.Run(d.name, func(t *testing.T) {
			p := d.plan(t)
			golden(t, filepath.Join(dir, d.name+".txt"), p.String()+reportText(t, p.Report))
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			t.Errorf("%s is the plan of nothing", e.Name())
		}
	}
}

// reportText gives a report, one guarantee to a line.
func reportText(t *testing.T, r durward.Report) string {
	t.Helper()
	var b strings.Builder
	for _, g := range durward.Guarantees() {
		held, err := json.Marshal(r.Guarantees[g])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "held     %s: %s\n", g, held)
	}
	for _, line := range r.Weak {
		fmt.Fprintf(&b, "weak     %s\n", line)
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// What a command's environment holds is nobody's to read in its plan.
func TestPlansDoNotShowTheEnvironment(t *testing.T) {
	for _, d := range goldens() {
		d.request.Env = append(d.request.Env, "TOKEN=hunter2")
		p := d.plan(t)
		if text := p.String(); strings.Contains(text, "hunter2") || p.direct && !strings.Contains(text, "TOKEN") {
			t.Errorf("%s:\n%s", d.name, text)
		}
	}
}

// Every call of a plan is named, on each architecture.
func TestPlansNameTheirCalls(t *testing.T) {
	for _, d := range goldens() {
		if text := d.plan(t).String(); strings.Contains(text, ": syscall") {
			t.Errorf("%s:\n%s", d.name, text)
		}
	}
}
