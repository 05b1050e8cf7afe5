package hubpin

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/durward/durward/internal/safetext"
)

// Diff shows what is another in now than it was in before, as a unified diff of what is called
// so. Nothing in it is hidden and no terminal obeys it. It is empty where both are the same.
func Diff(called string, before, now Text) string {
	called = safetext.Line(called)
	text := string(diff.Diff(called+" as it was approved", []byte(before.page()), called+" as it is", []byte(now.page())))
	_, text, _ = strings.Cut(text, "\n") // which names both again
	return text
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
