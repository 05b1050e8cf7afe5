package audit

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/durward/durward"
)

// A Format is a form of export.
type Format string

// The formats.
const (
	// JSONL gives the lines as they stand in the log, byte for byte.
	JSONL Format = "jsonl"
	// CSV gives a header and one row per record, for spreadsheets: lists and objects
	// are JSON, and a text that a spreadsheet would compute begins with an apostrophe.
	CSV Format = "csv"
)

// Formats lists all formats.
func Formats() []Format { return []Format{JSONL, CSV} }

// Export writes the wanted records in the order of time. A line that is no record and a
// file that cannot be read are left out and given to damaged, between two writes of
// whole lines; once all others are written, the error has reason AuditBroken and names
// the last of them.
func Export(ctx context.Context, w io.Writer, dir string, format Format, filter Filter, damaged func(*Problem)) error {
	out := bufio.NewWriter(w)
	put, err := exporter(out, format)
	if err != nil {
		return err
	}
	var damage error
	for e, err := range Records(ctx, dir, filter) {
		if problem := (*Problem)(nil); errors.As(err, &problem) {
			if err := out.Flush(); err != nil {
				return err
			}
			damaged(problem)
			damage = &durward.Error{Reason: durward.AuditBroken, Op: "audit.export", Err: err}
			continue
		}
		if err != nil {
			return err
		}
		if err := put(e); err != nil {
			return err
		}
	}
	return errors.Join(out.Flush(), damage)
}

func exporter(out *bufio.Writer, format Format) (func(Entry) error, error) {
	switch format {
	case JSONL:
		return func(e Entry) error {
			_, err := fmt.Fprintf(out, "%s\n", e.Raw)
			return err
		}, nil
	case CSV:
		return csvExporter(out)
	}
	return nil, &durward.Error{
		Reason: durward.BadUsage, Op: "audit.export", Hint: "use jsonl or csv", Err: fmt.Errorf("unknown format %q", format),
	}
}

// columns are the members of a record, in its order.
var columns = [...]string{
	"seq", "prev", "ts", "phase", "reqId", "clientId", "traceId", "door", "surface", "caller", "tool", "server", "decision",
	"rule", "where", "code", "path", "cwd", "commandId", "args", "bytes", "sha256", "exitCode", "signal", "timedOut",
	"truncated", "cached", "cause", "durationMs", "queueMs", "policyHash", "formerPolicyHash", "sandbox", "network", "host", "port",
	"times", "limits", "client",
}

func csvExporter(out *bufio.Writer) (func(Entry) error, error) {
	table := csv.NewWriter(out)
	put := func(row []string) error {
		err := table.Write(row)
		table.Flush()
		return errors.Join(err, table.Error())
	}
	return func(e Entry) error {
		var member map[string]json.RawMessage
		if err := json.Unmarshal(e.Raw, &member); err != nil {
			return err
		}
		row := make([]string, len(columns))
		for i, name := range columns {
			row[i] = cell(member[name])
		}
		return put(row)
	}, put(columns[:])
}

// cell gives a value as a spreadsheet shows it. Control characters stay escaped.
func cell(value json.RawMessage) string {
	var text string
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	text = string(escapeControls([]byte(text)))
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
