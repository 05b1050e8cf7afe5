package clientconfig

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/durward/durward/internal/jsonx"
)

// writer writes values in the style of the document: in lines that are indented so, or in one.
func (t *jsonText) writer(indent string, lines bool) jsonWriter {
	w := jsonWriter{indent: indent, unit: t.unit(), newline: newlineOf(t.text), lines: lines, colon: ": ", separator: ", "}
	if o, ok := t.root.Value.(*hujson.Object); ok && !lines && len(o.Members) > 0 && len(o.Members[0].Value.BeforeExtra) == 0 {
		w.colon, w.separator = ":", ","
	}
	return w
}

// A jsonWriter writes values. The zero value is of no use.
type jsonWriter struct {
	indent, unit, newline string
	lines                 bool // an object has a line for each of its members
	colon, separator      string
}

func (w jsonWriter) member(name string, value any) string {
	return string(jsonx.AppendString(nil, name)) + w.colon + w.value(value)
}

func (w jsonWriter) value(value any) string {
	switch v := value.(type) {
	case string:
		return string(jsonx.AppendString(nil, v))
	case bool:
		return fmt.Sprint(v)
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = w.value(text)
		}
		return "[" + strings.Join(texts, w.separator) + "]"
	}
	return w.object(value.([]member))
}

func (w jsonWriter) object(members []member) string {
	below := w
	below.indent += w.unit
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = below.member(m.name, m.value)
	}
	if !w.lines {
		return "{" + strings.Join(texts, w.separator) + "}"
	}
	begin := w.newline + below.indent
	return "{" + begin + strings.Join(texts, ","+begin) + w.newline + w.indent + "}"
}
