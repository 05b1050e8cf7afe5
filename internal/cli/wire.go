package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/sandbox"
)

// A house is a runtime with all that stands behind it.
type house struct {
	*core.Runtime
	engine  *process.Engine
	gate    *gate
	log     *audit.Log // nil where nothing is to be run
	witness *witness
	program *program
}

// commandTool runs a command.
const commandTool durward.ToolID = "exec"

var catalogue = core.Catalogue{{
	ID: commandTool, Title: "run a command", Doc: "Runs a program with arguments, without a shell.", Engine: "process",
	Effect: durward.Effect{Destructive: true, OpenWorld: true},
}}

// open builds a house that runs calls under the policy and records them.
func (p *program) open(policy core.Policy) (*house, error) {
	log, err := p.openLog(nil, audit.Leave{})
	if err != nil {
		return nil, err
	}
	h, err := p.build(policy, log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	h.log = log
	sandbox.Probe() // kept by the engine; no call is to spend its time on it
	return h, nil
}

// openLog opens the audit log as the configuration has it, but for what is to be left out.
// What goes wrong aside from calls is told to logger, which may be nil.
func (p *program) openLog(logger *slog.Logger, leave audit.Leave) (*audit.Log, error) {
	settings, _, err := p.settings()
	p.noteProject()
	if err != nil {
		return nil, err
	}
	dir, err := p.auditDir()
	if err != nil {
		return nil, err
	}
	if err := audit.Private(filepath.Dir(dir)); err != nil {
		return nil, unwritable(err)
	}
	settings.audit.Logger, settings.audit.Leave = logger, leave
	log, err := audit.Open(dir, settings.audit)
	return log, unwritable(err)
}

// unwritable adds what can be done where the log does not know it.
func unwritable(err error) error {
	var e *durward.Error
	if errors.As(err, &e) && e.Hint == "" {
		e.Hint = "make the folder writable, or name another one with " + varStateDir
	}
	return err
}

func (p *program) build(policy core.Policy, recorder core.Recorder) (*house, error) {
	h := &house{engine: process.New(process.Options{}), witness: &witness{Recorder: recorder}, program: p}
	h.gate = &gate{Engine: h.engine}
	runtime, err := core.New(core.Options{
		Source: catalogue, Policy: policy, Recorder: h.witness,
		Engines: map[string]core.Engine{"process": h.gate},
	})
	if err != nil {
		return nil, errors.Join(err, h.engine.Close())
	}
	h.Runtime = runtime
	return h, nil
}

// close waits for the calls in flight and frees everything but what the program keeps
// to its end.
func (h *house) close() error {
	h.Shutdown(context.Background())
	err := h.engine.Close()
	h.program.idle = true
	if h.log != nil {
		err = errors.Join(err, h.log.Close())
	}
	return err
}

// A gate is an engine that refuses calls which became impossible before they began, so
// that they, too, are decided and on record.
type gate struct {
	core.Engine
	// refusal is set before the call is made, or nil.
	refusal error
}

func (g *gate) Prepare(ctx context.Context, t durward.Tool, c durward.Call, grant durward.Grant) (core.Prepared, error) {
	if g.refusal != nil {
		return nil, g.refusal
	}
	return g.Engine.Prepare(ctx, t, c, grant)
}

// A witness is a recorder that remembers the one call of this program.
type witness struct {
	core.Recorder

	mu       sync.Mutex
	call     durward.Call     // guarded by mu; once it is on record
	decision durward.Decision // guarded by mu
}

func (w *witness) Deny(c durward.Call, d durward.Decision) error {
	err := w.Recorder.Deny(c, d)
	w.remember(c, d, err)
	return err
}

func (w *witness) Intent(c durward.Call, d durward.Decision) error {
	err := w.Recorder.Intent(c, d)
	w.remember(c, d, err)
	return err
}

func (w *witness) remember(c durward.Call, d durward.Decision, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.call, w.decision = c, d
	}
}

// seen gives the call as it is on record, and what was decided.
func (w *witness) seen() (durward.Call, durward.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.call, w.decision
}

// A noRecord refuses every call that is not a preview, unless it is for one that only tries the
// machine.
type noRecord struct{ trial bool }

var errNoRecord = &durward.Error{Reason: durward.AuditUnavailable, Op: "dry run"}

func (r noRecord) answer() error {
	if r.trial {
		return nil
	}
	return errNoRecord
}

func (r noRecord) Deny(durward.Call, durward.Decision) error { return r.answer() }

func (r noRecord) Intent(durward.Call, durward.Decision) error { return r.answer() }

func (r noRecord) Refused(durward.Call, durward.Decision, durward.Contact) error { return r.answer() }

func (r noRecord) Outcome(durward.Call, durward.Decision, durward.Result, error) error {
	return r.answer()
}
