package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/safetext"
)

// A recordTable prints one line per record, or one object.
type recordTable struct {
	*program
	relative bool // times as ages
	begun    bool
	widths   [8]int // of the columns
}

// widestColumn is how wide a column becomes for what stands in it. A path may be longer; who
// follows a log is not to read all the lines behind it for that.
const widestColumn = 32

func newRecordTable(p *program) *recordTable {
	t := &recordTable{program: p, relative: p.stdout.terminal, widths: [8]int{24, 7, 4, 4, 4, 8, 36}}
	if t.relative {
		t.widths[0] = 8
	}
	return t
}

func (t *recordTable) print(e audit.Entry) error {
	if t.json {
		return t.write(t.stdout, envelope{Schema: "durward/audit.record/v1", OK: true, Data: json.RawMessage(e.Raw)})
	}
	cells := []string{t.when(e.TS), string(e.Phase), e.Door, string(e.Tool), e.Path, e.Decision, string(e.ReqID), resultOf(e.Record)}
	for i, cell := range cells {
		cells[i] = orDash(safetext.Line(cell))
	}
	t.widen(cells)
	if !t.begun {
		t.begun = true
		if err := t.row("TIME", "PHASE", "DOOR", "TOOL", "PATH", "DECISION", "CALL", "RESULT"); err != nil {
			return err
		}
	}
	return t.row(cells...)
}

// widen makes room for cells, but for those of the last column, which needs none.
func (t *recordTable) widen(cells []string) {
	for i, cell := range cells[:len(cells)-1] {
		t.widths[i] = max(t.widths[i], min(utf8.RuneCountInString(cell), widestColumn))
	}
}

// row prints cells in their columns, and cuts none.
func (t *recordTable) row(cells ...string) error {
	var line strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&line, "%-*s  ", t.widths[i], cell)
	}
	_, err := fmt.Fprintln(t.stdout, strings.TrimRight(line.String(), " "))
	return err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (t *recordTable) when(at audit.Time) string {
	if !t.relative {
		return at.String()
	}
	return age(time.Since(at.Time))
}

// age gives a time that has passed in its largest unit.
func age(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.of {
			return strconv.Itoa(int(d/unit.of)) + unit.name + " ago"
		}
	}
	return strconv.Itoa(int(max(d, 0)/time.Second)) + "s ago"
}

// resultOf says how a call ended or why it did not begin.
func resultOf(r audit.Record) string {
	var parts []string
	add := func(format string, value any) { parts = append(parts, fmt.Sprintf(format, value)) }
	if r.Cause != "" {
		add("%s", r.Cause)
	}
	if code := r.Code.Code(); code != "" {
		add("%s", code)
	} else if r.Code != "" {
		add("%s", r.Code)
	}
	if r.ExitCode != nil {
		add("exit %d", *r.ExitCode)
	}
	if r.Signal != 0 {
		add("signal %d", r.Signal)
	}
	if r.Phase == audit.Deny || r.Phase == audit.Intent {
		add("%s", strings.TrimSpace(r.Rule+" "+r.Where))
	}
	return strings.Join(parts, " ")
}

type recordsData struct {
	Records []json.RawMessage `json:"records"`
	Damage  []string          `json:"damage,omitempty"`
}

func rawOf(entries []audit.Entry) []json.RawMessage {
	raw := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		raw[i] = json.RawMessage(e.Raw)
	}
	return raw
}

// printRecords puts records into one envelope.
func (p *program) printRecords(ctx context.Context, records iter.Seq2[audit.Entry, error]) error {
	data := recordsData{Records: []json.RawMessage{}}
	for e, err := range records {
		if problem := (*audit.Problem)(nil); errors.As(err, &problem) {
			p.tellOf(problem)
			data.Damage = append(data.Damage, safetext.Line(problem.Error()))
			continue
		}
		if err != nil {
			return err
		}
		data.Records = append(data.Records, bytes.Clone(e.Raw))
	}
	if ctx.Err() != nil {
		return ctx.Err() // half of them is no answer
	}
	if data.Damage == nil {
		return p.print(data)
	}
	broken := damaged(errNamed)
	p.printFailure(failureOf(broken, ""), data)
	return exitStatus(statusOf(broken))
}

// printMembers prints each record as lines of member and value.
func (p *program) printMembers(entries []audit.Entry) error {
	var text strings.Builder
	for i, e := range entries {
		if i > 0 {
			text.WriteString("\n")
		}
		if err := writeMembers(&text, e.Raw); err != nil {
			return err
		}
	}
	_, err := p.stdout.Write([]byte(text.String()))
	return err
}

// writeMembers gives the members of an object in its own order.
func writeMembers(text *strings.Builder, raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		fmt.Fprintf(text, "%-11s %s\n", safetext.Line(fmt.Sprint(name))+":", plain(value))
	}
	return nil
}

// plain gives a string as its text and anything else as JSON.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return safetext.Line(s)
	}
	return safetext.Line(string(value))
}

type chainsData struct {
	Chains   []chainData   `json:"chains"`
	Problems []problemData `json:"problems"`
	// Records counts those of all chains.
	Records uint64 `json:"records"`
}

type chainData struct {
	File      string `json:"file"`
	Head      string `json:"head"`
	Seq       uint64 `json:"seq"`
	Records   uint64 `json:"records"`
	Segments  int    `json:"segments"`
	Live      bool   `json:"live"`
	InFlight  int    `json:"in_flight"`
	TornBytes int    `json:"torn_bytes"`
	// Headless is set where a tail that was cut off would not show.
	Headless bool `json:"headless,omitempty"`
}

type problemData struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Seq  uint64 `json:"seq,omitempty"`
	Why  string `json:"why"`
}

func chainsOf(s audit.Summary) chainsData {
	data := chainsData{Chains: []chainData{}, Problems: []problemData{}}
	for _, c := range s.Chains {
		data.Records += c.Records
		data.Chains = append(data.Chains, chainData{
			File: c.File, Head: c.Hash, Seq: c.Seq, Records: c.Records, Segments: c.Segments,
			Live: c.Live, InFlight: c.InFlight, TornBytes: c.Torn, Headless: c.Headless,
		})
	}
	for _, b := range s.Problems {
		data.Problems = append(data.Problems, problemData{b.File, b.Line, b.Seq, safetext.Line(b.Why)})
	}
	return data
}

// printChains prints the head of every chain.
func (p *program) printChains(chains []audit.Chain) error {
	rows := [][]string{{"RECORDS", "STATE", "HEAD", "FILE"}}
	for _, c := range chains {
		rows = append(rows, []string{strconv.FormatUint(c.Records, 10), stateOf(c), c.Hash, c.File})
	}
	return p.table(rows)
}

func stateOf(c audit.Chain) string {
	switch {
	case c.Live:
		return "live"
	case c.InFlight > 0 || c.Torn > 0:
		return "unfinished"
	}
	return "ended"
}

// table prints rows in columns without borders; nothing is cut.
func (p *program) table(rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = orDash(safetext.Line(cell))
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", 2+widths[i]-len([]rune(cell))))
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := p.stdout.Write([]byte(text.String()))
	return err
}
