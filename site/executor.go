package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A Command is what an [Executor] is to run. A page allows it, and it has been decided
// and recorded.
type Command struct {
	// Argv is the program and its arguments, without a shell.
	Argv []string
	Dir  string
	// Env is the whole environment.
	Env map[string]string
	// Limits: the time is kept by the context as well.
	Limits Limits
}

// An Output is what a command printed, and how it ended.
type Output struct {
	Stdout, Stderr []byte
	// Code is the exit code, or 128+n after signal n.
	Code int
}

// An Executor runs commands. It honours the end of ctx. An error is an [*Error] with
// code [Timeout], [OutputTooLarge] or [ExecFailed]; any other one is a failure to run.
type Executor interface {
	Execute(ctx context.Context, c Command) (Output, error)
}

// executing is an embedding program's executor as an engine.
type executing struct{ inner Executor }

// Enforces lists what an executor is told, and has to honour.
func (executing) Enforces() []durward.GrantField {
	return []durward.GrantField{durward.FieldEnv, durward.FieldLimits}
}

func (e executing) Prepare(_ context.Context, _ durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	return &execution{e.inner, c, g}, nil
}

// An execution is one command of an executor.
type execution struct {
	inner Executor
	call  durward.Call
	grant durward.Grant
}

func (x *execution) Run(ctx context.Context) (durward.Result, error) {
	began := time.Now()
	if err := ctx.Err(); err != nil {
		return durward.Result{}, err
	}
	limits := Limits{Timeout: x.grant.Limits.Wall, OutputBytes: x.grant.Limits.Output}
	out, err := x.inner.Execute(ctx, Command{Argv: x.call.Argv, Dir: x.call.Dir, Env: x.grant.Env, Limits: limits})
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if most := x.grant.Limits.Output; err == nil && int64(len(out.Stdout)+len(out.Stderr)) > most {
		err = &durward.Error{Reason: durward.OutputTooLarge, Op: "execute"}
	}
	if err != nil {
		return durward.Result{}, failed(ctx, inward(err))
	}
	return durward.Result{Stdout: capture(out.Stdout), Stderr: capture(out.Stderr), Exit: &out.Code, Took: time.Since(began)}, nil
}

// failed gives an error that has no code that of a failure to run, unless the call was
// ended.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil || durward.ReasonOf(err) != "" {
		return err
	}
	return &durward.Error{Reason: durward.ExecFailed, Op: "execute", Err: err}
}

func (*execution) Close() error { return nil }

func capture(text []byte) durward.Capture {
	sum := sha256.Sum256(text)
	return durward.Capture{Head: text, Total: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
}
