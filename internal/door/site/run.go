package site

import (
	"context"
	"net/http"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// An answer is what a command came to.
type answer struct {
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	ReturnCode int    `json:"returncode"`
}

// run answers a POST.
func (d *door) run(w http.ResponseWriter, r *http.Request) error {
	q, err := decode(r)
	if err != nil {
		return err
	}
	sent, clean, err := pathOf(r)
	if err != nil {
		return err
	}
	c := d.call(r, sent, clean)
	c.Argv, c.Env = q.command, q.env
	result, err := d.Runtime.Do(r.Context(), c)
	if err != nil {
		WriteError(w, r, endOf(r.Context(), err)) // it is on record
		return nil
	}
	return d.writeAnswer(w, answerOf(result))
}

// endOf tells a call that we cut short from one whose client went away.
func endOf(request context.Context, err error) error {
	if durward.ReasonOf(err) != durward.CallCancelled {
		return err
	}
	if request.Err() != nil && durward.ReasonOf(context.Cause(request)) != durward.ShuttingDown {
		return err
	}
	return &durward.Error{Reason: durward.ShuttingDown, Op: "run", Retry: true, Hint: "try again after the restart", Err: err}
}

func answerOf(r durward.Result) answer {
	return answer{Stdout: string(r.Stdout.Bytes()), Stderr: string(r.Stderr.Bytes()), ReturnCode: r.ExitStatus()}
}

func (d *door) writeAnswer(w http.ResponseWriter, a answer) error {
	var body any = a
	if d.DataEnvelope {
		body = struct {
			Data answer `json:"data"`
		}{a}
	}
	line, err := jsonx.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(line) // a client that is gone is noticed by the server
	return nil
}
