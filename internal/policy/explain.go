package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// An Explanation is a decision with the way to it.
type Explanation struct {
	Decision durward.Decision
	// Steps are all rules in their order; behind the one that refused they are unreached.
	Steps []durward.Step
	// Paths are the paths of the policy as written and as they are.
	Paths []Path
	// Grant is what the call gets, in words; empty for a denial.
	Grant []Line
}

// A Line is one member of a grant, in words.
type Line struct {
	Member, Value string
	// Where is the place of the member in the policy; zero where nobody wrote it.
	Where durward.Position
	// Asked is set where the call's own wishes made the value what it is.
	Asked bool
}

// From says where the value comes from: its place, or "default", and then the call where
// that had a part in it.
func (l Line) From() string {
	from := "default"
	if l.Where != (durward.Position{}) {
		from = l.Where.String()
	}
	if l.Asked {
		from += ", the call"
	}
	return from
}

// Explain decides like [Policy.Decide], by the same steps, and tells how. It runs
// nothing.
func (p *Policy) Explain(c durward.Call, t durward.Tool) Explanation {
	var e Explanation
	e.Decision = p.judge(c, t, func(r rule, j *judging, no *refusal) {
		e.Steps = append(e.Steps, p.step(r, j, no))
	})
	for _, r := range rules[len(e.Steps):] {
		e.Steps = append(e.Steps, durward.Step{Rule: r.name, Where: p.place(r.name), Verdict: durward.Unreached})
	}
	e.Paths = p.Paths()
	if e.Decision.Allow {
		e.Grant = p.lines(e.Decision.Grant)
	}
	return e
}

func (p *Policy) step(r rule, j *judging, no *refusal) durward.Step {
	if no == nil {
		return durward.Step{Rule: r.name, Where: p.place(r.name), Verdict: durward.Passed, Note: r.note(j)}
	}
	name := no.rule
	if name == "" {
		name = r.name
	}
	return durward.Step{Rule: name, Where: p.place(name), Verdict: durward.Refused, Note: no.reason}
}

// lines puts a grant into words, member by member.
func (p *Policy) lines(g durward.Grant) []Line {
	granted, unasked := *p, *p
	granted.grant, unasked.grant = g, p.Grant()
	open := !g.Mode.Confines() && len(g.Files.Read)+len(g.Files.Write)+len(g.Files.Deny) == 0
	var lines []Line
	for _, m := range members() {
		if m.internal {
			continue
		}
		at := p.places[strings.TrimSuffix(m.name, "Globs")]
		value := words(m.value(&granted))
		if open && slices.Contains([]string{"filesystem.read", "filesystem.write", "filesystem.exec"}, m.name) {
			value = "everything"
		}
		lines = append(lines, Line{Member: m.name, Value: value, Where: at, Asked: m.text(&granted) != m.text(&unasked)})
	}
	return lines
}

// String gives the explanation as text: the decision, the rules, the paths and the
// grant, one thing a line.
func (e Explanation) String() string {
	var b strings.Builder
	e.writeDecision(&b)
	b.WriteString("\nrules:\n")
	for _, s := range e.Steps {
		fmt.Fprintf(&b, "  %-11s  %s%s%s\n", s.Verdict, s.Rule, at(s.Where), note(s.Note))
	}
	if len(e.Paths) > 0 {
		b.WriteString("\npaths:\n")
	}
	for _, p := range e.Paths {
		fmt.Fprintf(&b, "  %s  %s%s%s\n", p.Member, p.Written, leadsTo(p), at(p.Where))
	}
	if len(e.Grant) > 0 {
		b.WriteString("\ngrant:\n")
	}
	for _, l := range e.Grant {
		fmt.Fprintf(&b, "  %s: %s [%s]\n", l.Member, l.Value, l.From())
	}
	return b.String()
}

func (e Explanation) writeDecision(b *strings.Builder) {
	d := e.Decision
	if d.Allow {
		fmt.Fprintf(b, "allowed by %s%s: %s\npolicy %s\n", d.Rule, at(d.Where), d.Reason, d.PolicyHash)
		return
	}
	fmt.Fprintf(b, "denied by %s%s (%s)\n  why: %s\n  fix: %s\npolicy %s\n",
		d.Rule, at(d.Where), d.Code.Code(), d.Reason, d.Remedy, d.PolicyHash)
}

func at(p durward.Position) string {
	if p == (durward.Position{}) {
		return ""
	}
	return " [" + p.String() + "]"
}

func note(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

func leadsTo(p Path) string {
	switch p.Physical {
	case "":
		return " (missing)"
	case p.Written:
		return ""
	}
	return " → " + p.Physical
}
