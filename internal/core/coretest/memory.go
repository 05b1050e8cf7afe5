package coretest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
)

// A Memory is a test double of a recorder: it keeps whole records as JSON, under the
// names of the audit log. The zero value is ready.
type Memory struct {
	mu     sync.Mutex
	lines  [][]byte        // guarded by mu
	broken map[string]bool // guarded by mu; by phase
}

type memoryRecord struct {
	TS         string          `json:"ts"`
	Phase      string          `json:"phase"`
	ReqID      durward.CallID  `json:"reqId,omitempty"`
	ClientID   string          `json:"clientId,omitempty"`
	TraceID    string          `json:"traceId,omitempty"`
	Door       string          `json:"door,omitempty"`
	Surface    string          `json:"surface,omitempty"`
	Caller     string          `json:"caller,omitempty"`
	Tool       durward.ToolID  `json:"tool,omitempty"`
	Server     string          `json:"server,omitempty"`
	Decision   string          `json:"decision,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	Where      string          `json:"where,omitempty"`
	Code       durward.Reason  `json:"code,omitempty"`
	Why        string          `json:"why,omitempty"`
	Cwd        string          `json:"cwd,omitempty"`
	Args       []string        `json:"args,omitempty"`
	Bytes      int64           `json:"bytes,omitempty"`
	ExitCode   *int            `json:"exitCode,omitempty"`
	Signal     int             `json:"signal,omitempty"`
	TimedOut   bool            `json:"timedOut,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`
	Cause      durward.Outcome `json:"cause,omitempty"`
	DurationMs float64         `json:"durationMs,omitempty"`
	QueueMs    float64         `json:"queueMs,omitempty"`
	PolicyHash string          `json:"policyHash,omitempty"`
	Sandbox    *durward.Report `json:"sandbox,omitempty"`
	Limits     *durward.Limits `json:"limits,omitempty"`
	Host       string          `json:"host,omitempty"`
	Port       uint16          `json:"port,omitempty"`
	Times      int             `json:"times,omitempty"`
}

// Deny keeps a denial.
func (m *Memory) Deny(c durward.Call, d durward.Decision) error {
	return m.add(newMemoryRecord(PhaseDeny, c, d))
}

// Intent keeps an intent.
func (m *Memory) Intent(c durward.Call, d durward.Decision) error {
	return m.add(newMemoryRecord(PhaseIntent, c, d))
}

// Refused keeps an event.
func (m *Memory) Refused(c durward.Call, d durward.Decision, to durward.Contact) error {
	d.Rule = to.Rule
	r := newMemoryRecord(PhaseEvent, c, d)
	r.Decision, r.Limits = "deny", nil
	r.Cause, r.Host, r.Port = durward.Outcome("network.refused"), to.Host, to.Port
	r.Times = to.Times
	return m.add(r)
}

// Outcome keeps an outcome.
func (m *Memory) Outcome(c durward.Call, d durward.Decision, result durward.Result, err error) error {
	r := newMemoryRecord(PhaseOutcome, c, d)
	r.Cause = durward.OutcomeOf(result, err)
	r.TimedOut, r.Truncated = r.Cause == durward.OutcomeTimeout, result.Truncated()
	r.ExitCode, r.Signal, r.Sandbox = result.Exit, result.Signal, result.Report
	r.Bytes = result.Stdout.Total + result.Stderr.Total + int64(len(result.Output))
	r.DurationMs, r.QueueMs = milliseconds(result.Took), milliseconds(result.Queued)
	if r.Code = durward.ReasonOf(err); r.Code == "" && err != nil {
		r.Code = durward.Reason(durward.KindOf(err).String())
	}
	return m.add(r)
}

func newMemoryRecord(phase string, c durward.Call, d durward.Decision) memoryRecord {
	r := memoryRecord{
		TS: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Phase: phase,
		ReqID: c.ID, ClientID: c.ClientID, TraceID: c.Trace.ID(), Door: c.Door, Surface: c.Surface, Caller: c.Caller.Name, Tool: c.Tool, Server: c.Server,
		Decision: "deny", Rule: d.Rule, Code: d.Code, Why: d.Reason, Cwd: c.Dir, PolicyHash: d.PolicyHash,
		Where: durward.Position{File: d.Where.File, Line: d.Where.Line}.String(),
	}
	if d.Allow {
		r.Decision, r.Limits = "allow", &d.Grant.Limits
	}
	for _, arg := range slices.Concat(c.Argv, []string{string(c.Input)}) {
		sum := sha256.Sum256([]byte(arg))
		r.Args = append(r.Args, hex.EncodeToString(sum[:]))
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (m *Memory) add(r memoryRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken[r.Phase] {
		return &durward.Error{Reason: durward.AuditUnavailable, Op: "audit", Err: errors.New("told to fail")}
	}
	line, err := json.Marshal(r)
	if err == nil {
		m.lines = append(m.lines, line)
	}
	return err
}

// Break makes records of these phases impossible to write from now on, or all records
// when none is named.
func (m *Memory) Break(phases ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(phases) == 0 {
		phases = []string{PhaseDeny, PhaseIntent, PhaseEvent, PhaseOutcome}
	}
	m.broken = make(map[string]bool)
	for _, phase := range phases {
		m.broken[phase] = true
	}
}

// Records gives all records so far, oldest first.
func (m *Memory) Records(t testing.TB) []Record {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	return Decode(t, bytes.Join(m.lines, []byte("\n")))
}

// Book shows the recorder to a battery.
func (m *Memory) Book() Book {
	return Book{Recorder: m, Records: m.Records, Break: func(testing.TB) { m.Break() }}
}

// Decode reads records written one per line.
func Decode(t testing.TB, lines []byte) []Record {
	t.Helper()
	var records []Record
	for line := range bytes.Lines(lines) {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v in record %s", err, line)
		}
		records = append(records, r)
	}
	return records
}
