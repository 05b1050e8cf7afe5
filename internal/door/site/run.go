package site

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
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
	_ = result.Discard() // a copy of the site is nobody's
	if result.Report != nil {
		w.Header().Set("Durward-Sandbox", heldBy(*result.Report))
	}
	if err != nil {
		WriteError(w, r, httpedge.EndOf(r.Context(), err)) // it is on record
		return nil
	}
	return d.writeAnswer(w, answerOf(result))
}

// heldBy says in the value of a header at what level a command ran and what the kernel
// held, in the form of a structured field:
//
//	level=2, mode=read-only, held="fs.read fs.write net unix"
func heldBy(r durward.Report) string {
	var held []string
	for _, g := range durward.Guarantees() {
		if r.Guarantees[g].Held == durward.HeldKernel {
			held = append(held, string(g))
		}
	}
	return fmt.Sprintf("level=%d, mode=%s, held=%q", r.Level, r.Mode, strings.Join(held, " "))
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
