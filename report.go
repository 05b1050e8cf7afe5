package durward

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
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

// AppendJSON appends the JSON form to text. Every call that ran is answered only when it
// has one on record, so this does without looking at types.
func (r Report) AppendJSON(text []byte) []byte {
	text = appendQuoted(append(text, `{"mode":`...), string(r.Mode))
	text = strconv.AppendInt(append(text, `,"level":`...), int64(r.Level), 10)
	if r.PolicyHash != "" {
		text = appendQuoted(append(text, `,"policyHash":`...), r.PolicyHash)
	}
	text = strconv.AppendUint(append(text, `,"identity":{"inner":`...), uint64(r.Identity.Inner), 10)
	text = strconv.AppendUint(append(text, `,"host":`...), uint64(r.Identity.Host), 10)
	text = r.Guarantees.appendJSON(append(text, `},"guarantees":`...))
	text = appendList(text, `,"weak":`, r.Weak)
	text = strconv.AppendInt(append(text, `,"setupUs":`...), r.SetupUs, 10)
	text = append(text, `,"end":`...)
	return append(r.End.appendJSON(text), '}')
}

// ReportIdentity is the user a command ran as, inside and on the host.
type ReportIdentity struct {
	Inner uint32 `json:"inner"`
	Host  uint32 `json:"host"`
}

// Holding says of each guarantee who holds it.
type Holding map[Guarantee]Held

// MarshalJSON gives an object with the guarantees in the order of their names.
func (h Holding) MarshalJSON() ([]byte, error) { return h.appendJSON(nil), nil }

func (h Holding) appendJSON(text []byte) []byte {
	if h == nil {
		return append(text, "null"...)
	}
	names := slices.AppendSeq(make([]Guarantee, 0, len(h)), maps.Keys(h))
	slices.Sort(names)
	text = append(text, '{')
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = h[name].appendJSON(append(appendQuoted(text, string(name)), ':'))
	}
	return append(text, '}')
}

func (h Held) appendJSON(text []byte) []byte {
	text = appendQuoted(append(text, `{"held":`...), string(h.Held))
	text = appendList(text, `,"by":`, h.By)
	if h.Mode != "" {
		text = appendQuoted(append(text, `,"mode":`...), h.Mode)
	}
	if h.Filter != "" {
		text = appendQuoted(append(text, `,"filter":`...), h.Filter)
	}
	return append(text, '}')
}

func (e ReportEnd) appendJSON(text []byte) []byte {
	text = appendQuoted(append(text, `{"cause":`...), string(e.Cause))
	text = append(text, `,"killedBy":`...)
	if e.KilledBy == nil {
		text = append(text, "null"...)
	} else {
		text = appendQuoted(text, *e.KilledBy)
	}
	text = strconv.AppendInt(append(text, `,"survivors":`...), int64(e.Survivors), 10)
	return append(text, '}')
}

// appendList writes a member that is left out when it is empty.
func appendList(text []byte, member string, list []string) []byte {
	if len(list) == 0 {
		return text
	}
	text = append(text, member...)
	for i, s := range list {
		text = appendQuoted(append(text, "[,"[min(i, 1)]), s)
	}
	return append(text, ']')
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
	// Filter names the filter of system calls that was loaded.
	Filter string `json:"filter,omitempty"`
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
	// best-effort containment was broken, or nothing is known to end the tree.
	Survivors int `json:"survivors"`
}
