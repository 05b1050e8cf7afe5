package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/durward/durward/internal/jsonx"
)

// inputTools ask by their results for what they need, and are called again with it, as is done in
// the newer era.
func (e *everything) inputTools() []tool {
	confirm := object{"confirm": wantsForm("Please confirm", "ok", "boolean")}
	return []tool{
		{"test_input_required_result_elicitation", "Asks for a name", "", greets},
		{"test_streaming_elicitation", "Asks for a name", "", greets},
		{"test_input_required_result_sampling", "Asks the client's model", "", needs(object{"capital_question": wants("sampling/createMessage", prompt("What is the capital of France?"))}, "")},
		{"test_input_required_result_list_roots", "Asks for the client's roots", "", needs(object{"client_roots": wants("roots/list", object{})}, "")},
		{"test_input_required_result_request_state", "Asks to confirm, and for its state", "", e.needsState(confirm, "state-ok")},
		{"test_input_required_result_tampered_state", "Asks to confirm, and for its state", "", e.needsState(confirm, "integrity-ok")},
		{"test_input_required_result_multiple_inputs", "Asks for three things", "", e.needsState(object{
			"user_name":    wantsForm("What is your name?", "name", "string"),
			"greeting":     wants("sampling/createMessage", prompt("Generate a greeting")),
			"client_roots": wants("roots/list", object{}),
		}, "all is there")},
		{"test_input_required_result_multi_round", "Asks twice", "", e.asksTwice},
		{"test_input_required_result_capabilities", "Asks for what the client can give", "", e.asksWhatItCan},
	}
}

// wants is a request that a result holds.
func wants(method string, params object) object { return object{"method": method, "params": params} }

// wantsForm is one for a form with one field.
func wantsForm(message, field, kind string) object {
	return wants("elicitation/create", form(message, object{field: object{"type": kind}}))
}

// required is a result that asks for these; a state may be empty.
func required(requests object, state string) object {
	result := object{"resultType": "input_required", "inputRequests": requests}
	if state != "" {
		result["requestState"] = state
	}
	return result
}

// responses are what the client brought, by the names of what it was asked.
func (r request) responses() (brought map[string]json.RawMessage) {
	_ = json.Unmarshal(r.Param("inputResponses"), &brought) // none are as good as bad ones
	return brought
}

// hasAll reports whether the client brought an answer to each request.
func (r request) hasAll(requests object) bool {
	brought := r.responses()
	for name := range requests {
		if brought[name] == nil {
			return false
		}
	}
	return true
}

// field gives a text that the user filled into a form.
func (r request) field(form, name string) string {
	var filled struct{ Content map[string]any }
	_ = json.Unmarshal(r.responses()[form], &filled) // what was not filled in is empty
	text, _ := filled.Content[name].(string)
	return text
}

// needs is what a tool does that has to have these before it says what it got.
func needs(requests object, state string) func(request) (any, error) {
	return func(r request) (any, error) {
		if !r.hasAll(requests) {
			return required(requests, state), nil
		}
		return said("It got %s", r.Param("inputResponses")), nil
	}
}

func greets(r request) (any, error) {
	requests := object{"user_name": wantsForm("What is your name?", "name", "string")}
	if !r.hasAll(requests) {
		return required(requests, ""), nil
	}
	return said("Hello, %s!", r.field("user_name", "name")), nil
}

// needsState is needs with a state, which has to come back as it was.
func (e *everything) needsState(requests object, done string) func(request) (any, error) {
	return func(r request) (any, error) {
		if _, err := e.state(r); err != nil {
			return nil, err
		}
		if r.Param("requestState") == nil || !r.hasAll(requests) {
			return required(requests, e.sign("asked")), nil
		}
		return said("%s", done), nil
	}
}

func (e *everything) asksTwice(r request) (any, error) {
	name, err := e.state(r)
	switch {
	case err != nil:
		return nil, err
	case name == "" && r.responses()["step1"] == nil:
		return required(object{"step1": wantsForm("Step 1: What is your name?", "name", "string")}, e.sign("")), nil
	case r.responses()["step2"] == nil:
		if name == "" {
			name = r.field("step1", "name")
		}
		return required(object{"step2": wantsForm("Step 2: What is your favorite color?", "color", "string")}, e.sign(name)), nil
	}
	return said("%s likes %s.", name, r.field("step2", "color")), nil
}

func (e *everything) asksWhatItCan(r request) (any, error) {
	if _, err := e.state(r); err != nil {
		return nil, err
	}
	requests := object{}
	if r.Can("elicitation") {
		requests["elicit_input"] = wantsForm("Please say something", "value", "string")
	}
	if r.Can("sampling") {
		requests["sample_input"] = wants("sampling/createMessage", prompt("Say something"))
	}
	if len(requests) > 0 && !r.hasAll(requests) {
		return required(requests, e.sign("asked")), nil
	}
	return said("It got %s", r.Param("inputResponses")), nil
}

// sign makes a state that only this server can have made: no two are equal.
func (e *everything) sign(text string) string {
	payload := base64.RawURLEncoding.EncodeToString([]byte(rand.Text() + text))
	return payload + "." + e.seal(payload)
}

func (e *everything) seal(payload string) string {
	mac := hmac.New(sha256.New, e.secret)
	mac.Write([]byte(payload))
	return fmt.Sprintf("%x", mac.Sum(nil))
}

// state gives the text of the state that the client brought back, or nothing where it brought none.
func (e *everything) state(r request) (string, error) {
	raw := r.Param("requestState")
	if raw == nil {
		return "", nil
	}
	state, _ := jsonx.Text(raw)
	payload, seal, _ := strings.Cut(state, ".")
	if !hmac.Equal([]byte(seal), []byte(e.seal(payload))) {
		return "", badParams("requestState is not what it was")
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return "", err
	}
	return string(text[len(rand.Text()):]), nil
}
