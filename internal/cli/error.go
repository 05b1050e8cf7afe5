package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/safetext"
)

// A failure is an error as people and scripts are told it.
type failure struct {
	Code string `json:"code"`
	// Reason is the word behind the code, as records and protocols have it.
	Reason    durward.Reason `json:"reason,omitempty"`
	Kind      string         `json:"kind"`
	Message   string         `json:"message"`
	Why       string         `json:"why,omitempty"`
	Fix       string         `json:"fix,omitempty"`
	Retryable bool           `json:"retryable"`
	Retry     durward.Retry  `json:"retry"`
	Rule      *failedRule    `json:"rule,omitempty"`
	RequestID durward.CallID `json:"request_id,omitempty"`
	Details   []string       `json:"details,omitempty"`
	more      string
	// located is set when Details are mistakes in a document.
	located bool
}

type failedRule struct {
	ID   string `json:"id"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// failureOf describes err. All text in it is safe to show.
func failureOf(err error, call durward.CallID) failure {
	var e *durward.Error
	if !errors.As(err, &e) {
		e = &durward.Error{Reason: durward.Defect, Err: err}
	}
	reason := durward.ReasonOf(err)
	if reason == "" {
		reason = durward.Defect
	}
	kind := durward.KindOf(err)
	f := failure{
		Code: reason.Code(), Reason: reason, Kind: kind.String(), Message: reason.Summary(), Why: why(e),
		Fix: safetext.Line(e.Hint), Retry: kind.Retry(), RequestID: call, Details: details(err),
		located: len(mistakes(err)) > 0,
	}
	if e.Retry {
		f.Retry = durward.RetryLater
	}
	f.Retryable = f.Retry == durward.RetryLater
	if e.Rule != "" {
		f.Rule = &failedRule{ID: safetext.Line(e.Rule), File: safetext.Line(e.Where.File), Line: e.Where.Line}
	}
	if f.Fix == "" {
		f.Fix = defaultFix(f)
	}
	f.more = more(f)
	return f
}

// why gives the cause as one line, with the rule that decided.
func why(e *durward.Error) string {
	if n := len(mistakes(e)); n > 0 {
		return plural(n, "mistake")
	}
	text := ""
	if e.Err != nil {
		text = strings.ReplaceAll(e.Err.Error(), "\n", "; ")
	}
	if e.Rule == "" {
		return safetext.Line(text)
	}
	rule := "rule " + e.Rule
	if e.Where != (durward.Position{}) {
		rule += " (" + durward.Position{File: e.Where.File, Line: e.Where.Line}.String() + ")"
	}
	return safetext.Line(strings.TrimSuffix(rule+": "+text, ": "))
}

// mistakes are those in a document. A file that could not be read has none.
func mistakes(err error) config.Problems {
	problems := config.ProblemsOf(err)
	if len(problems) == 1 && problems[0].Where.Line == 0 {
		return nil
	}
	return problems
}

// details lists the mistakes in a document, or the whole error where there are none.
func details(err error) []string {
	problems := config.ProblemsOf(err)
	if len(problems) == 0 {
		return []string{safetext.Line(err.Error())}
	}
	lines := make([]string, len(problems))
	for i, one := range problems {
		lines[i] = safetext.Line(one.Error())
	}
	return lines
}

// defaultFix says what to do about an error that does not say so itself.
func defaultFix(f failure) string {
	switch f.Retry {
	case durward.RetryLater:
		return "run it again"
	case durward.FixState:
		return "see what is missing with durward doctor"
	case durward.FixRequest:
		return "change the request as " + helpFor(f.Code) + " says"
	}
	return "do what " + helpFor(f.Code) + " says"
}

// more names the place to look next.
func more(f failure) string {
	switch {
	case f.RequestID != "":
		return "durward audit show " + string(f.RequestID)
	case f.Reason == durward.SandboxUnavailable:
		return "durward doctor"
	}
	return helpFor(f.Code)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// tell reports err: as the envelope on standard output, or as four lines on standard
// error. subject is what it happened to, and may be empty.
func (p *program) tell(err error, subject string) {
	f := failureOf(err, "")
	if p.json {
		p.printFailure(f, nil)
		return
	}
	p.explain(f, subject)
}

// explain prints an error for a person. The mistakes in a document come first, one
// line each, in the form that editors know.
func (p *program) explain(f failure, subject string) {
	p.told = true
	var b strings.Builder
	if f.located {
		b.WriteString(strings.Join(f.Details, "\n") + "\n")
		f.Why += ", named above"
	}
	if subject != "" {
		subject = safetext.Line(subject) + ": "
	}
	fmt.Fprintf(&b, "error: %s%s (%s)\n", subject, f.Message, f.Code)
	for _, line := range []struct{ name, text string }{{"why", f.Why}, {"fix", f.Fix}, {"more", f.more}} {
		if line.text != "" {
			fmt.Fprintf(&b, "  %s: %s\n", line.name, line.text)
		}
	}
	if p.verbose && !f.located {
		fmt.Fprintf(&b, "  all: %s\n", strings.Join(f.Details, "; "))
	}
	fmt.Fprint(p.stderr, b.String())
}

// An envelope is the one form of everything that --json prints.
type envelope struct {
	Schema string   `json:"schema"`
	OK     bool     `json:"ok"`
	Data   any      `json:"data,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

func (p *program) schema() string {
	name := strings.ReplaceAll(p.command, " ", ".")
	if name == "" {
		name = "durward"
	}
	return "durward/" + name + "/v1"
}

// print puts a result into its envelope.
func (p *program) print(data any) error {
	return p.write(p.stdout, envelope{Schema: p.schema(), OK: true, Data: data})
}

// printFailure does the same for an error; data is what there is in spite of it.
// Where that cannot be printed, a person is told.
func (p *program) printFailure(f failure, data any) {
	p.told = true
	to := p.stdout
	if p.talks || p.command == "mcp" { // whose flags may be what is wrong
		to = p.stderr
	}
	if err := p.write(to, envelope{Schema: p.schema(), Error: &f, Data: data}); err != nil && !isPipeError(err) {
		p.explain(f, "")
	}
}

func (p *program) write(to io.Writer, e envelope) error {
	line, err := jsonx.Marshal(e)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, safetext.JSON(string(line)))
	return err
}

// statusOf gives the exit status of a command that failed.
func statusOf(err error) int {
	switch durward.ReasonOf(err) {
	case durward.PolicyInvalid, durward.ConfigInvalid:
		return 3
	case durward.CommandExists, durward.ChangedMeanwhile: // as mdmcpcfg has it
		return 1
	case durward.CommandUnknown:
		if durward.KindOf(err) == durward.NotFound { // and no denial
			return 1
		}
	}
	return durward.KindOf(err).ExitStatus()
}
