package execpolicy_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/execpolicy"
)

// Variables go to the process as they are; under a confinement the loader's do not.
func TestVariables(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name, value string
		confined    durward.Reason
		open        durward.Reason
	}{
		{"PATH", "/odd", "", ""},
		{"BASH_ENV", "x", "", ""},
		{"HTTPS_PROXY", "x", "", ""},
		{"with space", "ünï\ncode\xff", "", ""},
		{"ld_preload", "x", "", ""},
		{"LD", "x", "", ""},
		{"LD_PRELOAD", "x", durward.EnvDenied, ""},
		{"LD_", "", durward.EnvDenied, ""},
		{"", "x", durward.BadEnvName, durward.BadEnvName},
		{"a=b", "x", durward.BadEnvName, durward.BadEnvName},
		{"a\x00", "x", durward.BadEnvName, durward.BadEnvName},
		{"a", "secret\x00", durward.BadEnvName, durward.BadEnvName},
	} {
		for _, under := range []struct {
			o      execpolicy.Options
			object string
			want   durward.Reason
		}{
			{execpolicy.Options{}, `null`, tt.open},
			{execpolicy.Options{}, disabled, tt.open},
			{execpolicy.Options{}, readOnly, tt.confined},
			{execpolicy.Options{Root: w.at("ws")}, `null`, tt.confined},
		} {
			c := w.call(under.object, "ws", "true")
			c.Env = map[string]string{"A": "b", tt.name: tt.value}
			d := w.policy(under.o).Decide(c, durward.Tool{})
			if d.Code != under.want || d.Allow != (d.Code == "") || strings.Contains(d.Reason, "secret") {
				t.Errorf("%q under %+v: %+v", tt.name, under, d)
			}
			if d.Allow && (!maps.Equal(d.Grant.Env, c.Env) || len(d.Grant.PrivateDir) > 0) {
				t.Errorf("%q became %q, %q", c.Env, d.Grant.Env, d.Grant.PrivateDir)
			}
		}
	}
	c := w.call(`null`, "ws", "true")
	c.Env = nil
	if d := w.policy(execpolicy.Options{}).Decide(c, durward.Tool{}); d.Grant.Env == nil {
		t.Error("no variables are as good as unknown ones")
	}
}

// Processes have no limits but those of the operator, and a file operation has none.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	set := durward.Limits{Wall: time.Minute, CPU: time.Second, Memory: 1 << 20, Pids: 9}
	for _, object := range []string{`null`, workspace, readOnly} {
		c := w.call(object, "ws", "true")
		g := w.policy(execpolicy.Options{}).Decide(c, durward.Tool{}).Grant
		l := g.Limits.WithDefaults()
		for what, limit := range map[string]int64{"wall": int64(l.Wall), "cpu": int64(l.CPU), "memory": l.Memory, "pids": l.Pids, "output": l.OutputHard, "files": l.OpenFiles, "file": l.FileSize} {
			if limit > 0 {
				t.Errorf("%s: %s has a limit of %d", object, what, limit)
			}
		}
		if l.Output != 1<<20 || g.Keep != durward.KeepStream || requires(g, durward.Pids) || requires(g, durward.Mem) {
			t.Errorf("%s: %+v", object, g)
		}
		g = w.policy(execpolicy.Options{Limits: set}).Decide(c, durward.Tool{}).Grant
		if l := g.Limits; l.Wall != set.Wall || l.CPU != set.CPU || l.Memory != set.Memory || l.Pids != set.Pids || !requires(g, durward.Pids) || !requires(g, durward.Mem) {
			t.Errorf("%s: %+v", object, g)
		}
		c.Ask.Limits = durward.Limits{Wall: time.Second, Pids: 100}
		if l := w.policy(execpolicy.Options{Limits: set}).Decide(c, durward.Tool{}).Grant.Limits; l.Wall != time.Second || l.Pids != 9 {
			t.Errorf("%s: %+v", object, l)
		}
		c = durward.Call{Tool: "fs/readFile", Input: []byte(`{}`), Ask: durward.Ask{Confinement: w.confinement(object, "ws")}}
		l = w.policy(execpolicy.Options{Limits: set}).Decide(c, durward.Tool{}).Grant.Limits.WithDefaults()
		if l.Wall > 0 || l.Output > 0 {
			t.Errorf("%s: %+v", object, l)
		}
	}
}

func requires(g durward.Grant, guarantee durward.Guarantee) bool {
	return slices.ContainsFunc(g.Require, func(r durward.Requirement) bool { return r.Guarantee == guarantee })
}

// What a call asks for in other ways is not passed over.
func TestOtherWaysToAskForLess(t *testing.T) {
	w := newWorld(t)
	for _, ask := range []durward.Ask{{Mode: durward.ReadOnly}, {Network: durward.NetNone}, {MinLevel: durward.LevelIsolate}} {
		c := w.call(`null`, "ws", "true")
		c.Ask = ask
		if d := w.policy(execpolicy.Options{}).Decide(c, durward.Tool{}); d.Allow || d.Code != durward.BadCall {
			t.Errorf("%+v: %+v", ask, d)
		}
	}
}

// A confinement is held below no level that enforces it, and steps down from nothing.
func TestGrantsAreHeld(t *testing.T) {
	w := newWorld(t)
	p := w.policy(execpolicy.Options{})
	for _, object := range []string{workspace, readOnly, little, seedOld} {
		g := p.Decide(w.call(object, "ws", "true"), durward.Tool{}).Grant
		if g.MinLevel < durward.LevelRestrict || g.StepDown || g.Identity != (durward.Identity{}) || g.Network.Mode != durward.NetNone || !requires(g, durward.Net) || !requires(g, durward.FSWrite) {
			t.Errorf("%s: %+v", object, g)
		}
	}
	for _, object := range []string{`null`, disabled, `{"sandboxPolicy":{"type":"external-sandbox"}}`} {
		g := p.Decide(w.call(object, "ws", "true"), durward.Tool{}).Grant
		if g.Mode != durward.DangerFullAccess || g.Level != durward.LevelNone || !g.Identity.Keep || g.Network.Mode != durward.NetFull || len(g.Files.Read)+len(g.Files.Write)+len(g.Files.Deny) > 0 {
			t.Errorf("%s: %+v", object, g)
		}
		if e := w.run(p, w.call(object, "ws", "true")); e.err != nil || len(e.Report.Weak) == 0 || e.Report.Level != 0 {
			t.Errorf("%s: %+v, %v", object, e.Report, e.err)
		}
	}
}

// A confinement that comes again is looked at anew as far as the machine has changed.
func TestChangesAreNoticed(t *testing.T) {
	w := newWorld(t)
	must(t, os.Mkdir(w.at("other"), 0o755))
	must(t, os.WriteFile(w.at("other/a.txt"), []byte("other\n"), 0o644))
	must(t, os.Symlink("ws", w.at("link")))
	w.ofUser()
	p := w.policy(execpolicy.Options{})
	object := holding(entry("write", "$T/link"), entry("read", "$T/late"), entry("read", "$T/link/sub"))
	look := func(dir, script, want string) {
		t.Helper()
		if e := w.run(p, w.call(object, dir, "exec 2>/dev/null; "+script)); strings.Join(strings.Fields(e.out), " ") != want {
			t.Errorf("%q, %v; want %q", e.out, e.err, want)
		}
	}
	look("ws", "cat a.txt; ls $T", "in ws/a.txt ws")

	must(t, os.WriteFile(w.at("late"), []byte("late\n"), 0o644))
	look("ws", "cat $T/late", "late")
	must(t, os.Remove(w.at("late")))
	look("ws", "cat $T/late; echo done", "done")

	must(t, os.Remove(w.at("link")))
	must(t, os.Symlink("other", w.at("link")))
	look("other", "cat a.txt; cat $T/ws/a.txt; echo x > n && echo written", "other written")

	must(t, os.Remove(w.at("link")))
	must(t, os.Symlink("ws", w.at("link")))
	must(t, os.Rename(w.at("ws/sub"), w.at("ws/moved")))
	look("ws", "echo x > moved/b.txt && echo written; cat a.txt", "written in ws/a.txt")
	must(t, os.Rename(w.at("ws/moved"), w.at("ws/sub")))
	look("ws", "echo x > sub/b.txt || echo denied", "denied")

	// What a command puts in the place of a directory leads the next one nowhere.
	must(t, os.Rename(w.at("ws/sub"), w.at("ws/moved")))
	must(t, os.Symlink("../out", w.at("ws/sub")))
	look("ws", "cat sub/secret.txt $T/out/secret.txt; echo x > sub/n; echo done", "done")
	if w.holds("out/n") != "" {
		t.Error("it was led out")
	}
}

// Many clients have their own confinements, and none gets another one's.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	p := w.policy(execpolicy.Options{})
	const confinements = 100
	for i := range confinements {
		must(t, os.Mkdir(w.at(fmt.Sprint("d", i)), 0o755))
	}
	var done sync.WaitGroup
	for i := range 8 * confinements {
		done.Go(func() {
			dir := w.at(fmt.Sprint("d", i%confinements))
			c := durward.Call{Tool: "fs/readFile", Input: []byte(`{}`), Ask: durward.Ask{Confinement: &durward.Confinement{
				Mode: durward.ReadOnly, Network: durward.NetNone, Entries: []durward.Entry{{Path: dir, Access: durward.AccessRead}},
			}}}
			d := p.Decide(c, durward.Tool{})
			if !d.Allow || !slices.Equal(d.Grant.Files.Read, []string{dir}) {
				t.Errorf("%s: %+v", dir, d)
			}
			d.Grant.Files.Read[0] = "/" // it is the caller's own
		})
	}
	done.Wait()
}

// A request to a host reads no files, and no ceiling of files is in its way.
func TestRequestsToHosts(t *testing.T) {
	w := newWorld(t)
	for _, o := range []execpolicy.Options{{}, {Root: w.at("ws")}, {Sandbox: durward.ReadOnly}} {
		d := w.policy(o).Decide(durward.Call{Tool: "http/request", Input: []byte(`{}`)}, durward.Tool{})
		if asks := d.Grant.Asks(); !d.Allow || !slices.Equal(asks, []durward.GrantField{durward.FieldLimits}) {
			t.Errorf("%+v: %v, %q", o, d, asks)
		}
	}
}
