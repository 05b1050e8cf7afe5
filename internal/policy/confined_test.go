//go:build unix

package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// entries reads "write /a", "read? /b" for what may be missing, "deny /a :: *.env" for a
// pattern and "read @" for the files of the platform.
func entries(texts ...string) durward.Confinement {
	c := durward.Confinement{Mode: durward.ReadOnly, Network: durward.NetNone}
	for _, text := range texts {
		access, rest, _ := strings.Cut(text, " ")
		path, pattern, _ := strings.Cut(rest, " :: ")
		access, ifThere := strings.CutSuffix(access, "?")
		e := durward.Entry{Path: path, Pattern: pattern, Access: durward.Access(access), IfThere: ifThere, Member: "member"}
		if path == "@" {
			e.Path, e.Platform = "", true
		}
		if e.Access == durward.AccessWrite {
			c.Mode = durward.WorkspaceWrite
		}
		c.Entries = append(c.Entries, e)
	}
	return c
}

// sets writes the sets of a grant one to a line.
func sets(f durward.Files) []string {
	var list []string
	for _, set := range []struct {
		name  string
		paths []string
	}{{"read", f.Read}, {"write", f.Write}, {"deny", f.Deny}, {"glob", f.DenyGlobs}, {"protect", f.Protect}} {
		for _, path := range set.paths {
			list = append(list, set.name+" "+path)
		}
	}
	return list
}

func confinedHost() policy.Host {
	h := hostOf(standard().with(map[string]string{
		"/home/ann/work/out": "/srv", "/home/ann/work/in": "/home/ann/work/src", "/tmp": "/tmp", "/proc": "/proc", "/proc/self": "/proc/7",
		"/home/ann/work/src/deep": "/home/ann/work/src/deep", "/weird": "/weird[1]", "/weird[1]": "/weird[1]", "/dev": "/dev", "/dev/shm": "/dev/shm",
	}))
	h.Own, h.Workspace, h.Home = nil, "", ""
	return h
}

func TestConfinedSets(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []string
		want    []string
	}{
		{"nothing", nil, nil},
		{"a path twice", []string{"read /srv", "read /srv"}, []string{"read /srv"}},
		{"a missing path", []string{"read /none", "write /none/x", "read? /none"}, nil},
		{"a link", []string{"write /home/ann/link"}, []string{"write /data/real"}},
		{"a path with much missing", []string{"write /srv", "protect /srv/shared/a/b/c/d/e", "protect /home/ann/link/x/y"}, []string{"write /srv", "protect /srv/shared/a/b/c/d/e"}},
		{"a path with much missing by a link", []string{"write /data", "deny /home/ann/link/x/y/z"}, []string{"write /data", "deny /data/real/x/y/z"}},
		{"within the same", []string{"write /srv", "write /srv/shared", "read /opt", "read /opt/tool"}, []string{"read /opt", "write /srv"}},
		{"the platform", []string{"read @"}, []string{"read /etc/passwd", "read /etc/ssl", "read /usr"}},
		{"all of the machine", []string{"read /", "read @"}, []string{"read /"}},
		{"a denied platform", []string{"read /", "deny @"}, []string{"read /", "deny /etc/passwd", "deny /etc/ssl", "deny /usr"}},

		{"read in write is kept", []string{"write /home/ann/work", "read /home/ann/work/src"}, []string{"write /home/ann/work", "protect /home/ann/work/src"}},
		{"also where nothing is", []string{"write /home/ann/work", "read /home/ann/work/none"}, []string{"write /home/ann/work", "protect /home/ann/work/none"}},
		{"unless that may be", []string{"write /home/ann/work", "read? /home/ann/work/none"}, []string{"write /home/ann/work"}},
		{"by a link", []string{"write /home/ann/work", "read /home/ann/work/in"}, []string{"write /home/ann/work", "protect /home/ann/work/in", "protect /home/ann/work/src"}},
		{"by a link that leads out nothing is read", []string{"write /home/ann/work", "read /home/ann/work/out/shared"}, []string{"write /home/ann/work"}},
		{"and the link is kept", []string{"write /home/ann/work", "read /home/ann/work/out"}, []string{"write /home/ann/work", "protect /home/ann/work/out"}},
		{"write in read in write", []string{"write /home/ann/work", "read /home/ann/work/src", "write /home/ann/work/src/deep"}, []string{"read /home/ann/work/src", "write /home/ann/work", "write /home/ann/work/src/deep"}},
		{"read in read in write", []string{"write /home/ann", "read /home/ann/work", "read /home/ann/work/src"}, []string{"read /home/ann/work/src", "write /home/ann", "protect /home/ann/work"}},
		{"write wins over read", []string{"read /srv", "write /srv"}, []string{"write /srv"}},
		{"deny wins over both", []string{"read /srv", "write /srv", "deny /srv"}, nil},
		{"deny by another name", []string{"write /data", "deny /home/ann/link"}, []string{"write /data", "deny /data/real"}},
		{"deny of nothing that is given", []string{"deny /home", "write /home/ann/work"}, []string{"write /home/ann/work"}},
		{"deny of what is missing", []string{"write /srv", "deny /srv/none", "deny? /srv/also"}, []string{"write /srv", "deny /srv/none"}},
		{"deny in read in write", []string{"write /home/ann/work", "read /home/ann/work/src", "deny /home/ann/work/src/deep"}, []string{"write /home/ann/work", "deny /home/ann/work/src/deep", "protect /home/ann/work/src"}},
		{"protect", []string{"write /srv", "protect /srv/.git", "protect /opt/.git"}, []string{"write /srv", "protect /srv/.git"}},
		{"protect over write", []string{"write /home/ann/work", "write /home/ann/work/src", "protect /home/ann/work/src"}, []string{"write /home/ann/work", "protect /home/ann/work/src"}},
		{"what a command has for itself", []string{"read /proc/self", "write /dev/shm", "read /dev"}, nil},
		{"patterns", []string{"write /home/ann/work", "deny /home/ann/work :: **/*.env"}, []string{"write /home/ann/work", "glob /home/ann/work/**/*.env"}},
		{"patterns from the root", []string{"read /srv", "deny / :: srv/shared/?"}, []string{"read /srv", "glob /srv/shared/?"}},
		{"patterns by a link", []string{"read /data", "deny /home/ann/link :: *"}, []string{"read /data", "glob /data/real/*"}},
		{"patterns in a directory with a name like one", []string{"read /weird", "deny /weird :: *.[ab]"}, []string{"read /weird[1]", "glob /weird[[]1]/*.[ab]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := policy.Confined(entries(tt.entries...), confinedHost(), policy.OfCaller)
			if err != nil {
				t.Fatal(err)
			}
			g := p.Grant()
			if diff := cmp.Diff(tt.want, sets(g.Files)); diff != "" {
				t.Error(diff)
			}
			if g.StepDown || g.Identity.Keep || g.Network.Mode != durward.NetNone || g.Mode != entries(tt.entries...).Mode {
				t.Errorf("%+v", g)
			}
		})
	}
}

func TestConfinedRefusals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []string
		want    durward.Reason
	}{
		{"read in deny in read", []string{"read /", "deny /home", "read /home/ann/work"}, durward.SandboxUnavailable},
		{"write in deny in write", []string{"write /home", "deny /home/ann", "write /home/ann/work"}, durward.SandboxUnavailable},
		{"a link that leads out", []string{"write /home/ann/work", "write /home/ann/work/out"}, durward.OutsideRoot},
		{"a link on the way out", []string{"write /home/ann/work", "write /home/ann/work/out/shared"}, durward.OutsideRoot},
		{"a pattern that is none", []string{"read /", "deny / :: a{b}*"}, durward.PolicyInvalid},
		{"too many", slices.Repeat([]string{"read /"}, durward.MaxEntries+1), durward.SandboxUnavailable},
		{"too long together", slices.Repeat([]string{"read /srv" + strings.Repeat("/a", 2000)}, 40), durward.SandboxUnavailable},
	} {
		p, err := policy.Confined(entries(tt.entries...), confinedHost(), policy.OfCaller)
		if p != nil || durward.ReasonOf(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// An operator's words deny and protect what nobody has to name; the runtime's own files are
// protected whoever speaks.
func TestConfinedByWhom(t *testing.T) {
	h := confinedHost()
	h.Home, h.Own = "/home/ann", []string{"/home/ann/work/state"}
	c := entries("write /home/ann")
	for _, tt := range []struct {
		by   policy.Voice
		want []string
		not  []string
	}{
		{policy.OfCaller, []string{"protect /home/ann/work/state"}, []string{"deny /home/ann/.ssh", "protect /home/ann/.git/hooks"}},
		{policy.OfOperator, []string{"protect /home/ann/work/state", "deny /home/ann/.ssh", "protect /home/ann/.git/hooks", "protect /home/ann/.bashrc"}, nil},
	} {
		p, err := policy.Confined(c, h, tt.by)
		if err != nil {
			t.Fatal(err)
		}
		got := sets(p.Grant().Files)
		for _, line := range tt.want {
			if !slices.Contains(got, line) {
				t.Errorf("%d lacks %s: %q", tt.by, line, got)
			}
		}
		for _, line := range tt.not {
			if slices.Contains(got, line) {
				t.Errorf("%d has %s", tt.by, line)
			}
		}
	}
}

func TestApart(t *testing.T) {
	for _, tt := range []struct {
		entries []string
		want    []string
	}{
		{[]string{"read /"}, []string{"read /", "read /tmp"}},
		{[]string{"read /", "read /tmp"}, []string{"read /", "read /tmp"}},
		{[]string{"read /", "write /tmp"}, []string{"read /", "write /tmp"}},
		{[]string{"read /", "write /srv"}, []string{"read /", "read /tmp", "write /srv"}},
		{[]string{"read /", "deny /tmp"}, []string{"read /", "deny /tmp"}},
		{[]string{"read /usr", "write /srv"}, []string{"read /usr", "write /srv"}},
		{[]string{"write /srv", "write /srv/shared"}, []string{"write /srv", "write /srv/shared"}},
		{[]string{"write /srv", "write /srv/shared", "deny /srv/shared"}, []string{"write /srv", "deny /srv/shared"}},
		{[]string{"write /srv", "write /srv/shared", "protect /srv/shared"}, []string{"write /srv", "protect /srv/shared"}},
		{[]string{"write /home/ann", "read /home/ann/work", "write /home/ann/work/src", "write /home/ann/work/src/deep"}, []string{
			"read /home/ann/work", "write /home/ann", "write /home/ann/work/src", "write /home/ann/work/src/deep",
		}},
	} {
		p, err := policy.Confined(entries(tt.entries...), confinedHost(), policy.OfCaller)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, sets(p.Apart(true).Files)); diff != "" {
			t.Errorf("%q: %s", tt.entries, diff)
		}
	}
	outer, err := policy.Confined(entries("read /", "write /srv/shared"), confinedHost(), policy.OfOperator)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := policy.Confined(entries("read /srv", "write /srv/shared", "write /data", "write /data/real"), confinedHost(), policy.OfCaller)
	if err != nil {
		t.Fatal(err)
	}
	f := policy.Narrow(outer, inner).Apart(false).Files
	if !slices.Equal(f.Write, []string{"/srv/shared"}) {
		t.Errorf("what is narrowed is written in %q", f.Write)
	}
}
