package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// runPlain runs the command to its end and then prints what it said.
func (x *execution) runPlain(ctx context.Context, signals *signals, h *house) error {
	wall := x.wall()
	if wall > 0 {
		x.call.Deadline = x.began.Add(wall)
	}
	reading := x.working("reading standard input")
	input, err := x.input(ctx)
	reading.done()
	if err != nil {
		return x.refuse(ctx, signals, h, err)
	}
	x.call.Stdin = input
	working := x.working(x.subject() + " is running")
	var result durward.Result
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = h.Do(ctx, x.call)
		if result.Changes == nil {
			err = errors.Join(err, h.close())
		}
	}()
	select {
	case <-done:
	case <-signals.second:
		return signals.unlessTwice(func() error {
			working.done()
			return exitStatus(signals.status()) // the tree dies with this process
		})
	}
	err = signals.unlessTwice(func() error {
		working.done()
		if result.Changes == nil {
			return x.finish(h, signals, result, err)
		}
		return x.finishChanges(ctx, h, signals, result)
	})
	x.whole.Lock() // from here on no change is applied any more
	return err
}

// refuse puts on record that the call cannot begin.
func (x *execution) refuse(ctx context.Context, signals *signals, h *house, refusal error) error {
	h.gate.refusal, x.call.Deadline = refusal, time.Time{}
	result, err := h.Do(context.WithoutCancel(ctx), x.call)
	err = errors.Join(err, h.close())
	return signals.unlessTwice(func() error { return x.finish(h, signals, result, err) })
}

// wall is the time that the call will get; zero or less is no limit.
func (x *execution) wall() time.Duration {
	wall := x.policy.Grant().Limits.WithDefaults().Wall
	if x.timeout > 0 && (wall <= 0 || x.timeout < wall) {
		return x.timeout
	}
	return wall
}

// input reads standard input, a byte more than the command may get at most: policy
// refuses what is too large. A terminal gives none.
//
// A read cannot be ended from outside; the goroutine ends with its stream.
func (x *execution) input(ctx context.Context) ([]byte, error) {
	if x.stdin == nil || isTerminal(x.stdin) {
		return nil, nil
	}
	from := x.stdin
	if most := x.policy.Grant().Limits.WithDefaults().Stdin; most > 0 {
		from = io.LimitReader(from, most+1)
	}
	type read struct {
		bytes []byte
		err   error
	}
	done := make(chan read, 1)
	go func() {
		bytes, err := io.ReadAll(from)
		done <- read{bytes, err}
	}()
	if !x.call.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, x.call.Deadline)
		defer cancel()
	}
	select {
	case r := <-done:
		return r.bytes, inputError(r.err)
	case <-ctx.Done():
		return nil, x.noInput(ctx)
	}
}

// inputError is nil for a stream that is closed: that is no input.
func inputError(err error) error {
	if err == nil || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EBADF) {
		return nil
	}
	return &durward.Error{
		Reason: durward.BadCall, Op: "read standard input", Hint: "give an input that can be read, or < /dev/null", Err: err,
	}
}

func (x *execution) noInput(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "read standard input", Hint: "end the input, give < /dev/null, or pass it on with --stream",
			Err: errors.New("standard input did not end in time; nothing was run"),
		}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: "read standard input", Err: context.Cause(ctx)}
}

// finish prints what came of a plain call and gives the exit status.
func (x *execution) finish(h *house, signals *signals, result durward.Result, err error) error {
	if result.Report != nil {
		x.sayWhatIsWeak()
	}
	status := x.status(signals, result, err)
	if x.json {
		return x.finishJSON(h, result, err, status)
	}
	x.showAll(result)
	return x.conclude(h, result, err, status)
}

// showAll shows the output of the command, and tells of what was left out of it.
func (x *execution) showAll(result durward.Result) {
	x.show(result)
	x.sayTruncated("stdout", result.Stdout)
	x.sayTruncated("stderr", result.Stderr)
}

// status is the command's own exit status, or ours where it has none.
func (x *execution) status(signals *signals, result durward.Result, err error) int {
	switch {
	case err == nil:
		return result.ExitStatus()
	case durward.KindOf(err) == durward.Cancelled:
		return signals.status()
	}
	return execStatus(err)
}

// show writes the output of the command to ours. What gets lost is told at the end.
func (x *execution) show(result durward.Result) {
	_ = x.stdout.show(result.Stdout.Bytes())
	_ = x.stderr.show(result.Stderr.Bytes())
}

func (x *execution) sayTruncated(stream string, c durward.Capture) {
	if c.Dropped() > 0 {
		fmt.Fprintf(x.stderr, "durward: %s: %d of %d bytes shown, the first and the last; run it with --stream for all of them\n",
			stream, c.Total-c.Dropped(), c.Total)
	}
}

// conclude tells of an error and prints the report, which is the last line.
func (x *execution) conclude(h *house, result durward.Result, err error, status int) error {
	if lost := x.lost(); lost != nil && (err == nil || durward.KindOf(err) == durward.Cancelled) {
		status = undeliveredStatus(lost)
		if !isPipeError(lost) { // a reader that went away knows
			err = undelivered(lost, "make room, or send the output elsewhere; the command ran and is on record")
		}
	}
	x.sayLost(result, err)
	if err != nil {
		call, _ := h.witness.seen()
		x.explain(x.failure(err, result, call.ID), x.subject())
	}
	x.printReport(result)
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

// lost says why output could not be passed on, if it was not.
func (x *execution) lost() error {
	if err := x.stdout.failure(); err != nil {
		return err
	}
	return x.stderr.failure()
}

// timedOut adds to the end of a command by its wall-clock limit how long it ran and
// where the limit was set.
func (x *execution) timedOut(err error, result durward.Result) error {
	var e *durward.Error
	if !errors.As(err, &e) || e.Reason != durward.DeadlineExceeded || result.Report == nil {
		return err
	}
	named := *e
	named.Rule, named.Where = "", durward.Position{}
	named.Err = fmt.Errorf("it was ended after %s; %s", result.Took.Round(time.Millisecond), x.limitSource())
	return &named
}

func (x *execution) limitSource() string {
	const member = "limits.wallMs"
	limit := x.policy.Grant().Limits.WithDefaults().Wall
	if x.timeout > 0 && x.timeout <= limit {
		return fmt.Sprintf("--timeout gives it %s", x.timeout)
	}
	for _, line := range x.policy.Explain(x.call, durward.Tool{}).Grant {
		if line.Member == member && line.Where != (durward.Position{}) {
			return fmt.Sprintf("%s at %s gives it %s", member, line.Where, limit)
		}
	}
	return fmt.Sprintf("%s is %s by default", member, limit)
}
