package main

import (
	"encoding/json"
	"errors"

	"github.com/durward/durward/internal/jsonrpc"
)

// askingTools ask their client while they are called, which those of the older era can be.
func askingTools() []tool {
	const message, prompt = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`
	return []tool{
		{"test_sampling", "Has the client's model answer a prompt", prompt, samples},
		{"test_elicitation", "Has the user fill in a form", message, func(r request) (any, error) {
			var a struct{ Message string }
			if err := r.arguments(&a); err != nil {
				return nil, err
			}
			return elicits(r, form(a.Message, object{"username": object{"type": "string"}, "email": object{"type": "string"}}))
		}},
		{"test_elicitation_sep1034_defaults", "Has the user look over a form", "", func(r request) (any, error) {
			return elicits(r, formWith("Please look this over", object{
				"name":     object{"type": "string", "default": "John Doe"},
				"age":      object{"type": "integer", "default": 30},
				"score":    object{"type": "number", "default": 95.5},
				"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
				"verified": object{"type": "boolean", "default": true},
			}, []string{}))
		}},
		{"test_elicitation_sep1330_enums", "Has the user choose from lists", "", func(r request) (any, error) {
			return elicits(r, formWith("Please choose", choices(), []string{}))
		}},
	}
}

// choices are fields of a form with every kind of list.
func choices() object {
	options := []string{"option1", "option2", "option3"}
	titled := []object{
		{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"},
	}
	return object{
		"untitledSingle": object{"type": "string", "enum": options},
		"titledSingle":   object{"type": "string", "oneOf": titled},
		"legacyEnum":     object{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
		"untitledMulti":  object{"type": "array", "minItems": 1, "maxItems": 3, "items": object{"type": "string", "enum": options}},
		"titledMulti":    object{"type": "array", "minItems": 1, "maxItems": 3, "items": object{"anyOf": titled}},
	}
}

// form gives the params of elicitation/create with fields that are all required.
func form(message string, fields object) object {
	required := []string{}
	for name := range fields {
		required = append(required, name)
	}
	return formWith(message, fields, required)
}

func formWith(message string, fields object, required []string) object {
	return object{"message": message, "requestedSchema": object{"type": "object", "properties": fields, "required": required}}
}

// prompt gives the params of sampling/createMessage.
func prompt(text string) object {
	return object{"messages": []object{{"role": "user", "content": textBlock(text)}}, "maxTokens": 100}
}

func samples(r request) (any, error) {
	var a struct{ Prompt string }
	if err := r.arguments(&a); err != nil {
		return nil, err
	}
	var answer struct{ Content struct{ Text string } }
	if refused, err := ask(r, "sampling", "sampling/createMessage", prompt(a.Prompt), &answer); err != nil || refused != nil {
		return refused, err
	}
	return said("LLM response: %s", answer.Content.Text), nil
}

func elicits(r request, params object) (any, error) {
	var answer struct {
		Action  string
		Content json.RawMessage
	}
	if refused, err := ask(r, "elicitation", "elicitation/create", params, &answer); err != nil || refused != nil {
		return refused, err
	}
	return said("User response: action=%s, content=%s", answer.Action, answer.Content), nil
}

// ask asks the client. A client that cannot be asked, or refuses, makes the tool fail.
func ask(r request, capability, method string, params object, into any) (refused any, err error) {
	if !r.Can(capability) {
		return failed("the client has no " + capability), nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	answer, err := r.Ask(r.ctx, method, text)
	if bad := new(jsonrpc.Error); errors.As(err, &bad) {
		return failed(bad.Message), nil
	}
	if err != nil {
		return nil, err
	}
	return nil, json.Unmarshal(answer, into)
}
