//go:build unix

package policy_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// widerIn names the members in which grant a allows more than grant b. It asks about
// single paths, hosts and numbers and knows nothing of how grants are narrowed.
func widerIn(a, b durward.Grant) []string {
	a.Files, b.Files = spelledOut(a), spelledOut(b)
	var wider []string
	claim := func(member string, ok bool) {
		if !ok {
			wider = append(wider, member)
		}
	}
	modes := []durward.Mode{durward.ReadOnly, durward.WorkspaceWrite, durward.DangerFullAccess, durward.External}
	nets := []durward.NetworkMode{durward.NetNone, durward.NetLoopback, durward.NetAllowlist, durward.NetFull}
	claim("mode", slices.Index(modes, a.Mode) <= slices.Index(modes, b.Mode))
	claim("level", max(a.Level, a.MinLevel) >= b.Level || a.Level == durward.LevelAuto && b.Level == durward.LevelNone)
	claim("minLevel", a.MinLevel >= b.MinLevel)
	claim("stepDown", b.StepDown || !a.StepDown)
	for _, r := range b.Require {
		claim("require "+r.String(), slices.ContainsFunc(a.Require, func(s durward.Requirement) bool {
			return s.Guarantee == r.Guarantee && (s.Kernel || !r.Kernel) && (s.Firm || !r.Firm || !a.StepDown)
		}))
	}
	for _, path := range probes(a, b) {
		claim("files at "+path, accessTo(a, path) <= accessTo(b, path))
		claim("exec at "+path, !under(a.Files.Exec, path) || under(b.Files.Exec, path))
	}
	for _, glob := range b.Files.DenyGlobs {
		claim("deny "+glob, contains(a.Files.DenyGlobs, glob) || accessTo(a, globRoot(glob)) == 0)
	}
	claim("view", b.Files.HostReadOnly || !a.Files.HostReadOnly)
	claim("network.mode", slices.Index(nets, a.Network.Mode) <= slices.Index(nets, b.Network.Mode))
	for _, endpoint := range []string{"a.x:1", "b.a.x:1", "x:1", "a.x:2", "10.0.0.1:1", "y:1"} {
		claim("reach "+endpoint, !reaches(a.Network, endpoint) || reaches(b.Network, endpoint))
	}
	if a.Network.Mode == durward.NetAllowlist && b.Network.Mode == durward.NetAllowlist {
		claim("requireSNI", a.Network.RequireSNI || !b.Network.RequireSNI)
		for _, r := range a.Network.AllowPrivate {
			claim("private "+r, slices.ContainsFunc(b.Network.AllowPrivate, func(s string) bool {
				return s == r || strings.HasSuffix(s, "/8") && strings.HasPrefix(r, strings.SplitAfter(s, ".")[0])
			}))
		}
	}
	if b.Mode == durward.ReadOnly || b.Mode == durward.WorkspaceWrite {
		for _, s := range a.Network.UnixSockets {
			claim("socket "+s, contains(b.Network.UnixSockets, s))
		}
	}
	claim("identity", rank(a.Identity) <= rank(b.Identity))
	claim("limits", limitsWithin(a.Limits, b.Limits))
	return wider
}

// spelledOut gives the files of a grant, all of them where it leaves them open.
func spelledOut(g durward.Grant) durward.Files {
	if len(g.Files.Read)+len(g.Files.Write)+len(g.Files.Deny) == 0 && (g.Mode == durward.DangerFullAccess || g.Mode == durward.External) {
		return durward.Files{Read: []string{"/"}, Write: []string{"/"}, Exec: []string{"/"}, HostReadOnly: true} // whatever the view, it is all there
	}
	return g.Files
}

func rank(id durward.Identity) int {
	switch {
	case id.Keep:
		return 2
	case id.Fixed:
		return 1
	}
	return 0
}

func limitsWithin(a, b durward.Limits) bool {
	for _, pair := range [][2]int64{
		{int64(a.Wall), int64(b.Wall)},
		{int64(a.Grace), int64(b.Grace)},
		{int64(a.CPU), int64(b.CPU)},
		{a.Memory, b.Memory},
		{a.AddressSpace, b.AddressSpace},
		{a.Pids, b.Pids},
		{a.OpenFiles, b.OpenFiles},
		{a.FileSize, b.FileSize},
		{a.Tmp, b.Tmp},
		{a.Stdin, b.Stdin},
		{a.Output, b.Output},
		{a.OutputHard, b.OutputHard},
	} {
		if pair[1] > 0 && (pair[0] <= 0 || pair[0] > pair[1]) {
			return false
		}
	}
	return true
}

// under reports whether one of dirs holds path, climbing up from it.
func under(dirs []string, path string) bool { return depth(dirs, path) >= 0 }

// depth gives the length of the deepest of dirs that holds path, or -1.
func depth(dirs []string, path string) int {
	if path == "@tmp" {
		if contains(dirs, "@tmp") {
			return 9
		}
		path = "/"
	}
	for ; ; path = filepath.Dir(path) {
		if contains(dirs, path) {
			return len(path)
		}
		if path == "/" {
			return -1
		}
	}
}

// accessTo gives 0 for nothing, 1 for reading, 2 for writing.
func accessTo(g durward.Grant, path string) int {
	confined := g.Mode == durward.ReadOnly || g.Mode == durward.WorkspaceWrite
	read, write := depth(g.Files.Read, path), depth(g.Files.Write, path)
	switch {
	case confined && under(g.Files.Deny, path):
		return 0
	case read < 0 && write < 0:
		return 0
	case write < read || under(g.Files.Protect, path):
		return 1
	case g.Mode == durward.ReadOnly && path != "@tmp":
		return 9 // must never be
	}
	return 2
}

// probes are paths at, above, below and beside each that either grant names.
func probes(grants ...durward.Grant) []string {
	paths := []string{"/", "@tmp", "/elsewhere"}
	for _, g := range grants {
		for _, p := range slices.Concat(g.Files.Read, g.Files.Write, g.Files.Deny, g.Files.Protect, g.Files.Exec) {
			if p != "@tmp" {
				paths = append(paths, p, filepath.Dir(p), filepath.Join(p, "below"), p+"beside")
			}
		}
	}
	return paths
}

func globRoot(glob string) string {
	for strings.ContainsAny(glob, "*?[") {
		glob = filepath.Dir(glob)
	}
	return glob
}

func reaches(n durward.Network, endpoint string) bool {
	if n.Mode == durward.NetFull {
		return true
	}
	return n.Mode == durward.NetAllowlist && slices.ContainsFunc(n.Allow, func(entry string) bool {
		suffix, wild := strings.CutPrefix(entry, "*")
		return entry == endpoint || wild && strings.HasSuffix(endpoint, suffix)
	})
}

// drawPolicy draws a policy whose parts meet those of others often.
func drawPolicy(t *rapid.T, label string) *policy.Policy {
	paths := []string{"/srv", "/srv/shared", "~/notes", "${workspace}", "${workspace}/src", "/opt/tool", "~", "/usr", "/"}
	some := func(name string, from []string, least int) string {
		drawn := rapid.SliceOfNDistinct(rapid.SampledFrom(from), least, 4, rapid.ID[string]).Draw(t, label+name)
		quoted := make([]string, len(drawn))
		for i, d := range drawn {
			quoted[i] = fmt.Sprintf("%q", d)
		}
		return name + ": [" + strings.Join(quoted, ", ") + "]"
	}
	one := func(name string, from ...string) string {
		return name + ": " + rapid.SampledFrom(from).Draw(t, label+name)
	}
	limit := func(name string) string {
		return fmt.Sprintf("%s: %d", name, rapid.IntRange(1, 5).Draw(t, label+name))
	}
	var parts []string
	maybe := func(part string) {
		if rapid.Bool().Draw(t, label+"with "+part) {
			parts = append(parts, part)
		}
	}
	mode := rapid.SampledFrom([]string{"read-only", "workspace-write", "danger-full-access", "external"}).Draw(t, label+"mode")
	parts = append(parts, "mode: "+mode)
	maybe(one("minLevel", "0", "1", "2"))
	maybe(one("level", "auto", "2", "3"))
	maybe(some("require", []string{"fs.read", "mem", "mem!", "kill", "kill!", "net"}, 0))
	maybe(one("identity", "auto", "keep", "'5:5'"))
	maybe("limits: {" + limit("wallMs") + ", " + limit("pids") + ", " + limit("addressSpaceBytes") + "}")
	maybe(some("env: {pass", []string{"TERM", "TOKEN"}, 0) + ", set: {" + one("A", "x", "y") + ", " + one("B", "z") + "}}")
	network := one("mode", "none", "loopback", "allowlist", "full")
	parts = append(parts, "network: {"+network+", "+some("allow", []string{"a.x:1", "*.x:1", "*.a.x:1", "10.0.0.1:1", "y:1"}, 1)+", "+
		some("allowPrivate", []string{"10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/16"}, 0)+", "+one("requireSNI", "true", "false")+", "+
		some("unixSockets", []string{"/srv/shared", "/opt/tool"}, 0)+"}")
	if mode != "danger-full-access" {
		write := some("write", append(paths, "@tmp"), 0)
		if mode == "read-only" {
			write = "write: ['@tmp']"
		}
		maybe("filesystem: {" + some("read", append(paths, "@system", "~/.ssh"), 0) + ", " + write + ", " +
			some("deny", append(paths, "${workspace}/**/.env", "/srv/*.key"), 0) + ", " + some("protect", append(paths, "@vcs", "@agent"), 0) + ", " +
			some("exec", append(paths, "@tmp"), 0) + ", " + one("view", "private", "host-ro") + ", " + one("copyOnWrite", "true", "false") + "}")
	}
	text := "{" + strings.Join(parts, ", ") + "}"
	doc, err := policy.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	p, err := policy.Compile(doc, host())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

func TestNarrowingNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPolicy(t, "a "), drawPolicy(t, "b ")
		got := policy.Narrow(a, b).Grant()
		for _, side := range []*policy.Policy{a, b} {
			if wider := widerIn(got, side.Grant()); len(wider) > 0 {
				t.Fatalf("wider in %v\nof  %+v\nand %+v\ncame %+v", wider, a.Grant(), b.Grant(), got)
			}
			for name := range got.Env {
				if _, ok := side.Grant().Env[name]; !ok {
					t.Fatalf("%s came from one side only", name)
				}
			}
		}
	})
}

func TestNarrowingTwiceIsNarrowingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPolicy(t, "a "), drawPolicy(t, "b ")
		if diff := cmp.Diff(a.Grant(), policy.Narrow(a, a).Grant()); diff != "" {
			t.Fatal(diff)
		}
		once := policy.Narrow(a, b)
		if diff := cmp.Diff(once.Grant(), policy.Narrow(once, b).Grant()); diff != "" {
			t.Fatal(diff)
		}
		if once.Hash() != policy.Narrow(once, once).Hash() {
			t.Fatal("the hashes differ")
		}
	})
}

func TestTheOrderOfNarrowingDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawPolicy(t, "a "), drawPolicy(t, "b "), drawPolicy(t, "c ")
		same := func(x, y *policy.Policy) {
			t.Helper()
			g, h := x.Grant(), y.Grant()
			g.Env, h.Env = nil, nil // two values of one name: outer's
			if diff := cmp.Diff(g, h); diff != "" {
				t.Fatal(diff)
			}
		}
		same(policy.Narrow(a, b), policy.Narrow(b, a))
		same(policy.Narrow(policy.Narrow(a, b), c), policy.Narrow(a, policy.Narrow(b, c)))
	})
}

func TestNarrowingTakesNothingMoreThanItMust(t *testing.T) {
	outer := compile(t, "{mode: workspace-write, filesystem: {write: [/srv, '@tmp'], read: ['@system', /opt]}, network: {mode: allowlist, allow: ['*.x:1', 'y:1']}}")
	inner := compile(t, "{mode: workspace-write, filesystem: {write: [/srv/shared, /opt/tool, '@tmp'], read: [/usr, /srv]}, network: {mode: allowlist, allow: ['a.x:1', 'z:1']}}")
	g := policy.Narrow(outer, inner).Grant()
	if diff := cmp.Diff([]string{"/srv/shared", "@tmp"}, g.Files.Write); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/opt/tool", "/srv", "/usr"}, g.Files.Read); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a.x:1"}, g.Network.Allow); diff != "" {
		t.Error(diff)
	}
}

func TestNothingInCommonIsNotEverything(t *testing.T) {
	a, b := compile(t, "{mode: external, filesystem: {read: [/srv]}}"), compile(t, "{mode: external, filesystem: {read: [/usr]}}")
	if diff := cmp.Diff(durward.Files{Deny: []string{"/"}}, policy.Narrow(a, b).Grant().Files); diff != "" {
		t.Error(diff)
	}
}

func TestDenialsPointToTheStricterPolicy(t *testing.T) {
	doc := func(file, text string) *policy.Policy {
		d, err := policy.Parse(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Compile(d, host())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	operator := doc("operator.yaml", "limits: {pids: 9, wallMs: 100}\n")
	door := doc("door.yaml", "limits: {pids: 5, wallMs: 200, openFiles: 4096}\nfilesystem: {exec: []}\n")
	p := policy.Narrow(operator, door)
	for member, want := range map[durward.Limits]string{
		{Pids: 6}:         "door.yaml:1:16",
		{Wall: 200e6}:     "operator.yaml:1:27",
		{OpenFiles: 4000}: "operator.yaml:1:1", // by the default there
	} {
		if d := p.Decide(asking(durward.Ask{Limits: member}), durward.Tool{}); d.Allow || d.Where.String() != want {
			t.Errorf("got %v, want %s: %s", d.Where, want, d.Remedy)
		}
	}
}

func TestTwoRootsThatDoNotMeetLeaveNoDirectory(t *testing.T) {
	h := host()
	h.Workspace = "/srv"
	p := policy.Narrow(compile(t, "filesystem: {read: [/]}"), compileOn(t, h, "filesystem: {read: [/]}"))
	for _, dir := range []string{"/srv", "/home/ann/work", "/"} {
		if d := p.Decide(within(dir), durward.Tool{}); d.Allow {
			t.Errorf("%s is allowed", dir)
		}
	}
	h.Workspace = "/home/ann/work/src"
	p = policy.Narrow(compile(t, "{}"), compileOn(t, h, "{}"))
	grantOf(t, p, within("/home/ann/work/src"))
	if d := p.Decide(within("/home/ann/work"), durward.Tool{}); d.Allow {
		t.Error("the wider root counts")
	}
}
