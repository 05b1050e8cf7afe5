package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	other "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/durward/durward/internal/jsonx"
)

// FuzzCheck compiles a schema and holds a text to it. Where another implementation can be asked,
// too, it has to say the same.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"testdata/suite/draft2020-12/*.json", "testdata/suite/draft7/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || files == nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			var groups []suiteGroup
			if err := json.Unmarshal(data, &groups); err != nil {
				f.Fatal(err)
			}
			dialect := draft2020
			if strings.Contains(pattern, "draft7") {
				dialect = draft07
			}
			for _, g := range groups {
				f.Add(inDialect(g.Schema, dialect), []byte(g.Tests[0].Data))
			}
		}
	}
	f.Add([]byte(crawlInput), kilobyte())
	f.Add([]byte(`{"minimum": 1, "multipleOf": 0.3}`), []byte(`1e2000000`))
	f.Fuzz(func(t *testing.T, schema, text []byte) {
		folder := NewFolder("", func(string) ([]byte, error) { return schema, nil })
		s, err := folder.Compile("s.json")
		if err != nil {
			t.Fatal(err)
		}
		if folder.Problems() != nil || jsonx.Check(text, jsonx.Limits{}) != nil {
			return
		}
		found := s.Check(text)
		checkForm(t, found, text)
		if fits, asked := ask(schema, text); asked && fits != (found == nil) {
			t.Errorf("%s against %s: %v; the other one says %t", text, schema, found, fits)
		}
	})
}

// checkForm looks at what violations are told of.
func checkForm(t *testing.T, found []Violation, text []byte) {
	t.Helper()
	if len(found) > maxViolations {
		t.Errorf("%d violations", len(found))
	}
	whole := &document{tree: parse(text)}
	last := int32(-1)
	for _, v := range found {
		if v.Message == "" || len(v.Path) > 2*maxPointerBytes {
			t.Errorf("%+v", v)
		}
		if strings.HasSuffix(v.Path, "…") {
			continue
		}
		at := int32(0)
		if v.Path != "" {
			at = whole.follow(0, v.Path)
		}
		if at == none || at < last {
			t.Errorf("%q leads to %d behind %d of %s", v.Path, at, last, text)
		}
		last = at
	}
}

// What the other implementation means otherwise, or cannot take: large exponents, formats,
// schemas in which a name means what it should not, and what goes round in circles.
var unasked = regexp.MustCompile(`[eE][-+]?[0-9]{4}|format|\$|content|\\`)

// ask has the other implementation say whether a text fits.
func ask(schema, text []byte) (fits, asked bool) {
	if unasked.Match(schema) || unasked.Match(text) {
		return false, false
	}
	document, err := other.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return false, false
	}
	value, err := other.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return false, false
	}
	c := other.NewCompiler()
	c.UseLoader(other.SchemeURLLoader{})
	if err := c.AddResource("mem:schema", document); err != nil {
		return false, false
	}
	compiled, err := c.Compile("mem:schema")
	if err != nil {
		return false, false
	}
	return compiled.Validate(value) == nil, true
}
