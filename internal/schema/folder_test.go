package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const meta07 = `"$schema": "http://json-schema.org/draft-07/schema#"`

func TestMistakesInSchemas(t *testing.T) {
	const out = "it leads out of the manifest's folder"
	const fetched = out + ", and nothing is ever fetched"
	const noPattern = "is no pattern of RE2, which has no lookaround and no backreferences"
	for _, test := range []struct{ name, text, want string }{
		{"nothing", ``, `s.json:1: not strict JSON: the text ends where a value should be`},
		{"not JSON", "{\n  \"type\": string\n}", `s.json:2: not strict JSON: expected a value`},
		{"a member twice", "{\"type\": \"string\",\n \"type\": \"null\"}", `s.json:2: not strict JSON: the member "type" stands twice in one object`},
		{"deeper than anybody reads", strings.Repeat(`{"not":`, 200) + "true" + strings.Repeat("}", 200), `s.json:1: not strict JSON: nested deeper than 128`},
		{"no schema", `[]`, `s.json:1: must be true or false or an object`},
		{"an unknown draft", `{"$schema": "https://json-schema.org/draft/2019-09/schema"}`, `s.json:1: /$schema: "https://json-schema.org/draft/2019-09/schema" is neither JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/schema) nor draft-07 (http://json-schema.org/draft-07/schema#)`},
		{"a schema of schemas of its own", `{"$schema": "meta.json"}`, `s.json:1: /$schema: "meta.json" is neither JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/schema) nor draft-07 (http://json-schema.org/draft-07/schema#)`},
		{"two drafts in one", `{"$defs": {"a": {"$id": "a", ` + meta07 + `}}}`, `s.json:1: /$defs/a/$schema: one file holds schemas of one draft`},
		{"a wrong type", "{\n  \"properties\": {\n    \"a\": {\"type\": \"strin\"}\n  }\n}", `s.json:3: /properties/a/type: must be one of "array", "boolean", "integer", "null", "number", "object", "string"`},
		{"a wrong keyword", `{"minLength": -1, "required": "a", "pattern": 1}`, "s.json:1: /minLength: must be at least 0\ns.json:1: /required: must be an array\ns.json:1: /pattern: must be a string"},
		{"a wrong keyword of draft-07", `{` + meta07 + `, "items": {"enum": 1}}`, `s.json:1: /items/enum: must be an array`},
		{"lookahead", `{"properties": {"a": {"pattern": "^(?=x)"}}}`, `s.json:1: /properties/a/pattern: "^(?=x)" ` + noPattern + `: invalid or unsupported Perl syntax: "(?="`},
		{"a backreference", `{"pattern": "(a)\\1"}`, `s.json:1: /pattern: "(a)\\1" ` + noPattern + `: invalid escape sequence: "\\1"`},
		{"a pattern of names", `{"patternProperties": {"(?<!a)b": true}}`, `s.json:1: /patternProperties/(?<!a)b: "(?<!a)b" ` + noPattern + `: invalid named capture: "(?<!a)b"`},
		{"a pattern that nothing refers to", `{"$defs": {"a": {"pattern": "("}}}`, `s.json:1: /$defs/a/pattern: "(" ` + noPattern + `: missing closing ): "("`},
		{"a URL", `{"$ref": "https://example.com/s.json"}`, `s.json:1: /$ref: "https://example.com/s.json": ` + fetched},
		{"a file URL", `{"$ref": "file:///etc/passwd"}`, `s.json:1: /$ref: "file:///etc/passwd": ` + fetched},
		{"our own scheme", `{"$ref": "folder:/other.json"}`, `s.json:1: /$ref: "folder:/other.json": ` + fetched},
		{"another host", `{"$ref": "//example.com/s.json"}`, `s.json:1: /$ref: "//example.com/s.json": ` + fetched},
		{"relative to a URL", `{"$id": "https://example.com/a/s.json", "$ref": "other.json"}`, `s.json:1: /$ref: "other.json": ` + fetched},
		{"an absolute path", `{"$ref": "/etc/passwd"}`, `s.json:1: /$ref: "/etc/passwd": the path is absolute; write it relative to the file it stands in`},
		{"up and out", `{"$ref": "../s.json"}`, `s.json:1: /$ref: "../s.json": ` + out},
		{"down, up and out", `{"$ref": "a/../../s.json"}`, `s.json:1: /$ref: "a/../../s.json": ` + out},
		{"up and out, written otherwise", `{"$ref": "%2e%2e/s.json"}`, `s.json:1: /$ref: "%2e%2e/s.json": ` + out},
		{"a backslash", `{"$ref": "..\\s.json"}`, `s.json:1: /$ref: "..\\s.json": it is no path of a file`},
		{"a query", `{"$ref": "other.json?x"}`, `s.json:1: /$ref: "other.json?x": it is no path of a file`},
		{"a missing file", `{"$ref": "missing.json#/a"}`, `s.json:1: /$ref: "missing.json#/a": no such file or directory`},
		{"a missing place", `{"$ref": "#/$defs/a"}`, `s.json:1: /$ref: "#/$defs/a": there is nothing at that place`},
		{"a missing anchor", `{"$ref": "#a"}`, `s.json:1: /$ref: "#a": there is nothing at that place`},
		{"a missing place elsewhere", `{"$ref": "other.json#/$defs/b"}`, `s.json:1: /$ref: "other.json#/$defs/b": there is nothing at that place`},
		{"a bad fragment", `{"$ref": "#%zz"}`, `s.json:1: /$ref: "#%zz": the fragment has a % that is no escape`},
		{"a dynamic reference", `{"$dynamicRef": "https://example.com/#a"}`, `s.json:1: /$dynamicRef: "https://example.com/#a": ` + fetched},
		{"mistakes in another file", `{"allOf": [{"$ref": "broken.json"}, {"$ref": "broken.json#/$defs/a"}]}`, "broken.json:2: /type: must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"\nbroken.json:3: /pattern: \"(\" " + noPattern + ": missing closing ): \"(\"\ns.json:1: /allOf/1/$ref: \"broken.json#/$defs/a\": there is nothing at that place"},
		{"a loop", `{"$ref": "#"}`, `s.json:1: the schema refers to itself without going into a value`},
		{"a longer loop", `{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"if": {"$ref": "#/$defs/a"}}}}`, `s.json:1: /$defs/a: the schema refers to itself without going into a value`},
		{"a loop of two files", `{"$ref": "loop.json"}`, `s.json:1: the schema refers to itself without going into a value`},
		{"an id twice", `{"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}`, `s.json:1: /$defs/b: the $id "x" is that of another schema`},
		{"an anchor twice", "{\"$defs\": {\"a\": {\"$anchor\": \"x\"},\n\"b\": {\"$anchor\": \"x\"}}}", `s.json:2: /$defs/b/$anchor: the anchor "x" is there already (line 1)`},
	} {
		_, got := compileAll(t, map[string]string{
			"s.json": test.text, "other.json": `{"$defs": {"a": true}}`, "loop.json": `{"anyOf": [{"$ref": "s.json"}]}`,
			"broken.json": "{\n\"type\": \"x\",\n\"pattern\": \"(\"}",
		})
		if diff := cmp.Diff(strings.Split(test.want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestSchemasReferToFilesOfTheFolder(t *testing.T) {
	s, problems := compileAll(t, map[string]string{
		"s.json":         `{"properties": {"a": {"$ref": "sub/a.json"}, "b": {"$ref": "sub/dir/../a%20b.json#/$defs/b"}, "c": {"$ref": "sub/a.json#c"}, "d": {"$ref": "draft07.json"}}}`,
		"sub/a.json":     `{"$ref": "../up.json", "$defs": {"c": {"$anchor": "c", "const": 3}}}`,
		"up.json":        `{"const": 1}`,
		"sub/a b.json":   `{"$defs": {"b": {"const": 2}}}`,
		"draft07.json":   `{` + meta07 + `, "$ref": "#/definitions/x", "const": 5, "definitions": {"x": {"const": 4}}}`,
		"untouched.json": `not read`,
	})
	if problems != "" {
		t.Fatal(problems)
	}
	if got := s.Check([]byte(`{"a": 1, "b": 2, "c": 3, "d": 4}`)); got != nil {
		t.Error(said(got))
	}
	want := []string{`/a const: must be 1`, `/b const: must be 2`, `/c const: must be 3`, `/d const: must be 4`}
	if diff := cmp.Diff(want, said(s.Check([]byte(`{"a": 2, "b": 1, "c": 1, "d": 5}`)))); diff != "" {
		t.Error(diff)
	}
}

func TestSchemasOfSchemasAreBuiltIn(t *testing.T) {
	for _, uri := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/meta/core"} {
		s := compile(t, `{"$ref": "`+uri+`"}`)
		if got := s.Check([]byte(`{"$id": "x"}`)); got != nil {
			t.Errorf("%s: %v", uri, got)
		}
		if got := s.Check([]byte(`{"$id": 1}`)); len(got) != 1 || got[0].Path != "/$id" {
			t.Errorf("%s: %v", uri, got)
		}
	}
}

func TestPathsOfSchemas(t *testing.T) {
	for path, want := range map[string]string{
		"https://example.com/s.json": "a URL is never fetched; name a file in the manifest's folder",
		"/etc/passwd":                "the path is absolute; write it relative to the manifest's folder",
		`a\b`:                        "the path holds a backslash; write it with /",
		"../s.json":                  "it leads out of the manifest's folder",
		"a/../../s.json":             "it leads out of the manifest's folder",
		"..":                         "it leads out of the manifest's folder",
		"missing":                    "missing",
	} {
		f := NewFolder("", func(path string) ([]byte, error) { return nil, errors.New(path) })
		if s, err := f.Compile(path); s != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
}

func TestFoldersAreBounded(t *testing.T) {
	many := func(n int, schema string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(schema+",", n), ",") + "]"
	}
	chain := map[string]string{}
	for i := range 600 {
		chain[fmt.Sprintf("c%d.json", i)] = fmt.Sprintf(`{"$ref": "c%d.json"}`, i+1)
	}
	chain["s.json"] = `{"$ref": "c0.json"}`
	long := []string{`"d0": true`}
	for i := range 600 {
		long = append(long, fmt.Sprintf(`"d%d": {"$ref": "#/$defs/d%d"}`, i+1, i))
	}
	big := map[string]string{"s.json": `{"allOf": [`}
	for i := range 8 {
		big[fmt.Sprintf("b%d.json", i)] = `{"$comment": "` + strings.Repeat("x", MaxBytes-20) + `"}`
		big["s.json"] += fmt.Sprintf(`{"$ref": "b%d.json"},`, i)
	}
	big["s.json"] += "true]}"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"too many schemas":                    {map[string]string{"s.json": `{"allOf": ` + many(maxRules, "{}") + `}`}, "all files together hold more than 100000 schemas"},
		"too many files":                      {chain, "it is one file more than the 256 that may refer to each other"},
		"too many bytes":                      {big, "all files together are over 8388608 bytes"},
		"a file too large":                    {map[string]string{"s.json": `{"$comment": "` + strings.Repeat("x", MaxBytes) + `"}`}, "s.json: not strict JSON: more than 1048576 bytes"},
		"too long a way":                      {map[string]string{"s.json": `{"$ref": "#/$defs/d600", "$defs": {` + strings.Join(long, ",") + `}}`}, "one value is led through more than 512 schemas"},
		"many references into a large object": {map[string]string{"s.json": `{"$defs": {` + strings.Join(long[:500], ",") + `}, "allOf": ` + many(10_000, `{"$ref": "#/$defs/d0"}`) + `}`}, ""},
	} {
		_, got := compileAll(t, test.files)
		if test.want == "" && got != "" || test.want != "" && (strings.Count(got, "\n") > 0 || !strings.Contains(got, test.want)) {
			t.Errorf("%s: %.300q", name, got)
		}
	}
}

func TestFilesThatWereRead(t *testing.T) {
	texts := map[string]string{"s.json": `{"$ref": "b.json"}`, "b.json": `{}`, "c.json": `{}`}
	f := NewFolder("dir", func(path string) ([]byte, error) { return []byte(texts[path]), nil })
	if _, err := f.Compile("./s.json"); err != nil {
		t.Fatal(err)
	}
	want := []File{{"b.json", []byte("{}")}, {"s.json", []byte(texts["s.json"])}}
	if diff := cmp.Diff(want, f.Files()); diff != "" {
		t.Error(diff)
	}
}
