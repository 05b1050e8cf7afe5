package mcpclient

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
)

// mostRounds is how often one call is sent to a modern server that wants more and more.
const mostRounds = 16

// A want is what a modern server answers who has to bring more before it goes on.
type want struct {
	result   json.RawMessage // all of it
	requests json.RawMessage // an object of requests by the server's names; nil for none
	state    json.RawMessage // to be sent back as it is; nil for none
}

// wantOf reads an answer, and gives nil for one that asks for nothing.
func wantOf(result json.RawMessage) *want {
	if len(result) == 0 || result[0] != '{' {
		return nil
	}
	w, wants := &want{result: result}, false
	for name, value := range jsonx.Members(result) {
		switch string(name) {
		case "resultType":
			kind, _ := jsonx.Text(value)
			wants = kind == "input_required"
		case "inputRequests":
			w.requests = value
		case "requestState":
			w.state = value
		}
	}
	if !wants {
		return nil
	}
	return w
}

// A demand is one thing that a server wants.
type demand struct {
	name, method string
	params       json.RawMessage
}

// demands lists what is wanted, and reports whether the server was offered all of it. Where it may
// work it can always ask.
func (p *run) demands(w *want, answered []string) (list []demand, offered bool) {
	if len(w.requests) == 0 || w.requests[0] != '{' {
		return nil, w.requests == nil
	}
	for name, request := range jsonx.Members(w.requests) {
		one := demand{name: string(name)}
		if request[0] == '{' {
			for member, value := range jsonx.Members(request) {
				switch string(member) {
				case "method":
					one.method, _ = jsonx.Text(value)
				case "params":
					one.params = value
				}
			}
		}
		if list = append(list, one); len(list) > mostAsks || !mayAsk(answered, one.method) && (one.method != rootsList || !p.rooted()) {
			return nil, false
		}
	}
	return list, true
}

// bring asks the caller for all that is wanted, one after the other, and gives what the next round
// has beside the call. The error is that of the call.
func (p *run) bring(ctx context.Context, events durward.Events, w *want) (json.RawMessage, error) {
	list, offered := p.demands(w, p.offered(events))
	if !offered {
		return nil, inputRequired(nil)
	}
	for _, one := range list {
		if one.method != rootsList && !canAsk(events, one.method) {
			return nil, inputRequired(w.result)
		}
	}
	if len(list) == 0 {
		return nil, inputRequired(w.result) // it wants to be asked again, by who knows when
	}
	text := []byte(`{"inputResponses":{`)
	for i, one := range list {
		answer := p.engine.roots()
		if one.method != rootsList {
			said, wrong := putTo(ctx, events, one.method, one.params)
			switch {
			case ctx.Err() != nil:
				return nil, cutShort(ctx)
			case wrong != nil:
				return nil, inputRequired(nil)
			}
			answer = said
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(jsonx.AppendString(text, one.name), ':'), answer...)
	}
	text = append(text, '}')
	if w.state != nil {
		text = append(append(text, `,"requestState":`...), w.state...)
	}
	return append(text, '}'), nil
}

// takesMore reports whether a server may answer the call that it wants more.
func (p *prepared) takesMore() bool {
	return p.target.Method == "" || p.target.Method == hubconfig.GetPrompt || p.target.Method == hubconfig.ReadResource
}

// inputRequired is for a call that nobody brings what its server wants. The result, unless nil, is
// for callers who can.
func inputRequired(result json.RawMessage) error {
	err := durward.Detail{Err: errors.New("input required")}
	if result != nil {
		err.Members = map[string]any{"result": result}
	}
	return &durward.Error{Reason: durward.InputRequired, Op: op, Err: err}
}
