package hubpin

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/durward/durward/internal/safetext"
)

// Diff shows what is another in now than it was in before, as a unified diff. Nothing in it is
// hidden and no terminal obeys it.
func Diff(before, now Text) string {
	return string(diff.Diff("approved", []byte(before.page()), "present", []byte(now.page())))
}

// page lays a text out on lines.
func (t Text) page() string {
	var b strings.Builder
	b.WriteString("name: " + safetext.Line(t.Name) + "\n")
	for line := range strings.SplitSeq(t.Description, "\n") {
		b.WriteString("description: " + safetext.Line(line) + "\n")
	}
	var schema bytes.Buffer
	if json.Indent(&schema, t.InputSchema, "", "  ") != nil {
		schema.Reset()
		schema.Write(t.InputSchema)
	}
	for line := range strings.SplitSeq(schema.String(), "\n") {
		b.WriteString("inputSchema: " + safetext.Line(safetext.JSON(line)) + "\n")
	}
	return b.String()
}
