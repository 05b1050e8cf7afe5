package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/safetext"
)

// A preview is all that can be told of a call that is not run.
type preview struct {
	policy.Explanation            // its decision is that of all stages
	what               string     // would run
	program            string     // as it was written
	refusal            error      // nil where it would run
	answer             string     // what a client is told; empty where there is none
	trace              string     // empty where nothing is on record
	plan               *core.Plan // nil where it would not
}

// preview prints what would become of the call. Its status is that of the call.
func (x *execution) preview(ctx context.Context) error {
	x.call.Terminal = x.wantedTerminal()
	v, err := x.foresee(ctx)
	if err != nil {
		return err
	}
	if v.refusal == nil {
		return x.printPreview(v)
	}
	f := x.failure(v.refusal, durward.Result{}, "")
	v.Decision.Remedy = f.Fix // in the words of this door, not of an engine
	status := exitStatus(execStatus(v.refusal))
	if x.json {
		x.printFailure(f, v.data())
		return status
	}
	err = x.printPreview(v)
	x.explain(f, x.subject())
	return errors.Join(err, status)
}

// foresee takes the call as far as a call goes that is not run.
func (x *execution) foresee(ctx context.Context) (v preview, err error) {
	h, err := x.build(x.policy, noRecord{})
	if err != nil {
		return v, err
	}
	seen, err := h.Preview(ctx, x.call)
	if err := errors.Join(err, h.close()); err != nil {
		return v, err
	}
	tool, err := catalogue.Find(ctx, commandTool)
	if err != nil {
		return v, err
	}
	v = preview{
		Explanation: x.policy.Explain(x.call, tool), what: commandLine(x.argv), refusal: seen.Refusal, plan: seen.Plan,
	}
	if len(x.argv) > 0 {
		v.program = x.argv[0]
	}
	v.settle(seen)
	return v, nil
}

// settle puts the decision of all stages in the place of the policy's. What the policy
// would have allowed may be refused when the call is prepared: by a rule of its own, or by
// what is found there.
func (v *preview) settle(seen core.Preview) {
	byPolicy := !v.Decision.Allow
	v.Decision = seen.Decision
	if byPolicy {
		return
	}
	v.Steps = append(v.Steps, seen.Steps...)
	if !seen.Decision.Allow {
		i := slices.IndexFunc(v.Steps, func(s durward.Step) bool { return s.Verdict == durward.Refused })
		v.Decision.Rule, v.Decision.Where = v.Steps[i].Rule, v.Steps[i].Where
	}
}

func (p *program) printPreview(v preview) error {
	if p.json {
		return p.print(v.data())
	}
	_, err := fmt.Fprint(p.stdout, safetext.Lines(v.String()))
	return err
}

// String gives the preview as text, one thing a line.
func (v preview) String() string {
	var b strings.Builder
	would := "would run"
	if !v.Decision.Allow {
		would = "would not run"
	}
	fmt.Fprintf(&b, "%s: %s\n", would, v.what)
	if v.answer != "" {
		fmt.Fprintf(&b, "a client is told: %s\n", v.answer)
	}
	if v.trace != "" {
		fmt.Fprintf(&b, "trace %s\n", v.trace)
	}
	b.WriteString(v.Explanation.String())
	if v.plan == nil {
		return b.String()
	}
	b.WriteString("\nsandbox:\n")
	for _, line := range v.held() {
		fmt.Fprintf(&b, "  %s\n", safetext.Line(line))
	}
	b.WriteString("\nplan:\n")
	for _, call := range v.plan.Calls {
		fmt.Fprintf(&b, "  %s\n", safetext.Line(call))
	}
	return b.String()
}

// commandLine shows where each word of a command begins and ends.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if words[i] = word; word == "" || strings.ContainsAny(word, " \"'\\") || safetext.Line(word) != word {
			words[i] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// held says at which level the command would run, as whom, and what would be held.
func (v preview) held() []string {
	r := v.plan.Report
	lines := []string{fmt.Sprintf("level: %d", r.Level)}
	for _, passed := range v.plan.Passed {
		lines = append(lines, fmt.Sprintf("not level %d: %s", passed.Level.Number(), passed.Why))
	}
	lines = append(lines, "program: "+v.program+leadsTo(v.program, v.plan.Program), "directory: "+v.plan.Dir, "user: "+userOf(r.Identity))
	for _, g := range durward.Guarantees() {
		lines = append(lines, fmt.Sprintf("%s: %s", g, holderOf(r.Guarantees[g])))
	}
	for _, weak := range r.Weak {
		lines = append(lines, "weak: "+weak)
	}
	return lines
}

func leadsTo(written, physical string) string {
	if written == physical {
		return ""
	}
	return " → " + physical
}

func userOf(id durward.ReportIdentity) string {
	if id.Inner == id.Host {
		return fmt.Sprint(id.Host)
	}
	return fmt.Sprintf("%d, outside %d", id.Inner, id.Host)
}

// holderOf says by whom and by what a guarantee is held: "kernel (netns, seccomp)".
func holderOf(h durward.Held) string {
	if len(h.By) == 0 {
		return string(h.Held)
	}
	by := slices.Clone(h.By)
	if h.Filter != "" {
		by = append(by, "filter "+h.Filter)
	}
	return fmt.Sprintf("%s (%s)", h.Held, strings.Join(by, ", "))
}

// previewData is the same for a script.
type previewData struct {
	DryRun   bool          `json:"dry_run"`
	Answer   string        `json:"answer,omitempty"`
	TraceID  string        `json:"trace_id,omitempty"`
	Decision *decisionData `json:"decision"`
	Rules    []ruleData    `json:"rules"`
	Paths    []pathData    `json:"paths,omitempty"`
	Grant    []grantLine   `json:"grant,omitempty"`
	// Program and Dir are physical paths.
	Program string       `json:"program,omitempty"`
	Dir     string       `json:"dir,omitempty"`
	Sandbox *heldData    `json:"sandbox,omitempty"`
	Passed  []passedData `json:"passed_levels,omitempty"`
	Plan    []string     `json:"plan,omitempty"`
}

type ruleData struct {
	Rule    string          `json:"rule"`
	Where   string          `json:"where,omitempty"`
	Verdict durward.Verdict `json:"verdict"`
	Note    string          `json:"note,omitempty"`
}

// pathData is a path of the policy; without a physical one it is missing.
type pathData struct {
	Member   string `json:"member"`
	Written  string `json:"written"`
	Physical string `json:"physical,omitempty"`
	Where    string `json:"where,omitempty"`
}

type grantLine struct {
	Member string `json:"member"`
	Value  string `json:"value"`
	Where  string `json:"where,omitempty"`
	// From is Where, or what the value comes from that was written nowhere.
	From string `json:"from"`
}

// heldData is what a report says before there was a run, under the names of a report.
type heldData struct {
	Mode       durward.Mode           `json:"mode"`
	Level      int                    `json:"level"`
	PolicyHash string                 `json:"policyHash"`
	Identity   durward.ReportIdentity `json:"identity"`
	Guarantees durward.Holding        `json:"guarantees"`
	Weak       []string               `json:"weak,omitempty"`
}

type passedData struct {
	Level int    `json:"level"`
	Why   string `json:"why"`
}

func (v preview) data() previewData {
	data := previewData{DryRun: true, Answer: v.answer, TraceID: v.trace, Decision: decisionOf(v.Decision)}
	for _, s := range v.Steps {
		data.Rules = append(data.Rules, ruleData{s.Rule, s.Where.String(), s.Verdict, s.Note})
	}
	for _, p := range v.Paths {
		data.Paths = append(data.Paths, pathData{p.Member, p.Written, p.Physical, p.Where.String()})
	}
	for _, l := range v.Grant {
		data.Grant = append(data.Grant, grantLine{l.Member, l.Value, l.Where.String(), l.From()})
	}
	if v.plan == nil {
		return data
	}
	r := v.plan.Report
	data.Program, data.Dir, data.Plan = v.plan.Program, v.plan.Dir, v.plan.Calls
	data.Sandbox = &heldData{r.Mode, r.Level, r.PolicyHash, r.Identity, r.Guarantees, r.Weak}
	for _, passed := range v.plan.Passed {
		data.Passed = append(data.Passed, passedData{passed.Level.Number(), passed.Why})
	}
	return data
}
