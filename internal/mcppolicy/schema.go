package mcppolicy

import (
	"github.com/durward/durward/internal/jsonx"
)

// Schema gives the JSON Schema (2020-12) of a policy: what an editor needs to complete
// and check one. Which members go together, and what is there on a machine, it leaves to
// [Parse] and [Compile].
func Schema() []byte {
	s := objectSchema(new(Document).fields(), "#")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Policy of durward mcp"
	s["description"] = "What an MCP client may read, write and run. Every field may also be written in snake_case."
	text, _ := jsonx.Marshal(s) // maps, lists, strings and numbers: cannot fail
	return text
}

// objectSchema gives the schema of a mapping that stands at the pointer at. Either
// spelling of a field may be there, and not both.
func objectSchema(fields []field, at string) map[string]any {
	properties, rules, required := map[string]any{}, []any{}, []string{}
	for _, f := range fields {
		own := f.holds.schema(at + "/properties/" + f.name)
		own["description"] = f.doc
		properties[f.name] = own
		other := alias(f.name)
		switch {
		case other != f.name:
			properties[other] = map[string]any{"$ref": at + "/properties/" + f.name, "deprecated": true}
			rules = append(rules, oneSpelling(f, other))
		case f.required:
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	if len(rules) > 0 {
		s["allOf"] = rules
	}
	return s
}

// oneSpelling allows one of two names, and asks for it if the field is required.
func oneSpelling(f field, other string) map[string]any {
	has := func(names ...string) map[string]any { return map[string]any{"required": names} }
	if f.required {
		return map[string]any{"oneOf": []any{has(f.name), has(other)}}
	}
	return map[string]any{"not": has(f.name, other)}
}
