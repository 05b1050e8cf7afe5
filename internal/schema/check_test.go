package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// said gives violations as lines "path keyword: message".
func said(found []Violation) []string {
	var lines []string
	for _, v := range found {
		lines = append(lines, fmt.Sprintf("%s %s: %s", v.Path, v.Keyword, v.Message))
	}
	return lines
}

func TestWhatIsSaid(t *testing.T) {
	for _, test := range []struct{ schema, text, want string }{
		{`{"type": "string"}`, `1`, ` type: must be a string`},
		{`{"type": ["string", "null"]}`, `1`, ` type: must be a string or null`},
		{`{"type": "integer"}`, `1.5`, ` type: must be an integer`},
		{`{"type": "boolean"}`, `"true"`, ` type: must be true or false`},
		{`{"enum": ["a", 1, null]}`, `"secret"`, ` enum: must be one of "a", 1, null`},
		{`{"enum": ["` + strings.Repeat("a", 200) + `"]}`, `"secret"`, ` enum: must be one of the 1 values that the schema lists`},
		{`{"const": {"a": 1}}`, `"secret"`, ` const: must be {"a": 1}`},
		{`{"minimum": 1}`, `0`, ` minimum: must be at least 1`},
		{`{"maximum": 1e2}`, `101`, ` maximum: must be at most 1e2`},
		{`{"exclusiveMinimum": 1}`, `1`, ` exclusiveMinimum: must be more than 1`},
		{`{"exclusiveMaximum": 1}`, `1`, ` exclusiveMaximum: must be less than 1`},
		{`{"multipleOf": 0.01}`, `0.015`, ` multipleOf: must be a multiple of 0.01`},
		{`{"minLength": 2}`, `"é"`, ` minLength: must have at least 2 characters`},
		{`{"maxLength": 1}`, `"ab"`, ` maxLength: must have at most 1 character`},
		{`{"pattern": "^a"}`, `"secret"`, ` pattern: must match the pattern ^a`},
		{`{"format": "uuid"}`, `"secret"`, ` format: must be a UUID`},
		{`{"format": "uri"}`, `"secret"`, ` format: must be an absolute URI`},
		{`{"minItems": 1}`, `[]`, ` minItems: must have at least 1 item`},
		{`{"maxItems": 0}`, `[1]`, ` maxItems: must have at most 0 items`},
		{`{"uniqueItems": true}`, `[1, 2, 1.0]`, ` uniqueItems: must not have the same item twice, at 0 and 2`},
		{`{"contains": {"const": 1}}`, `[2]`, ` contains: must have at least 1 item of the kind that the schema asks for`},
		{`{"contains": true, "minContains": 2}`, `[2]`, ` minContains: must have at least 2 items of the kind that the schema asks for`},
		{`{"contains": true, "maxContains": 1}`, `[2, 3]`, ` maxContains: must have at most 1 item of the kind that the schema counts`},
		{`{"items": {"type": "string"}}`, `["a", 1]`, `/1 type: must be a string`},
		{`{"prefixItems": [true], "items": false}`, `["a", 1]`, `/1 items: must not be there`},
		{`{"required": ["a", "b"]}`, `{"a": 1}`, ` required: must have the member "b"`},
		{`{"minProperties": 1}`, `{}`, ` minProperties: must have at least 1 member`},
		{`{"properties": {"a/b~": {"type": "string"}}}`, `{"a/b~": 1}`, `/a~1b~0 type: must be a string`},
		{`{"properties": {"x": {"properties": {"y": false}}}}`, `{"x": {"y": 1}}`, `/x/y properties: must not be there`},
		{`{"additionalProperties": false}`, `{"secret": 1}`, `/secret additionalProperties: must not be there`},
		{`{"patternProperties": {"^s": {"type": "null"}}}`, `{"secret": 1}`, `/secret type: must be null`},
		{`{"unevaluatedProperties": false, "allOf": [{"properties": {"a": true}}]}`, `{"a": 1, "b": 2}`, `/b unevaluatedProperties: must not be there`},
		{`{"unevaluatedItems": false, "prefixItems": [true]}`, `[1, 2]`, `/1 unevaluatedItems: must not be there`},
		{`{"propertyNames": {"maxLength": 3}}`, `{"secret": 1}`, `/secret propertyNames: must not have such a name`},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, ` dependentRequired: must have the member "b"`},
		{`{"not": {"type": "string"}}`, `"secret"`, ` not: must not be of a kind that the schema rules out`},
		{`{"anyOf": [{"minimum": 1}, {"multipleOf": 7}]}`, `0.5`, ` anyOf: must fit one of the alternatives of the schema, and fits none`},
		{`{"oneOf": [{"minimum": 1}, {"maximum": 7}]}`, `5`, ` oneOf: must fit one alternative of the schema alone, and fits several`},
		{`{"oneOf": [{"type": "null"}, {"$ref": "#/$defs/o"}], "$defs": {"o": {"type": "object", "required": ["a"]}}}`, `{}`, ` required: must have the member "a"`},
		{`{"if": {"type": "string"}, "then": {"minLength": 9}}`, `"secret"`, ` minLength: must have at least 9 characters`},
		{`false`, `"secret"`, ` false: must not be there`},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}, "additionalItems": false}`, `{"a": 1}`, ` dependencies: must have the member "b"`},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [true], "additionalItems": false}`, `[1, 2]`, `/1 additionalItems: must not be there`},
	} {
		got := said(compile(t, test.schema).Check([]byte(test.text)))
		if diff := cmp.Diff([]string{test.want}, got); diff != "" {
			t.Errorf("%s against %s: %s", test.text, test.schema, diff)
		}
		if strings.Contains(strings.Join(got, ""), ": secret") {
			t.Errorf("the text is repeated: %q", got)
		}
	}
}

func TestViolationsComeInTheOrderOfTheText(t *testing.T) {
	s := compile(t, `{"properties": {"z": {"type": "string"}, "a": {"items": {"type": "string"}}}, "required": ["b"], "additionalProperties": false,
		"allOf": [{"properties": {"z": {"type": "string"}}}, {"maxProperties": 2}]}`)
	got := said(s.Check([]byte(`{"z": 1, "y": 2, "a": ["x", 3, 4]}`)))
	want := []string{
		` required: must have the member "b"`, ` maxProperties: must have at most 2 members`,
		`/z type: must be a string`, `/y additionalProperties: must not be there`, `/a/1 type: must be a string`, `/a/2 type: must be a string`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoMoreThanTwentyViolations(t *testing.T) {
	s := compile(t, `{"items": {"type": "string"}, "allOf": [{"minItems": 1000}]}`)
	got := said(s.Check([]byte("[" + strings.Repeat("1,", 99) + "1]")))
	if len(got) != 20 || got[0] != " minItems: must have at least 1000 items" || got[19] != "/18 type: must be a string" {
		t.Errorf("%d: %q", len(got), got)
	}
	long := strings.Repeat("n", 1<<20)
	if got := compile(t, `{"additionalProperties": false}`).Check([]byte(`{"` + long + `": 1}`)); len(got) != 1 || len(got[0].Path) > 2048 {
		t.Errorf("a path has %d bytes", len(got[0].Path))
	}
}

func TestNumbersAreExact(t *testing.T) {
	big := strings.Repeat("9", 400)
	for _, test := range []struct {
		schema, text string
		fits         bool
	}{
		{`{"type": "integer"}`, `1.0`, true},
		{`{"type": "integer"}`, `10e-1`, true},
		{`{"type": "integer"}`, `1e-1`, false},
		{`{"type": "integer"}`, `1e400`, true},
		{`{"type": "integer"}`, `1e2000000`, true},
		{`{"type": "integer"}`, `1e-99999999999999999999`, false},
		{`{"type": "integer"}`, `0e-99999999999999999999`, true},
		{`{"type": "integer"}`, `-0.0`, true},
		{`{"type": "integer"}`, big, true},
		{`{"type": "integer"}`, big + ".5", false},
		{`{"type": "number"}`, `1e400`, true},
		{`{"minimum": 1}`, `1e2000000`, true},
		{`{"minimum": 1}`, `-1e2000000`, false},
		{`{"minimum": 1}`, `1e-2000000`, false},
		{`{"maximum": 9007199254740992}`, `9007199254740993`, false},
		{`{"maximum": 9007199254740993}`, `9007199254740993`, true},
		{`{"maximum": 0.1}`, `0.1000000000000000000000001`, false},
		{`{"maximum": 1e400}`, `1e401`, false},
		{`{"maximum": 1e400}`, `0.9e401`, false},
		{`{"maximum": 1e400}`, `9.9e399`, true},
		{`{"exclusiveMinimum": -1}`, `-0.99999999999999999999`, true},
		{`{"exclusiveMinimum": -1}`, `-1.00`, false},
		{`{"minimum": 0}`, `-0`, true},
		{`{"multipleOf": 0.01}`, `19.99`, true},
		{`{"multipleOf": 0.01}`, `1e400`, true},
		{`{"multipleOf": 0.3}`, `0.9`, true},
		{`{"multipleOf": 0.3}`, `1e-1`, false},
		{`{"multipleOf": 3}`, big, true},
		{`{"multipleOf": 7}`, big, false},
		{`{"multipleOf": 7}`, `7e2000000`, true},
		{`{"multipleOf": 7}`, `1e2000000`, false},
		{`{"multipleOf": 7}`, `0`, true},
		{`{"multipleOf": 1e400}`, `3e401`, true},
		{`{"multipleOf": 1e400}`, `3e399`, false},
		{`{"multipleOf": 1e-400}`, `3`, true},
		{`{"const": 1}`, `1.000`, true},
		{`{"const": 1}`, `10E-1`, true},
		{`{"const": 9007199254740993}`, `9007199254740992`, false},
		{`{"const": 1e2000000}`, `10e1999999`, true},
		{`{"enum": [0]}`, `-0.0`, true},
		{`{"uniqueItems": true}`, `[1, 1.0]`, false},
		{`{"uniqueItems": true}`, `[9007199254740992, 9007199254740993, "1", 1, true, false, 0, null, [], {}, ""]`, true},
		{`{"uniqueItems": true}`, `[{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]`, false},
		{`{"minLength": 2e0}`, `"a"`, false},
		{`{"maxLength": 1e400}`, `"a"`, true},
	} {
		got := compile(t, test.schema).Check([]byte(test.text))
		if (got == nil) != test.fits {
			t.Errorf("%.40s against %s: %v", test.text, test.schema, got)
		}
	}
}

func TestMultiplesAreFoundQuickly(t *testing.T) {
	// The time is bounded by that of the test binary.
	text := "[" + strings.TrimSuffix(strings.Repeat("1e999999,", 20_000), ",") + "]"
	s := compile(t, `{"items": {"multipleOf": 0.37, "minimum": 1, "type": "integer"}}`)
	if got := s.Check([]byte(text)); len(got) != 20 {
		t.Error(got)
	}
	if got := compile(t, `{"multipleOf": 37}`).Check([]byte(strings.Repeat("9", 1<<20))); len(got) != 1 {
		t.Error(got)
	}
}

func TestFormats(t *testing.T) {
	for format, texts := range map[string]map[string]bool{
		"uri": {
			"https://example.com": true, "http://a/b?c=d#e": true, "urn:uuid:x": true, "mailto:a@b": true, "http://[::1]:8080/": true, "ftp://u:p@h:21/x": true,
			"http://[v1.a]/": true, "http://é.example": false, "example.com": false, "/path": false, "": false, "http://a b": false, "http://a/%zz": false, "http://a/%4": false,
			"http://a/%41": true, "http://[::1": false, "http://[1.2.3.4]/": false, "http://a:port/": false, "1http://a": false, "http://a#b#c": false, "http://a/<x>": false,
			`http://a\b`: false, "http://a|b": false, "http://u@v@h/": false, "http://[fe80::1%25e]/": false, "http:": true, "://": false, "a+b-c.d:e": true, "http://a/[": false,
		},
		"date-time": {
			"2024-02-29T12:00:00Z": true, "2023-02-29T12:00:00Z": false, "2024-01-01t00:00:00.123z": true, "2024-01-01T00:00:00+23:59": true, "2024-01-01T00:00:00-00:00": true,
			"2024-01-01T00:00:00": false, "2024-01-01": false, "2024-01-01 00:00:00Z": false, "2024-13-01T00:00:00Z": false, "2024-00-01T00:00:00Z": false, "2024-01-32T00:00:00Z": false,
			"2024-01-01T24:00:00Z": false, "2024-01-01T00:60:00Z": false, "2024-12-31T23:59:60Z": true, "2024-12-31T22:59:60Z": false, "2024-12-31T15:59:60-08:00": true, "2025-01-01T00:59:60+01:00": true,
			"2024-01-01T00:00:61Z": false, "2024-01-01T00:00:00.Z": false, "2024-01-01T00:00:00+24:00": false, "2024-01-01T00:00:00+0100": false, "": false, "2024-01-01T00:00:00ZZ": false, "２024-01-01T00:00:00Z": false,
			"2000-02-29T00:00:00Z": true, "1900-02-29T00:00:00Z": false, "0000-01-01T00:00:00Z": true, "2024-01-01T00:00:00z": true, "2024-01-01T00:00:00.": false,
		},
		"email": {
			"joe@example.com": true, "joe@localhost": true, "a.b+c@d.e": true, `"a b\"c"@d`: true, "joe@[127.0.0.1]": true, "joe@[IPv6:::1]": true, "joe@[::1]": false, "te~st@example.com": true,
			"joe": false, "@example.com": false, "joe@": false, ".joe@a": false, "joe.@a": false, "a..b@c": false, "joe@-a": false, "joe@a..b": false, "joe bloggs@a": false, "joe@a b": false,
			`"a@b`: false, `""@a`: true, strings.Repeat("a", 65) + "@b": false, strings.Repeat("a", 64) + "@b": true, "é@b": false, "": false, "joe@[127.0.0.300]": false,
		},
		"uuid": {
			"123e4567-e89b-12d3-a456-426614174000": true, "123E4567-E89B-12D3-A456-426614174000": true, "00000000-0000-0000-0000-000000000000": true, "123e4567e89b12d3a456426614174000": false,
			"123e4567-e89b-12d3-a456-42661417400": false, "123e4567-e89b-12d3-a456-42661417400g": false, "{23e4567-e89b-12d3-a456-426614174000}": false, "": false, "123e4567-e89b-12d3-a4562426614174000": false,
		},
		"hostname": {"not asserted, as all others": true},
	} {
		s := compile(t, `{"format": "`+format+`"}`)
		for text, fits := range texts {
			line, _ := json.Marshal(text)
			if found := s.Check(line); (found == nil) != fits {
				t.Errorf("%s %q: %v", format, text, found)
			}
		}
		if found := s.Check([]byte(`12`)); found != nil {
			t.Errorf("a number is no %s: %v", format, found)
		}
	}
}

// A schema may ask for more than anybody has time for; then nothing fits.
func TestChecksAreBounded(t *testing.T) {
	var defs []string
	for i := range 60 {
		defs = append(defs, fmt.Sprintf(`"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	doubling := `{"$ref": "#/$defs/d0", "$defs": {` + strings.Join(defs, ", ") + `, "d60": {"type": "string"}}}`
	text := "[" + strings.TrimSuffix(strings.Repeat(`{"a": [1]},`, 4_000), ",") + "]"
	for name, test := range map[string]struct{ schema, text string }{
		"doubling":          {doubling, `"x"`},
		"doubling in anyOf": {strings.ReplaceAll(doubling, "allOf", "anyOf"), `1`},
		"many patterns":     {`{"items": {"patternProperties": {` + manyPatterns(2000) + `}}}`, text},
		"many values":       {`{}`, "[" + strings.Repeat("1,", maxValues) + "1]"},
		"many constants":    {`{"items": {"enum": [` + strings.TrimSuffix(strings.Repeat(`{"a": [2]},`, 2000), ",") + `]}}`, text},
	} {
		began := time.Now()
		got := said(compile(t, test.schema).Check([]byte(test.text)))
		if diff := cmp.Diff([]string{" : is too large to be held to its schema"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
	}
}

// What a schema asks for is not done once there are no steps left for it.
func TestChecksEndWithTheirSteps(t *testing.T) {
	var members []string
	for i := range 5000 {
		members = append(members, fmt.Sprintf(`"m%d": 1`, i))
	}
	text := "{" + strings.Join(members, ",") + "}"
	for name, schema := range map[string]string{
		"patterns":        `{"patternProperties": {` + manyPatterns(5000) + `}}`,
		"names":           `{"propertyNames": {"anyOf": [{"pattern": "x"}` + strings.Repeat(`,{"pattern": "y"}`, 5000) + `]}}`,
		"a large pattern": `{"propertyNames": {"pattern": "^(m?[0-9]?){500}[0-9]{500}$"}}`,
		"required":        `{"anyOf": [false` + strings.Repeat(`,{"required": ["n"]}`, 10_000) + `]}`,
	} {
		var tree tree
		if !tree.parse([]byte(text)) {
			t.Fatal("it is not read")
		}
		const steps = 100_000
		c := checker{tree: &tree, steps: steps}
		c.fits(compile(t, schema).root, 0, false, nil)
		if c.steps >= 0 || c.steps < -steps {
			t.Errorf("%s: of %d steps %d are left", name, steps, c.steps)
		}
	}
}

func manyPatterns(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"^b%d": true`, i))
	}
	return strings.Join(list, ",")
}

func TestDeepTextsAreChecked(t *testing.T) {
	s := compile(t, `{"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}}`)
	deep := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	if got := s.Check([]byte(deep)); got != nil {
		t.Error(got)
	}
	if got := s.Check([]byte(strings.Replace(deep, "[]", "[1]", 1))); len(got) != 1 || strings.Count(got[0].Path, "/0") != 128 {
		t.Error(got)
	}
}

func TestManyCheckAtOnce(t *testing.T) {
	s, good := compile(t, crawlInput), kilobyte()
	bad := []byte(strings.Replace(string(good), `"crawl"`, `"crowl"`, 1))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if got := s.Check(good); got != nil {
					t.Error(got)
				}
				if got := said(s.Check(bad)); len(got) != 1 || got[0] != `/mode enum: must be one of "crawl", "scrape"` {
					t.Errorf("%q", got)
				}
			}
		})
	}
	all.Wait()
}

func TestNoSchemaFitsEverything(t *testing.T) {
	var s *Schema
	if s.Check([]byte(`1`)) != nil || s.Document() != nil {
		t.Error("no schema asks for something")
	}
}
