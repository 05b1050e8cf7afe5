package durward

import (
	"encoding/json"
	"slices"
)

// A Report says what was enforced on one run, by which mechanism. It lists what was
// applied and confirmed, never what was only asked for. Its JSON form is the one of
// the audit log and of `durward exec --report`.
type Report struct {
	Mode Mode `json:"mode"`
	// Level counts as the contracts do: 0, 1, 2.
	Level      int            `json:"level"`
	PolicyHash string         `json:"policyHash,omitempty"`
	Identity   ReportIdentity `json:"identity"`
	Guarantees Holding        `json:"guarantees"`
	// Weak names, in words, each guarantee that is weaker than its best form.
	Weak []string `json:"weak,omitempty"`
	// SetupUs is the time in microseconds from the start of the spawn to the moment
	// the command's program was executed.
	SetupUs int64     `json:"setupUs"`
	End     ReportEnd `json:"end"`
}

// ReportIdentity is the user a command ran as, inside and on the host.
type ReportIdentity struct {
	Inner uint32 `json:"inner"`
	Host  uint32 `json:"host"`
}

// Holding says of each guarantee who holds it.
type Holding map[Guarantee]Held

// MarshalJSON gives an object with the guarantees in the order of their names. Every
// record of a run has one, so this does without looking at types.
func (h Holding) MarshalJSON() ([]byte, error) {
	if h == nil {
		return []byte("null"), nil
	}
	names := make([]Guarantee, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	text := append(make([]byte, 0, 48*len(h)+2), '{')
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = h[name].appendJSON(append(appendQuoted(text, string(name)), ':'))
	}
	return append(text, '}'), nil
}

func (h Held) appendJSON(text []byte) []byte {
	text = appendQuoted(append(text, `{"held":`...), string(h.Held))
	for i, by := range h.By {
		text = append(text, [...]string{`,"by":[`, `,`}[min(i, 1)]...)
		text = appendQuoted(text, by)
	}
	if len(h.By) > 0 {
		text = append(text, ']')
	}
	if h.Mode != "" {
		text = appendQuoted(append(text, `,"mode":`...), h.Mode)
	}
	return append(text, '}')
}

// appendQuoted writes a string as encoding/json does.
func appendQuoted(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string is never refused
			return append(text, quoted...)
		}
	}
	return append(append(append(text, '"'), s...), '"')
}

// Held says by whom and by what a guarantee is held.
type Held struct {
	Held Holder   `json:"held"`
	By   []string `json:"by,omitempty"`
	Mode string   `json:"mode,omitempty"`
}

// A Holder is who holds a guarantee.
type Holder string

// The holders, from the strongest to none at all.
const (
	HeldKernel     Holder = "kernel"
	HeldPerProcess Holder = "per-process"
	HeldRuntime    Holder = "runtime"
	HeldVouched    Holder = "vouched"
	HeldBestEffort Holder = "best-effort"
	HeldNone       Holder = "none"
)

// A Cause says what ended a run.
type Cause string

// The causes of an end.
const (
	CauseExit        Cause = "exit"
	CauseSignal      Cause = "signal"
	CauseTimeout     Cause = "TIMEOUT"
	CauseCancelled   Cause = "CANCELLED"
	CauseLimitCPU    Cause = "LIMIT_CPU"
	CauseLimitMemory Cause = "LIMIT_MEMORY"
	CauseLimitOutput Cause = "LIMIT_OUTPUT"
)

// ReportEnd says how a run ended.
type ReportEnd struct {
	Cause Cause `json:"cause"`
	// KilledBy is the signal the runtime had to use, or nil.
	KilledBy *string `json:"killedBy"`
	// Survivors counts processes known to live on, -1 where that is not known: a
	// best-effort containment was broken.
	Survivors int `json:"survivors"`
}
