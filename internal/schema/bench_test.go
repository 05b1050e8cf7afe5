package schema

import (
	"fmt"
	"strings"
	"testing"
)

// compile gives the schema of a text, which has no mistakes.
func compile(t testing.TB, text string) *Schema {
	t.Helper()
	s, problems := compileAll(t, map[string]string{"s.json": text})
	if problems != "" {
		t.Fatal(problems)
	}
	return s
}

// compileAll compiles s.json of a folder, and gives its problems, one a line.
func compileAll(t testing.TB, files map[string]string) (s *Schema, problems string) {
	t.Helper()
	f := NewFolder("", func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("no such file or directory")
	})
	s, err := f.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	if found := f.Problems(); found != nil {
		problems = found.Error()
	}
	return s, problems
}

// crawlInput is a schema of the usual kind.
const crawlInput = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false, "required": ["url"],
  "properties": {
    "url": {"type": "string", "format": "uri", "pattern": "^https?://", "maxLength": 2048},
    "mode": {"enum": ["crawl", "scrape"], "default": "scrape"},
    "max_pages": {"type": "integer", "minimum": 1, "maximum": 1000},
    "formats": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"enum": ["markdown", "html", "text"]}},
    "headers": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 256}},
    "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}
  },
  "$defs": {"tag": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "weight": {"type": "number"}}}}
}`

// kilobyte is an input for it of a KiB.
func kilobyte() []byte {
	var tags, headers []string
	for i := range 12 {
		tags = append(tags, fmt.Sprintf(`{"name": "tag number %d", "weight": %d.25}`, i, i))
		headers = append(headers, fmt.Sprintf(`"X-Header-%d": "value %d of some length"`, i, i))
	}
	return fmt.Appendf(nil, `{"url": "https://example.com/some/path?query=1", "mode": "crawl", "max_pages": 10, "formats": ["markdown", "html"], "headers": {%s}, "tags": [%s]}`,
		strings.Join(headers, ", "), strings.Join(tags, ", "))
}

func BenchmarkCheck(b *testing.B) {
	s, input := compile(b, crawlInput), kilobyte()
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if found := s.Check(input); found != nil {
			b.Fatal(found)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, crawlInput)
	}
}

func BenchmarkCompileSchemasOfSchemas(b *testing.B) {
	for b.Loop() {
		f := NewFolder("", nil)
		f.compile(f.known(draft2020.uri()))
	}
}
