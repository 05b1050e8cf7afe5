//go:build unix

package mcppolicy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/durward/durward/internal/mcppolicy"
)

var update = flag.Bool("update", false, "write the golden files anew")

const schemaFile = "../../policy.schema.json"

func TestTheSchemaFileIsThatOfTheCode(t *testing.T) {
	var want bytes.Buffer
	if err := json.Indent(&want, mcppolicy.Schema(), "", "  "); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("policy.schema.json is stale (%v); go test ./internal/mcppolicy -update", err)
	}
}

// What loads fits the schema.
func TestPoliciesFitTheSchema(t *testing.T) {
	schema := resolved(t)
	texts := map[string]string{"starter": mcppolicy.Starter(), "full": full, "judged": judged, "environment": withEnv, "aliases": strings.NewReplacer("allowedRoots", "allowed_roots", "writeRules", "write_rules", "timeoutMs", "timeout_ms").Replace(full)}
	for _, name := range []string{"policy.example.yaml", "policy.quickstart.yaml"} {
		text, err := os.ReadFile("../../examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		parse(t, text)
		if err := schema.Validate(instance(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What does not fit the schema does not load.
func TestMistakesThatTheSchemaFinds(t *testing.T) {
	schema := resolved(t)
	for _, text := range []string{
		"{}", "version: 1", "allowedRoots: [/w]", "version: 2\nallowedRoots: [/w]", "version: 1\nallowedRoots: []", "version: 1\nallowedRoots: [x]",
		base + "allowed_roots: [/w]", base + "comands: []", base + "denyNetworkFS: 'no'", base + "writeRules: [{}]",
		base + "writeRules: [{path: /w, maxFileBytes: 0}]", base + "commands: [{id: a}]", base + "commands: [{id: '', exec: b}]", base + "commands: [{id: a, exec: b/c}]",
		gitEntry + "timeoutMs: 3600001}]", gitEntry + "timeoutMs: 1, timeout_ms: 1}]", gitEntry + "args: {patterns: [{type: glob, value: x}]}}]",
		gitEntry + "args: {patterns: [{value: x}]}}]", gitEntry + "cwdPolicy: any}]", gitEntry + "env: {A-B: x}}]", gitEntry + "env: {A: 1}}]",
		gitEntry + "platform: [darwin]}]", gitEntry + "sandbox: []}]", base + "logging: {redact: [all]}", base + "limits: {maxCmdConcurrency: 257}",
		base + "profiles: [{name: p}]",
	} {
		if schema.Validate(instance(t, text)) == nil {
			t.Errorf("the schema finds nothing wrong with\n%s", text)
		}
		if _, err := mcppolicy.Parse("p.yaml", []byte(text)); err == nil {
			t.Errorf("it loads:\n%s", text)
		}
	}
}

// An editor that knows no underscores in integers takes them for strings.
func TestTheSchemaTakesGroupedIntegers(t *testing.T) {
	v := instance(t, base)
	for text, want := range map[string]bool{"1_000": true, "1000": false, "_1": false, "x": false} {
		v["limits"] = map[string]any{"maxReadBytes": text}
		if got := resolved(t).Validate(v) == nil; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(mcppolicy.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	r, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// instance gives a document as a validator takes it.
func instance(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}
