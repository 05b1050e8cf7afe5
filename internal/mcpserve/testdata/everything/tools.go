package main

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// A tool is one that clients may call.
type tool struct {
	name, description string
	// schema is of the arguments; empty is of none.
	schema string
	call   func(request) (any, error)
}

const noArguments = `{"type":"object","properties":{}}`

func (e *everything) tools() []tool {
	list := slices.Concat(simpleTools(), tellingTools(), askingTools(), e.inputTools(), e.changingTools())
	if e.moreTools.Load() {
		list = append(list, tool{"test_added_tool", "Is there now and then", "", gives(said("It is there."))})
	}
	return list
}

func (e *everything) listTools(request) (any, error) {
	list := []object{}
	for _, t := range e.tools() {
		list = append(list, object{"name": t.name, "description": t.description, "inputSchema": json.RawMessage(cmp.Or(t.schema, noArguments))})
	}
	return object{"tools": list}, nil
}

func (e *everything) callTool(r request) (any, error) {
	name, err := r.word("name")
	if err != nil {
		return nil, err
	}
	for _, t := range e.tools() {
		if t.name != name {
			continue
		}
		if bad := mcpserve.CheckParams(r.Header, json.RawMessage(cmp.Or(t.schema, noArguments)), r.Param("arguments")); bad != nil {
			return nil, bad
		}
		return t.call(r)
	}
	return nil, badParams("unknown tool")
}

// gives is what a tool does that always gives the same.
func gives(result object) func(request) (any, error) {
	return func(request) (any, error) { return result, nil }
}

// richSchema uses what JSON Schema has in its draft 2020-12.
const richSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`

// simpleTools give the same each time. The first one is called without arguments by who knows none.
func simpleTools() []tool {
	return []tool{
		{"test_simple_text", "Gives text", "", gives(said("This is a simple text response for testing."))},
		{"test_image_content", "Gives an image", "", gives(given(imageBlock()))},
		{"test_audio_content", "Gives a sound", "", gives(given(object{"type": "audio", "data": silence, "mimeType": "audio/wav"}))},
		{"test_embedded_resource", "Gives a resource", "", gives(given(resourceBlock("test://embedded-resource", "text/plain", "This is an embedded resource content.")))},
		{"test_multiple_content_types", "Gives text, an image and a resource", "", gives(given(
			textBlock("Multiple content types test:"), imageBlock(),
			resourceBlock("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))},
		{"test_error_handling", "Fails", "", gives(failed("This tool intentionally returns an error for testing"))},
		{"json_schema_2020_12_tool", "Has a schema of many words", richSchema, gives(said("It was called."))},
		{"test_header_parameter", "Has an argument that stands in a header, too", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, region},
		{"test_missing_capability", "Works for clients only that can sample", "", needsSampling},
	}
}

func region(r request) (any, error) {
	var a struct{ Region string }
	if err := r.arguments(&a); err != nil {
		return nil, err
	}
	return said("The region is %q.", a.Region), nil
}

func needsSampling(r request) (any, error) {
	if !r.Can("sampling") {
		return nil, &jsonrpc.Error{Code: mcpspec.CodeCapability, Message: "the client has to sample for this", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	}
	return said("The client can sample."), nil
}

// tellingTools say something before they answer.
func tellingTools() []tool {
	return []tool{
		{"test_tool_with_logging", "Writes three lines into the log", "", logs("Tool execution started", "Tool processing data", "Tool execution completed")},
		{"test_logging_tool", "Writes a line into the log", "", logs("Diagnostic trace logging activated")},
		{"test_tool_with_progress", "Tells of its progress three times", "", progresses},
		{"test_reconnection", "Ends the connection before it answers", "", func(r request) (any, error) {
			r.CloseStream()
			return said("The client came back."), nil
		}},
	}
}

func logs(lines ...string) func(request) (any, error) {
	return func(r request) (any, error) {
		info, _ := mcpspec.LevelOf([]byte(`"info"`))
		for _, line := range lines {
			r.Log(info, append(jsonx.AppendString([]byte(`{"level":"info","logger":"everything","data":`), line), '}'))
		}
		return said("It is in the log."), nil
	}
}

func progresses(r request) (any, error) {
	for _, params := range []string{`{"progress":0,"total":100}`, `{"progress":50,"total":100,"message":"Half"}`, `{"progress":100,"total":100}`} {
		r.Progress(json.RawMessage(params))
	}
	return said("It is done."), nil
}

// changingTools change what there is, and tell who listens.
func (e *everything) changingTools() []tool {
	return []tool{
		{"test_trigger_tool_change", "Adds a tool, or takes it away", "", func(request) (any, error) {
			e.moreTools.Store(!e.moreTools.Load())
			e.server.Notify("notifications/tools/list_changed", nil)
			return said("The tools have changed."), nil
		}},
		{"test_trigger_prompt_change", "Adds a prompt, or takes it away", "", func(request) (any, error) {
			e.morePrompts.Store(!e.morePrompts.Load())
			e.server.Notify("notifications/prompts/list_changed", nil)
			return said("The prompts have changed."), nil
		}},
		{"test_trigger_resource_update", "Says that the watched resource changed", "", func(request) (any, error) {
			e.server.Notify("notifications/resources/updated", json.RawMessage(`{"uri":"`+watched+`"}`))
			return said("The resource has changed."), nil
		}},
	}
}
