package execserver

import (
	"cmp"
	"encoding/json"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/door/execserver/object"
	"github.com/durward/durward/internal/fileuri"
)

// firstSize is that of a terminal until somebody says otherwise.
var firstSize = durward.WindowSize{Rows: 24, Cols: 80}

func checkStart(p protocol.StartParams) error {
	_, _, err := fileuri.Parse(p.Cwd)
	return cmp.Or(err, short(p.ProcessID), checkSandbox(p.Sandbox))
}

// checkSandbox says what is wrong with a sandbox object, whatever its words stand for.
func checkSandbox(raw json.RawMessage) error {
	_, err := object.Parse(raw, object.Environment{Cwd: "/", ServerCwd: "/"})
	return err
}

// startProcess starts a process. Its name is taken at once, so that of two starts with one
// name the first has it.
func (c *conn) startProcess(r request, p protocol.StartParams) {
	proc := newProcess(c.session, p)
	call, err := c.startCall(r, p)
	if err == nil {
		proc.confined = c.server.Confined || confines(call.Ask.Confinement)
		err = c.session.reserve(proc)
	}
	if err != nil {
		c.answer(r, nil, c.server.Runtime.Refuse(call, err))
		return
	}
	held := c.hold(r.size)
	begun := c.server.begin(func() {
		follow, err := proc.open(call)
		if err != nil {
			c.answer(r, nil, err)
		} else {
			encode(c, r, protocol.StartResult{ProcessID: proc.id, SandboxType: sandboxType(proc.confined)})
		}
		close(proc.told)
		if held {
			c.release(r.size)
		}
		if err == nil {
			follow() // here: each goroutine more would have to be woken
		}
	})
	if !begun {
		c.session.release(proc)
	}
}

// startCall gives the call that starts a process.
func (c *conn) startCall(r request, p protocol.StartParams) (durward.Call, error) {
	call := c.call(r)
	dir, _, err := fileuri.Parse(p.Cwd)
	switch {
	case err != nil:
		return call, err
	case p.EnforceManagedNetwork:
		return call, refusal(protocol.InvalidRequest, "there is no managed network here, and so nothing that could be enforced")
	}
	call.Argv, call.Dir, call.Env = p.Argv, dir, environment(p, c.server.Environ)
	call.NoInput = !p.TTY && !p.PipeStdin
	if p.TTY {
		size := firstSize
		call.Terminal = &size
	}
	if p.Arg0 != nil {
		call.Program = p.Argv[0]
		call.Argv = append([]string{*p.Arg0}, p.Argv[1:]...)
	}
	call.Ask.Limits, call.Ask.Lossless = c.session.limits, p.Durward != nil && p.Durward.Flow
	call.Ask.Confinement, err = object.Parse(p.Sandbox, c.words(dir, call.Env["TMPDIR"]))
	if c.server.Confined || confines(call.Ask.Confinement) {
		call.Env = environment(p, withoutLoader(c.server.Environ))
	}
	return call, err
}

// words is what the words of a sandbox object stand for.
func (c *conn) words(cwd, tmp string) object.Environment {
	if cwd == "" {
		tmp = c.server.TmpDir
	}
	return object.Environment{Cwd: cwd, TmpDir: tmp, ServerCwd: c.server.Dir}
}

// confines reports whether a confinement holds a process to anything.
func confines(asked *durward.Confinement) bool {
	return asked != nil && asked.Mode.Confines()
}

// sandboxType is a word of the reference server for what holds a process.
func sandboxType(confined bool) string {
	if confined {
		return "linuxSeccomp"
	}
	return "none"
}
