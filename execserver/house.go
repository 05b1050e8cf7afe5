package execserver

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/core"
	door "github.com/durward/durward/internal/door/execserver"
	"github.com/durward/durward/internal/engine/hostfs"
	"github.com/durward/durward/internal/engine/httpreq"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/execpolicy"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/sandbox/confined"
)

// The transports, as records name them.
const (
	surfaceWebSocket = "ws"
	surfaceStdio     = "stdio"
)

const (
	// mostCalls bounds the calls at once, of which each process is one for as long as it lives.
	mostCalls = 8192
	// processEngine carries out processTool.
	processEngine                = "process"
	processTool   durward.ToolID = protocol.ProcessStart
)

// A house is a runtime with all that stands behind it.
type house struct {
	*core.Runtime
	dir      string // our working directory
	policy   *execpolicy.Policy
	keeper   *confined.Keeper
	programs *process.Engine
	files    *hostfs.Engine
}

func build(o Options) (*house, error) {
	requests, err := httpreq.New(httpreq.Options{Allow: o.AllowNet})
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	policy, err := policyOf(o, dir)
	if err != nil {
		return nil, err
	}
	h := &house{dir: dir, policy: policy, keeper: confined.New(), programs: process.New(process.Options{Host: sandbox.ProbeAll, Warm: true, Discreet: true})}
	h.files = hostfs.New(h.keeper)
	h.Runtime, err = core.New(core.Options{
		Source: catalogue(), Policy: policy, Recorder: o.Recorder, MaxConcurrent: mostCalls, MaxQueue: -1,
		Engines: map[string]core.Engine{processEngine: h.programs, httpreq.Name: requests, hostfs.Name: h.files},
	})
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	if err := h.holds(); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// holds refuses an operator's ceiling that no process could be held to on this machine. That
// nothing is held where nothing was asked for is no reason.
func (h *house) holds() error {
	d := h.policy.Decide(durward.Call{Tool: processTool, Argv: []string{"true"}, Dir: h.dir}, durward.Tool{ID: processTool})
	if !d.Allow {
		return nil // another directory may do
	}
	err := h.programs.Holds(context.Background(), d.Grant, h.dir)
	if e := durward.AsError(err); e != nil && e.Reason == durward.SandboxUnavailable {
		named := *e
		named.Hint = "leave out the flag that asks for it, or use a host that holds it (durward doctor)"
		return &named
	}
	return err
}

// policyOf gives the operator's ceiling.
func policyOf(o Options, dir string) (*execpolicy.Policy, error) {
	host := machine.Host("")
	host.Home, host.Own = home(), o.Own
	host.Hidden = slices.Concat(o.Hidden, o.Auth.Files())
	if o.StateDir != "" {
		host.Hidden = append(host.Hidden, o.StateDir)
	}
	return execpolicy.New(execpolicy.Options{Host: host, Dir: dir, Sandbox: o.Sandbox, Root: o.Root, Limits: o.Limits})
}

// catalogue lists what clients can ask for.
func catalogue() core.Catalogue {
	tools := append(slices.Concat(httpreq.Tools(), hostfs.Tools()), durward.Tool{
		ID: processTool, Title: "start a process", Doc: "Starts a program, and lets it go on.", Engine: processEngine,
		Effect: durward.Effect{Destructive: true, OpenWorld: true},
	})
	slices.SortFunc(tools, func(a, b durward.Tool) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return tools
}

// door makes the door of the house for one transport.
func (h *house) door(surface string, o Options) (*door.Server, error) {
	patience := time.Duration(0)
	if surface == surfaceStdio {
		patience = 5 * time.Second
	}
	return door.New(door.Options{
		Runtime: h.Runtime, Surface: surface, Info: machineInfo(h.dir, o.Version), Environ: os.Environ(), Dir: h.dir, TmpDir: os.TempDir(),
		Patience: patience, Confined: o.Root != "" || o.Sandbox.Confines(),
		Grace: graceOf(o.SessionGrace), Limits: door.Limits{Processes: o.Processes, Requests: o.Requests}, Logger: o.Logger,
	})
}

// close waits for the calls in flight and frees everything.
func (h *house) close() error {
	if h.Runtime != nil {
		h.Shutdown(context.Background())
	}
	return errors.Join(h.programs.Close(), h.files.Close(), h.keeper.Close())
}
