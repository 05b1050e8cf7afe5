package hubpin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/durward/durward/internal/safetext"
)

// maxShown bounds a diff: what a server says may be of any size.
const maxShown = 128 << 10

// Diff shows what is another in now than it was in before, as a unified diff of what is called
// so. Nothing in it is hidden and no terminal obeys it. It is empty where both are the same, and
// says how much is left out of one that is too long for anybody.
func Diff(called string, before, now Text) string {
	text := compare(called, before.page(safetext.Line), now.page(safetext.Line))
	if text == "" && Digest(before) != Digest(now) { // what is hidden in one is written out in the other
		text = compare(called, before.page(strconv.QuoteToASCII), now.page(strconv.QuoteToASCII))
	}
	if len(text) > maxShown {
		text = fmt.Sprintf("%s\n… and %d bytes more\n", strings.ToValidUTF8(text[:maxShown], ""), len(text)-maxShown)
	}
	return text
}

func compare(called, before, now string) string {
	called = safetext.Line(called)
	text := string(diff.Diff(called+" as it was approved", []byte(before), called+" as it is", []byte(now)))
	_, text, _ = strings.Cut(text, "\n") // which names both again
	return text
}

// page lays a text out on lines, each of which safe makes safe.
func (t Text) page(safe func(string) string) string {
	var b strings.Builder
	b.WriteString("name: " + safe(t.Name) + "\n")
	for line := range strings.SplitSeq(t.Description, "\n") {
		b.WriteString("description: " + safe(line) + "\n")
	}
	var schema bytes.Buffer
	if json.Indent(&schema, t.InputSchema, "", "  ") != nil {
		schema.Reset()
		schema.Write(t.InputSchema)
	}
	for line := range strings.SplitSeq(schema.String(), "\n") {
		b.WriteString("inputSchema: " + safe(line) + "\n")
	}
	return b.String()
}
