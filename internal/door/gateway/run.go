package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonx"
)

// An ending is what a run came to.
type ending struct {
	*run
	status int
	body   []byte // nil where nobody is there to be answered
	code   string // empty for a success
	// refused is why the worker was not asked, if it was not.
	refused durward.Reason
	ok      bool
	// retryAfter is the header's value, if it is to be sent.
	retryAfter string
	closes     bool
	// final is set when the worker has answered, or may have begun to work.
	final bool
	// replayed is set for the answer to an earlier request.
	replayed      bool
	queued, taken time.Duration
}

// run answers a POST to a tool.
func (d *Door) run(w http.ResponseWriter, r *http.Request) error {
	if err := httpedge.NeedMethod(w, r, http.MethodPost); err != nil {
		return err
	}
	if err := d.loaded(); err != nil {
		return err
	}
	u := runOf(r)
	q, e := d.carryOut(r, u)
	d.log(u, q, e)
	e.send(w)
	return nil
}

// carryOut does what a run asks for, to its end.
func (d *Door) carryOut(r *http.Request, u *run) (request, ending) {
	tool, ok := d.tools[u.tool]
	if !ok {
		return request{}, d.refuse(r, u, &durward.Error{Reason: durward.ToolNotFound, Op: "find"})
	}
	taken, err := d.room.take(r)
	if err != nil {
		return request{}, d.refuse(r, u, err)
	}
	defer d.room.give(taken)
	q, err := decode(r, d.Domain.Policies.MaxRequestBytes)
	if err != nil {
		return q, d.refuse(r, u, err)
	}
	u.read = time.Now()
	if q.dryRun {
		return q, d.preview(r, u, tool, q)
	}
	key, err := keyOf(r)
	if err != nil {
		return q, d.refuse(r, u, err)
	}
	do := func() ending { return d.do(r, u, tool, q) }
	if key == "" {
		return q, do()
	}
	name := keyName{caller: httpedge.CallerOf(r.Context()).Name, tool: u.tool, key: key}
	ctx, cancel := context.WithDeadline(r.Context(), u.read.Add(effective(tool, q)))
	defer cancel()
	e, err := d.Shared.keys.once(ctx, name, sha256.Sum256(jsonx.AppendCompact(nil, q.input)), do)
	if err != nil {
		err = d.Runtime.Refuse(u.call(r), httpedge.EndOf(r.Context(), err))
		return q, u.failed(err, durward.Result{}, allowance(tool, q))
	}
	return q, e
}

// refuse ends a run that never becomes a call, on record.
func (d *Door) refuse(r *http.Request, u *run, err error) ending {
	return u.failed(d.Runtime.Refuse(u.call(r), err), durward.Result{}, nil)
}

// callOf gives the call of a run that was read.
func (u *run) callOf(r *http.Request, tool *domain.Tool, q request) durward.Call {
	c := u.call(r)
	c.Input, c.Arrived = q.input, u.read
	c.Ask.Limits.Wall = q.timeout
	c.Deadline = u.read.Add(effective(tool, q))
	return c
}

// do has the worker do the work.
func (d *Door) do(r *http.Request, u *run, tool *domain.Tool, q request) ending {
	result, err := d.Runtime.Do(r.Context(), u.callOf(r, tool, q))
	if err != nil {
		e := u.failed(httpedge.EndOf(r.Context(), err), result, allowance(tool, q))
		if durward.ReasonOf(err) == durward.CallCancelled && e.code == codeCancelled {
			e.body = nil
		}
		return e
	}
	e := ending{run: u, status: http.StatusOK, ok: !result.Failed, final: true, queued: result.Queued, taken: result.Took}
	if result.Failed {
		e.body, e.code = u.passed(result.Output), codeIn(result.Output)
		return e
	}
	e.body = u.success(result.Output)
	return e
}

// codeIn gives the code of a worker's error.
func codeIn(failure []byte) string {
	for name, value := range jsonx.Members(failure) {
		if string(name) == "code" {
			code, _ := jsonx.Text(value)
			return code
		}
	}
	return ""
}

// allowance is how long a run may take, as details say it.
func allowance(tool *domain.Tool, q request) map[string]any {
	return map[string]any{"timeout_sec": effective(tool, q).Seconds()}
}

func effective(tool *domain.Tool, q request) time.Duration {
	if q.timeout > 0 {
		return min(tool.Timeout, q.timeout)
	}
	return tool.Timeout
}

// failed gives the ending of a run that the worker did not answer. late is what details say
// of one whose time was up.
func (u *run) failed(err error, result durward.Result, late map[string]any) ending {
	f := failureOf(err)
	if f.code == codeTimeout && late != nil {
		f.details = late
	}
	e := ending{run: u, status: f.status, code: f.code, body: u.refusal(f), queued: result.Queued, taken: result.Took}
	switch f.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.retryAfter = retryAfter(err)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		e.final = !errors.Is(err, domain.ErrUnsent)
	}
	if !e.final {
		e.refused = durward.ReasonOf(err)
	}
	e.closes = durward.ReasonOf(err) == durward.ShuttingDown
	return e
}

// preview says what would become of a call.
func (d *Door) preview(r *http.Request, u *run, tool *domain.Tool, q request) ending {
	p, err := d.Runtime.Preview(r.Context(), u.callOf(r, tool, q))
	if err == nil {
		err = p.Refusal
	}
	if err != nil {
		return u.failed(err, durward.Result{}, allowance(tool, q))
	}
	return ending{run: u, status: http.StatusOK, ok: true, body: u.success(text(map[string]any{
		"decision": "allow", "rule": p.Decision.Rule, "where": p.Decision.Where.String(), "timeout_sec": effective(tool, q).Seconds(),
	}))}
}

// send answers with the ending.
func (e ending) send(w http.ResponseWriter) {
	h := w.Header()
	e.tell(h)
	if e.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if e.retryAfter != "" {
		h.Set("Retry-After", e.retryAfter)
	}
	if e.closes {
		h.Set("Connection", "close")
	}
	if e.body == nil {
		w.WriteHeader(e.status) // nobody reads it but the log
		return
	}
	write(w, e.status, e.body)
}
