package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
)

// failure makes an error whose details tell a caller no more than its reason, and what is in
// more.
func failure(reason durward.Reason, retry bool, err error, more map[string]any) *durward.Error {
	members := map[string]any{"reason": string(reason)}
	for name, value := range more {
		members[name] = value
	}
	return &durward.Error{Reason: reason, Op: op, Retry: retry, Err: durward.Detail{Members: members, Err: err}}
}

// unsent marks the cause of a call that has not reached its worker.
func unsent(err error) error { return errors.Join(domain.ErrUnsent, err) }

// isUnsent tells of a call that can be sent again: the worker could not be reached.
func isUnsent(err error) bool {
	return durward.ReasonOf(err) == durward.WorkerUnreachable && errors.Is(err, domain.ErrUnsent)
}

// unreachable says that the worker gave no whole reply.
func unreachable(err error) error { return failure(durward.WorkerUnreachable, true, err, nil) }

// undialled says why there is no connection.
func undialled(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return unsent(durward.Ended(ctx, op))
	case durward.ReasonOf(err) == durward.AddressRefused:
		e := failure(durward.AddressRefused, false, unsent(err), nil)
		e.Hint = "name a worker at an address that is neither link-local nor a metadata service's"
		return e
	}
	return unreachable(unsent(err))
}

// nonStandard says that a reply of that status is no envelope; the status is 0 where the
// worker does not speak HTTP.
func nonStandard(status int, err error) error {
	retry := status == 429 || status == 502 || status == 503 || status == 504
	return failure(durward.NonStandardReply, retry, err, map[string]any{"worker_status": status})
}

func replyTooLarge(limit int64) error {
	return failure(durward.ReplyTooLarge, false, fmt.Errorf("the reply is larger than %d bytes", limit), nil)
}

func outputMismatch(places int) error {
	return failure(durward.OutputMismatch, false, fmt.Errorf("the output does not fit its schema at %d places", places), nil)
}

// signOf tells what an error says about the health of a worker. A worker that has replied,
// whatever it said, is there; what a caller or a rule of ours ended says nothing.
func signOf(err error, blame bool) sign {
	switch reason := durward.ReasonOf(err); {
	case err == nil || reason == durward.NonStandardReply || reason == durward.ReplyTooLarge:
		return healthy
	case isUnsent(err) || durward.KindOf(err) == durward.Timeout && blame:
		return ill
	}
	return unknown
}
