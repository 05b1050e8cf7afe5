package schema

import (
	"embed"
	"strings"
	"sync"
)

// A draft is a version of JSON Schema.
type draft uint8

const (
	draft2020 draft = iota
	draft07
)

// latest is the draft of a schema that names none.
const latest = draft2020

// draftOf knows the drafts by their $schema.
func draftOf(uri string) (draft, bool) {
	uri = strings.TrimSuffix(uri, "#")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "http://"), "https://")
	switch uri {
	case "json-schema.org/draft/2020-12/schema":
		return draft2020, true
	case "json-schema.org/draft-07/schema":
		return draft07, true
	}
	return latest, false
}

func (d draft) uri() string {
	if d == draft07 {
		return "http://json-schema.org/draft-07/schema"
	}
	return "https://json-schema.org/draft/2020-12/schema"
}

// A shape says how a keyword holds schemas.
type shape uint8

const (
	noSchema shape = iota
	oneSchema
	manySchemas // a list
	someSchema  // one, or a list
	namedSchemas
)

// shapeOf tells what there is below a keyword.
func (d draft) shapeOf(keyword string) shape {
	switch keyword {
	case "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else":
		return oneSchema
	case "allOf", "anyOf", "oneOf":
		return manySchemas
	case "definitions", "properties", "patternProperties":
		return namedSchemas
	}
	if d == draft07 {
		switch keyword {
		case "additionalItems":
			return oneSchema
		case "items":
			return someSchema
		case "dependencies":
			return namedSchemas // or lists of names, which have nothing below them
		}
		return noSchema
	}
	switch keyword {
	case "items", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return oneSchema
	case "prefixItems":
		return manySchemas
	case "$defs", "dependentSchemas":
		return namedSchemas
	}
	return noSchema
}

// The schemas of schemas, as json-schema.org publishes them.
//
//go:embed metaschemas
var metaschemas embed.FS

// metaschema gives the text that is known under a URI without fragment.
func metaschema(uri string) ([]byte, bool) {
	_, path, ok := strings.Cut(uri, "://json-schema.org/")
	if !ok {
		return nil, false
	}
	data, err := metaschemas.ReadFile("metaschemas/" + path + ".json")
	return data, err == nil
}

// schemaOf gives what the schemas of a draft must fit. It is compiled when it is first needed.
func schemaOf(d draft) *Schema {
	m := &compiledMeta[d]
	m.once.Do(func() {
		f := NewFolder("", nil)
		m.schema = f.compile(f.known(d.uri()))
	})
	return m.schema
}

var compiledMeta [2]struct {
	once   sync.Once
	schema *Schema
}
