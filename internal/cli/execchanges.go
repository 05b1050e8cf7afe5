package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/safetext"
)

// finishChanges prints what came of a command that wrote to a copy, and settles what becomes
// of that.
func (x *execution) finishChanges(ctx context.Context, h *house, signals *signals, result durward.Result) error {
	if !x.json {
		x.showAll(result)
	}
	x.changes = result.Changes.List()
	applied, err := x.settle(ctx, h, result)
	x.applied = &applied
	err = errors.Join(err, result.Discard(), h.close())
	status := x.status(signals, result, err)
	if x.json {
		return x.finishJSON(h, result, err, status)
	}
	return x.conclude(h, result, err, status)
}

// settle shows what the command wrote to a copy and asks whether it is to be applied, unless
// that was said before. Where nobody could answer it is dropped. It says whether it was
// applied.
func (x *execution) settle(ctx context.Context, h *house, result durward.Result) (applied bool, err error) {
	if len(x.changes) == 0 {
		x.tellChanges("the command changed nothing")
		return false, nil
	}
	agreed := x.yes
	err = x.showChanges(result.Changes)
	switch {
	case err != nil || agreed:
	case !result.Changes.Whole() && x.asks():
		x.note("they are too many to be shown, so nobody is asked: look at --json, or agree beforehand with --yes")
	default:
		agreed, err = x.agrees(ctx, result.ExitStatus())
	}
	if !agreed {
		x.tellChanges("%s dropped", changesAre(len(x.changes)))
		return false, errors.Join(err, h.recordChanges(audit.EventDropped, x.changes))
	}
	applied, err = x.applyChanges(ctx, h, result.Changes)
	switch {
	case applied:
		x.tellChanges("%s applied", changesAre(len(x.changes)))
	case durward.ReasonOf(err) != durward.PartlyApplied:
		x.tellChanges("no change was applied")
	}
	return applied, err
}

// applyChanges makes the changes, and puts on record before that it will, and then what came
// of it. The program does not end meanwhile.
func (x *execution) applyChanges(ctx context.Context, h *house, c durward.Changes) (applied bool, err error) {
	x.whole.Lock()
	defer x.whole.Unlock()
	if err := h.recordChanges(audit.EventApply, x.changes); err != nil {
		return false, err // nothing is done unrecorded
	}
	if err := c.Apply(ctx); err != nil {
		return false, errors.Join(err, h.recordChanges(audit.EventFailed, x.changes))
	}
	return true, h.recordChanges(audit.EventApplied, x.changes)
}

// tellChanges is a note for a person; a script reads it in the result.
func (x *execution) tellChanges(format string, args ...any) {
	if !x.json {
		x.note(format, args...)
	}
}

func changesAre(n int) string {
	if n == 1 {
		return "1 change was"
	}
	return fmt.Sprintf("%d changes were", n)
}

// showChanges shows them to a person. Nobody agrees to what could not be shown; who agreed
// before needs not see it.
func (x *execution) showChanges(c durward.Changes) error {
	if x.json || x.quiet && !x.asks() {
		return nil
	}
	if err := c.Show(x.stderr); err != nil && !x.yes {
		return undelivered(err, "send standard error to where it can be read, or agree beforehand with --yes")
	}
	return nil
}

// asks says whether a person is asked.
func (x *execution) asks() bool {
	return !x.yes && !x.json && !x.program.noInput && isTerminal(x.stdin) && x.stderr.terminal
}

// agrees asks a person. What was typed before the question is no answer to it. The end of
// ctx is an error; the read of the answer then ends with the program.
func (x *execution) agrees(ctx context.Context, status int) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, unanswered(ctx)
	case !x.asks():
		return false, nil
	}
	forgetTyped(x.stdin)
	question := "apply? [y/N] "
	if status != 0 {
		question = fmt.Sprintf("the command ended with status %d; apply? [y/N] ", status)
	}
	fmt.Fprint(x.stderr, question)
	x.stderr.unfinished.Store(true)
	given := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(x.stdin).ReadString('\n')
		if err != nil {
			line = ""
		}
		given <- line
	}()
	select {
	case line := <-given:
		x.stderr.unfinished.Store(line == "") // the terminal shows the end of a line that was typed
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	case <-ctx.Done():
		return false, unanswered(ctx)
	}
}

func unanswered(ctx context.Context) error {
	return &durward.Error{
		Reason: durward.CallCancelled, Op: "ask", Hint: "run it again, and answer",
		Err: fmt.Errorf("nobody agreed to the changes: %w", context.Cause(ctx)),
	}
}

// sayLost tells that what a command wrote to a copy went with the call that failed.
func (x *execution) sayLost(result durward.Result, err error) {
	if err != nil && result.Report != nil && result.Changes == nil && x.copies() {
		x.note("what the command wrote to a copy was dropped")
	}
}

// copies says whether the command writes to a copy.
func (x *execution) copies() bool { return x.policy.Grant().Files.CopyOnWrite }

// dropStreamed gives up what a command wrote whose output was passed on as it came: nobody
// was shown a change.
func (x *execution) dropStreamed(h *house, result durward.Result) error {
	if result.Changes == nil {
		return nil
	}
	list := result.Changes.List()
	if len(list) == 0 {
		return result.Discard()
	}
	x.note("%s dropped: leave out --stream to have them shown, and applied", changesAre(len(list)))
	return errors.Join(h.recordChanges(audit.EventDropped, list), result.Discard())
}

// recordChanges puts on record what becomes of changes: how many there are, how large their
// files, and the SHA-256 of their list as --json prints it, on a line of its own.
func (h *house) recordChanges(what string, list []durward.Change) error {
	text, err := jsonx.Marshal(list)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(safetext.JSON(string(text))))
	var bytes int64
	for _, c := range list {
		if c.Kind != "D" {
			bytes += c.Size
		}
	}
	call, decision := h.witness.seen()
	return h.log.Event(what, audit.Record{
		ReqID: call.ID, TraceID: call.Trace.ID(), Door: call.Door, Caller: call.Caller.Name, Tool: call.Tool, Cwd: call.Dir,
		PolicyHash: decision.PolicyHash, Bytes: &bytes, SHA256: hex.EncodeToString(sum[:]), Times: int64(len(list)),
	})
}
