package process

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// meterEvery is the time between two looks at what a tree uses.
const meterEvery = 50 * time.Millisecond

// sigXCPU is the signal of a process that is over its processor time. Not every
// system has a name for it.
const sigXCPU = syscall.Signal(24)

// meter tells when to look at what the tree uses, and at the clock. Nothing comes where there
// is no limit of that kind: a timer that is set wakes a thread.
func (r *run) meter(ctx context.Context) (looks <-chan time.Time, stop func()) {
	limits := r.grant.Limits
	if _, ends := ctx.Deadline(); !ends && limits.Memory <= 0 && limits.CPU <= 0 {
		return nil, func() {}
	}
	meter := time.NewTicker(meterEvery)
	return meter.C, meter.Stop
}

// overuse compares what the tree uses with its limits and names the one it is over.
func (r *run) overuse() durward.Cause {
	limits := r.grant.Limits
	if limits.Memory <= 0 && limits.CPU <= 0 {
		return ""
	}
	if r.proc.Shortage() != sandbox.NoShortage {
		return durward.CauseLimitMemory
	}
	use := r.proc.Usage()
	watched := limits.Memory > 0 && r.plan.Report.Guarantees[durward.Mem].Held != durward.HeldKernel
	switch {
	case watched && use.Resident > limits.Memory:
		return durward.CauseLimitMemory
	case limits.CPU > 0 && use.CPU > limits.CPU:
		return durward.CauseLimitCPU
	}
	return ""
}

// exceeded reports an output that is over its caps, also one that was seen to be so
// only when the command had ended.
func (r *run) exceeded() error {
	switch {
	case r.kept.exceeded():
		return r.broke(durward.CauseLimitOutput, durward.OutputTooLarge, "the output is larger than the call may return")
	case r.hard.exceeded():
		return r.broke(durward.CauseLimitOutput, durward.LimitOutput, "the command printed more than it may")
	}
	return nil
}

// exited tells by itself why the command ended.
func (r *run) exited() error {
	exit := r.proc.Exit()
	if r.proc.Shortage() != sandbox.NoShortage {
		return r.overused(durward.CauseLimitMemory)
	}
	if exit.Err != nil {
		return exit.Err
	}
	r.cause = durward.CauseExit
	if exit.Status.Signaled() {
		r.cause = durward.CauseSignal
	}
	limit := r.grant.Limits.CPU
	byLimit := exit.Status.Signaled() && (exit.Status.Signal() == sigXCPU || exit.Status.Signal() == syscall.SIGKILL)
	if limit > 0 && byLimit && exit.CPU >= limit {
		return r.overused(durward.CauseLimitCPU)
	}
	return nil
}

func (r *run) overused(cause durward.Cause) error {
	if cause == durward.CauseLimitCPU {
		return r.broke(cause, durward.LimitCPU, "the command used more processor time than it may")
	}
	err := r.broke(cause, durward.LimitMemory, "the command used more memory than it may")
	if r.proc.Shortage() == sandbox.OuterShortage {
		err.Rule, err.Hint = "", sandbox.HintOuterShortage // no policy would help
		err.Err = errors.New("the machine, or a cgroup that durward lives in, ran out of memory, and a process of the command was killed for it")
	}
	return err
}

// broke ends a command that broke a cap, without a warning.
func (r *run) broke(cause durward.Cause, reason durward.Reason, what string) *durward.Error {
	r.cause = cause
	r.killed = "KILL"
	return &durward.Error{
		Reason: reason, Op: "run", Rule: string(cause), Err: errors.New(what),
		Hint: "make the command do less, or raise the limit in the policy",
	}
}
