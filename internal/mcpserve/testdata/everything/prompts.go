package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A template is a prompt that clients may get.
type template struct {
	name, description string
	arguments         []string // all required
	get               func(r request, arguments map[string]string) object
}

func (e *everything) prompts() []template {
	list := []template{
		{"test_simple_prompt", "Has no arguments", nil, func(request, map[string]string) object {
			return messages(textBlock("This is a simple prompt for testing."))
		}},
		{"test_prompt_with_arguments", "Has two arguments", []string{"arg1", "arg2"}, func(_ request, a map[string]string) object {
			return messages(textBlock(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])))
		}},
		{"test_prompt_with_embedded_resource", "Holds a resource", []string{"resourceUri"}, func(_ request, a map[string]string) object {
			return messages(resourceBlock(a["resourceUri"], "text/plain", "Embedded resource content for testing."), textBlock("Please process the embedded resource above."))
		}},
		{"test_prompt_with_image", "Holds an image", nil, func(request, map[string]string) object {
			return messages(imageBlock(), textBlock("Please analyze the image above."))
		}},
		{"test_input_required_result_prompt", "Asks for what it is about", nil, func(r request, _ map[string]string) object {
			requests := object{"user_context": wantsForm("What context should the prompt use?", "context", "string")}
			if !r.hasAll(requests) {
				return required(requests, "")
			}
			return messages(textBlock("Prompt with context: " + r.field("user_context", "context")))
		}},
	}
	if e.morePrompts.Load() {
		list = append(list, template{"test_added_prompt", "Is there now and then", nil, func(request, map[string]string) object { return messages(textBlock("It is there.")) }})
	}
	return list
}

// messages is a prompt of the user's.
func messages(blocks ...object) object {
	list := []object{}
	for _, block := range blocks {
		list = append(list, object{"role": "user", "content": block})
	}
	return object{"messages": list}
}

func (e *everything) listPrompts(request) (any, error) {
	list := []object{}
	for _, p := range e.prompts() {
		arguments := []object{}
		for _, name := range p.arguments {
			arguments = append(arguments, object{"name": name, "description": "An argument", "required": true})
		}
		list = append(list, object{"name": p.name, "description": p.description, "arguments": arguments})
	}
	return object{"prompts": list}, nil
}

func (e *everything) getPrompt(r request) (any, error) {
	name, err := r.word("name")
	if err != nil {
		return nil, err
	}
	arguments := map[string]string{}
	if err := r.arguments(&arguments); err != nil {
		return nil, err
	}
	for _, p := range e.prompts() {
		if p.name != name {
			continue
		}
		for _, needed := range p.arguments {
			if _, ok := arguments[needed]; !ok {
				return nil, badParams("the argument " + needed + " is missing")
			}
		}
		return p.get(r, arguments), nil
	}
	return nil, badParams("unknown prompt")
}

// complete offers words that begin like what was typed.
func complete(r request) (any, error) {
	var argument struct{ Value string }
	if err := json.Unmarshal(r.Param("argument"), &argument); err != nil {
		return nil, badParams("argument is missing or not as it should be")
	}
	values := []string{}
	for _, word := range []string{"paris", "park", "party", "test", "text"} {
		if strings.HasPrefix(word, argument.Value) {
			values = append(values, word)
		}
	}
	return object{"completion": object{"values": values, "total": len(values), "hasMore": false}}, nil
}
