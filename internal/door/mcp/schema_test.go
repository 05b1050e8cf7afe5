package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/durward/durward"
)

// schemaOf compiles a schema without looking for others.
func schemaOf(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("mem:///schema", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:///schema")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func valid(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

// What a call gives fits the schema that the tool shows for it, also when its time was up.
func TestResultsFitTheirSchemas(t *testing.T) {
	timedOut := gives(durward.Result{Stdout: printed("o", 1), Took: 1}, &durward.Error{Reason: durward.DeadlineExceeded})
	tests := []struct {
		tool      string
		runtime   double
		arguments string
	}{
		{"cmd.run", echo, `{"commandId":"rg","args":["x"]}`},
		{"cmd.run", gives(durward.Result{Signal: 9, Stderr: printed("\xff", 0)}, nil), `{"commandId":"rg"}`},
		{"cmd.run", timedOut, `{"commandId":"rg"}`},
		{"fs.read", echo, `{"path":"a"}`},
		{"fs.write", echo, `{"path":"a","data":""}`},
	}
	schemas := map[string]tool{}
	for _, tool := range toolsOf(Surface{Commands: surface().Commands, Dotted: true}) {
		schemas[tool.Name] = tool
	}
	for _, tt := range tests {
		_, answer := answers(t, tt.runtime, tt.tool, tt.arguments)
		var got struct {
			Result struct{ StructuredContent json.RawMessage }
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err)
		}
		if err := valid(t, schemaOf(t, schemas[tt.tool].OutputSchema), string(got.Result.StructuredContent)); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
		}
		if err := valid(t, schemaOf(t, schemas[tt.tool].InputSchema), tt.arguments); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
		}
	}
}

// What toolcall refuses for its form, the schema of cmd.run refuses, too, and the other
// way round.
func TestArgumentsFitTheirSchema(t *testing.T) {
	schema := schemaOf(t, runInput([]string{"git", "rg"}))
	for arguments, fits := range map[string]bool{
		`{"commandId":"rg"}`: true,
		`{"commandId":"rg","args":["a"],"cwd":"a","stdin":"","env":{"A":""},"timeoutMs":1}`: true,
		`{"commandId":"rg","timeoutMs":5e3}`:                                                true,
		`{}`:                                                                                false,
		`{"commandId":1}`:                                                                   false,
		`{"commandId":"rg","args":[1]}`:                                                     false,
		`{"commandId":"rg","env":{"A":null}}`:                                               false,
		`{"commandId":"rg","timeoutMs":0}`:                                                  false,
		`{"commandId":"rg","timeoutMs":1.5}`:                                                false,
		`{"commandId":"rg","timeout":1}`:                                                    false,
		`{"commandId":"rg","cwd":""}`:                                                       false,
		`{"commandId":"rg","cwd":null}`:                                                     false,
		`{"commandId":"rg","args":` + many(257) + `}`:                                       false,
		`{"commandId":"rg","args":` + many(256) + `}`:                                       true,
	} {
		if err := valid(t, schema, arguments); (err == nil) != fits {
			t.Errorf("%.60s: %v", arguments, err)
		}
		direct, _ := answers(t, echo, "cmd.run", arguments)
		if strings.Contains(direct, `"result"`) != fits {
			t.Errorf("%.60s is answered with %s", arguments, direct)
		}
	}
	if err := valid(t, schema, `{"commandId":"sh"}`); err == nil {
		t.Error("any command fits")
	}
}

// many is a list of so many arguments.
func many(n int) string { return `["` + strings.Repeat(`","`, n-1) + `"]` }
