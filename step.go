package durward

// A Step is what one rule made of a call on its way to the decision.
type Step struct {
	Rule string
	// Where is the place of the rule; zero where nobody wrote it.
	Where   Position
	Verdict Verdict
	Note    string
}

// A Verdict is what a rule says.
type Verdict string

// The verdicts. Rules behind the one that refused are not asked.
const (
	Passed    Verdict = "ok"
	Refused   Verdict = "denied"
	Unreached Verdict = "not reached"
)
