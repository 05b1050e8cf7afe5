//go:build unix

package mcppolicy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcppolicy"
)

const confined = "version: 1\nallowedRoots: [~/code, /w]\nwriteRules: [{path: ~/code/scratch, recursive: true}, {path: ~/code/project}, {path: ~/code/new, recursive: true, createIfMissing: true}]\n"

func grant(t *testing.T, c *mcppolicy.Command, env map[string]string) durward.Grant {
	t.Helper()
	p, err := c.Confine()
	if err != nil {
		t.Fatal(err)
	}
	d := p.Decide(durward.Call{Argv: []string{"x"}, Env: env}, durward.Tool{})
	if !d.Allow {
		t.Fatal(d.Reason)
	}
	return d.Grant
}

func TestWithoutASandboxACommandSeesTheRoots(t *testing.T) {
	there := standard()
	text := confined + "commands: [{id: c, exec: git, timeoutMs: 1500, maxOutputBytes: 7}]\nlimits: {maxAddressSpaceBytes: 9}\nprofiles: [{name: p, commands: [c]}]\n"
	p := compileOn(t, there.host(), text)
	g := grant(t, command(t, p, "c"), nil)
	if g.Mode != durward.WorkspaceWrite || !g.StepDown || g.Network.Mode != durward.NetNone {
		t.Errorf("got %+v", g)
	}
	if diff := cmp.Diff([]string{"/home/ann/code/scratch", "@tmp"}, g.Files.Write); diff != "" {
		t.Error(diff)
	}
	for _, root := range []string{"/home/ann/code", "/w"} {
		if !slices.Contains(g.Files.Read, root) {
			t.Errorf("%s is not readable: %v", root, g.Files.Read)
		}
	}
	l := g.Limits
	if l.Wall != 1500*time.Millisecond || l.Grace != 200*time.Millisecond || l.CPU != 3*time.Second || l.Memory != 4<<30 || l.AddressSpace != 9 || l.OpenFiles != 256 || l.Output != 7 {
		t.Errorf("got %+v", l)
	}
	there["/home/ann/code/new"] = dir()
	if g := grant(t, command(t, p, "c"), nil); !slices.Contains(g.Files.Write, "/home/ann/code/new") {
		t.Errorf("a directory that was made is not writable: %v", g.Files.Write)
	}
	narrow, err := p.Narrow("p")
	if err != nil {
		t.Fatal(err)
	}
	if g := grant(t, command(t, narrow, "c"), nil); len(g.Files.Write) != 1 {
		t.Errorf("a profile without write rules lets a command write %v", g.Files.Write)
	}
}

func TestASandboxThatWasWrittenHolds(t *testing.T) {
	p := compile(t, confined+"commands: [{id: a, exec: git, sandbox: {mode: read-only, limits: {wallMs: 5}}}, {id: b, exec: git}]\nsandbox: {mode: danger-full-access}\n")
	a, b := grant(t, command(t, p, "a"), nil), grant(t, command(t, p, "b"), nil)
	if a.Mode != durward.ReadOnly || a.StepDown || a.Limits.Wall != 5*time.Millisecond || a.Limits.OpenFiles != 256 {
		t.Errorf("got %+v", a)
	}
	if b.Mode != durward.DangerFullAccess || b.Limits.Wall != 30*time.Second {
		t.Errorf("got %+v", b)
	}
}

// Of two limits, that of the policy and that of the sandbox, the stricter one counts.
func TestTheStricterLimitCounts(t *testing.T) {
	p := compile(t, confined+"commands: [{id: a, exec: git, maxOutputBytes: 20, timeoutMs: 5000, sandbox: {mode: read-only, limits: {wallMs: 700, outputBytes: 4000}}}, {id: b, exec: git, maxOutputBytes: 20, timeoutMs: 50, sandbox: {mode: read-only, limits: {wallMs: 700, outputBytes: 10}}}]\n")
	a, b := command(t, p, "a"), command(t, p, "b")
	if of := grant(t, a, nil).Limits; a.Timeout != 700*time.Millisecond || of.Wall != a.Timeout || of.Output != 20 {
		t.Errorf("the stricter of two is not what counts: %v, %+v", a.Timeout, of)
	}
	if of := grant(t, b, nil).Limits; b.Timeout != 50*time.Millisecond || of.Wall != b.Timeout || of.Output != 10 {
		t.Errorf("the stricter of two is not what counts: %v, %+v", b.Timeout, of)
	}
}

// A fixed working directory is seen by the built-in sandbox, and has to be by one that was
// written.
func TestAFixedDirectoryIsSeen(t *testing.T) {
	there := standard()
	there["/opt"] = dir()
	fixed := confined + "commands: [{id: c, exec: git, cwdPolicy: fixed, cwd: /opt%s}]\n"
	p := compileOn(t, there.host(), fmt.Sprintf(fixed, ""))
	if g := grant(t, command(t, p, "c"), nil); !slices.Contains(g.Files.Read, "/opt") {
		t.Errorf("it reads %v", g.Files.Read)
	}
	compileOn(t, there.host(), fmt.Sprintf(fixed, ", sandbox: {mode: read-only, filesystem: {read: [/opt]}}"))
	compileOn(t, there.host(), fmt.Sprintf(fixed, ", sandbox: {mode: danger-full-access}"))
	err := load(there.host(), fmt.Sprintf(fixed, ", sandbox: {mode: read-only, filesystem: {read: [/w]}}"))
	wantProblems(t, err, "p.yaml:4:54: cwd: the sandbox of the command does not show /opt; name it under filesystem.read")
}

func TestListedVariablesMayBeSet(t *testing.T) {
	p := compile(t, confined+"commands: [{id: c, exec: git, envAllowlist: [GIT_PAGER]}]\n")
	if g := grant(t, command(t, p, "c"), map[string]string{"GIT_PAGER": "cat"}); g.Env["GIT_PAGER"] != "cat" {
		t.Errorf("got %v", g.Env)
	}
}

// What was a directory when the policy was loaded and is a link when a command asks for its
// confinement is never granted by where the link leads, at whatever moment it is put there.
func TestALinkInThePlaceOfAZoneGrantsNothing(t *testing.T) {
	own := ", sandbox: {mode: workspace-write, filesystem: {read: ['${workspace}'], write: [~/code/scratch]}}"
	for name, entry := range map[string]string{"built in": "", "written": own} {
		for look := 1; look < 12; look++ {
			there := standard()
			h, looks, watched := there.host(), 0, false
			resolve := h.Resolve
			h.Resolve = func(path string) (string, error) {
				if watched && strings.HasPrefix(path, "/home/ann/code/scratch") {
					if looks++; looks >= look {
						return "/etc", nil
					}
				}
				return resolve(path)
			}
			c := command(t, compileOn(t, h, confined+"commands: [{id: c, exec: git"+entry+"}]\n"), "c")
			watched = true
			p, err := c.Confine()
			if err == nil && slices.Contains(slices.Concat(p.Grant().Files.Write, p.Grant().Files.Read), "/etc") {
				t.Errorf("%s: a link at look %d gives %+v", name, look, p.Grant().Files)
			}
			if err != nil && durward.ReasonOf(err) != durward.PolicyInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
