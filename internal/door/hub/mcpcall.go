package hub

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// surfaces name the two ways in, in records.
var surfaces = map[string]string{"http": "mcp", "stdio": "stdio"}

// callTool carries out tools/call.
func (m *MCP) callTool(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	name, bad := paramText(r, "name")
	if bad != nil {
		return nil, bad
	}
	arguments := r.Param("arguments")
	if m.Search != nil && isSearch(name) {
		return m.search(ctx, r, name, arguments)
	}
	return m.call(ctx, r, name, arguments, r.Header)
}

// argumentsOf gives an object; nothing is an empty one.
func argumentsOf(value json.RawMessage) (json.RawMessage, *jsonrpc.Error) {
	switch {
	case value == nil || string(value) == "null":
		return json.RawMessage("{}"), nil
	case value[0] != '{':
		return nil, badParams("arguments is not an object")
	}
	return value, nil
}

// call has a tool do its work. Headers of a modern client have to say what the arguments say.
func (m *MCP) call(ctx context.Context, r *mcpserve.Request, name string, given json.RawMessage, headers http.Header) (json.RawMessage, error) {
	tool, schema, ok := m.Tool(name)
	if !ok || !m.Knows(r.Caller, tool.ID) {
		m.Metrics.count("", "refused", 0)
		answer := unknownTool(name)
		return nil, m.refused(r, durward.ToolID(mcpspec.Short(name)), given, durward.ToolNotFound, answer, answer)
	}
	arguments, bad := argumentsOf(given)
	if bad != nil {
		return nil, m.misused(r, tool.ID, given, bad)
	}
	if r.Modern {
		if bad := mcpserve.CheckParams(headers, schema, arguments); bad != nil {
			return nil, m.misused(r, tool.ID, arguments, bad)
		}
	}
	began := time.Now()
	timeout := m.Timeout(tool.ID)
	result, err := m.do(ctx, r, tool.Server, m.callOf(r, tool.ID, arguments, timeout))
	if err == nil {
		m.Metrics.count(string(tool.ID), map[bool]string{false: success, true: failure}[result.Failed], time.Since(began))
		return result.Output, nil
	}
	f := m.failed(r, name, err, timeout)
	m.Metrics.count(string(tool.ID), f.status, time.Since(began))
	var about json.RawMessage
	if r.Modern {
		about = m.server.About()
	}
	return f.result(about)
}

func unknownTool(name string) *jsonrpc.Error {
	return badParams("unknown tool " + strconv.Quote(mcpspec.Short(name)))
}

// refused puts on record that a call is not taken on, and gives what it is answered with.
func (m *MCP) refused(r *mcpserve.Request, id durward.ToolID, input json.RawMessage, reason durward.Reason, why error, answer *jsonrpc.Error) error {
	if input == nil {
		input = json.RawMessage("{}")
	}
	err := m.Runtime.Refuse(m.callOf(r, id, input, m.Timeout(id)), &durward.Error{Reason: reason, Op: "mcp", Err: why})
	if durward.ReasonOf(err) != reason { // it could not be recorded
		return err
	}
	return answer
}

// misused is refused for a call that is malformed.
func (m *MCP) misused(r *mcpserve.Request, id durward.ToolID, input json.RawMessage, bad *jsonrpc.Error) error {
	return m.refused(r, id, input, durward.BadCall, bad, bad)
}

// callOf makes a call of a request.
func (m *MCP) callOf(r *mcpserve.Request, id durward.ToolID, input json.RawMessage, timeout time.Duration) durward.Call {
	now := time.Now()
	c := durward.Call{
		Door: Name, Surface: surfaces[r.Surface], Client: r.Client, Caller: r.Caller, Trace: r.Trace, ClientID: r.ID, Tool: id, Input: input,
		Arrived: now, Deadline: now.Add(timeout), Resume: resumeOf(r),
	}
	c.Ask.Limits.Wall = timeout
	return c
}

// resumeOf gives what a client of the newer era brings to a call that had wanted input, or nil.
func resumeOf(r *mcpserve.Request) json.RawMessage {
	if !r.Modern {
		return nil
	}
	var text []byte
	for _, name := range []string{"inputResponses", "requestState"} {
		if value := r.Param(name); value != nil {
			text = append(append(jsonx.AppendString(append(text, ','), name), ':'), value...)
		}
	}
	if text == nil {
		return nil
	}
	text[0] = '{'
	return append(text, '}')
}

// isQuiet reports whether the client hears of nothing before the answer, but of logs.
func isQuiet(r *mcpserve.Request) bool {
	return !r.WantsProgress() && !r.Can("elicitation") && !r.Can("sampling")
}

// do runs a call. Where the client can hear of it, it goes on as a session.
func (m *MCP) do(ctx context.Context, r *mcpserve.Request, server string, c durward.Call) (durward.Result, error) {
	defer m.calls.enter(server, r)()
	if isQuiet(r) && r.LogLevel() == "" {
		result, err := m.Runtime.Do(ctx, c)
		return result, ended(ctx, err)
	}
	s, err := m.Runtime.Open(ctx, c, &listener{r})
	if err != nil {
		return durward.Result{}, ended(ctx, err)
	}
	result, err := s.Wait(context.WithoutCancel(ctx)) // which ends soon after the call is cancelled
	return result, ended(ctx, errors.Join(err, s.Close()))
}

// ended gives a call that was cancelled the cause of that.
func ended(ctx context.Context, err error) error {
	cause := durward.AsError(context.Cause(ctx))
	if cause == nil || durward.KindOf(err) != durward.Cancelled {
		return err
	}
	e := *cause
	e.Err = err
	return &e
}

// A failing is what becomes of a call that came to nothing: an error of the protocol, what a server
// wants before it goes on, or a text from which a model can learn.
type failing struct {
	status string
	err    error
	wants  json.RawMessage
	text   string
	// code is that of the HTTP API, if it has one.
	code string
}

// result gives it as what a tool has to say. What is about the server, unless nil, stands there, too.
func (f failing) result(about json.RawMessage) (json.RawMessage, error) {
	if f.err != nil || f.wants != nil {
		return f.wants, f.err
	}
	return errorResult(f.text, f.code, about), nil
}

// response gives it as what any other request is answered with.
func (f failing) response() (json.RawMessage, error) {
	if f.err != nil || f.wants != nil {
		return f.wants, f.err
	}
	if f.code == codePath || f.code == codeValidation {
		return nil, badParams(f.text)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: f.text}
}

// failed says what becomes of a call that came to nothing.
func (m *MCP) failed(r *mcpserve.Request, name string, err error, timeout time.Duration) failing {
	switch durward.ReasonOf(err) {
	case durward.ToolNotFound:
		return failing{status: "refused", err: unknownTool(name)}
	case durward.BadCall:
		return failing{status: "refused", err: badParams("the call is malformed")}
	case durward.ServerError:
		return failing{status: failure, err: saidError(err)}
	case durward.InputRequired:
		if raw, ok := durward.DetailOf(err).Members["result"].(json.RawMessage); ok && r.Modern {
			return failing{status: success, wants: raw}
		}
	}
	a, refused := outcome(durward.Result{}, err, timeout)
	if refused == nil {
		if a.lost { // a model would call the tool once more
			a.err += "; the tool may have run"
		}
		return failing{status: failure, text: a.err}
	}
	f, detail := faultOf(refused)
	if f.code == codeInternal {
		m.Logger.Error("a call failed", "door", Name, "error", err.Error())
		return failing{status: "refused", err: &jsonrpc.Error{Code: jsonrpc.InternalError, Message: detail}}
	}
	return failing{status: "refused", text: detail, code: f.code}
}

// saidError is what a server answered with, for its caller.
func saidError(err error) *jsonrpc.Error {
	members := durward.DetailOf(err).Members
	code, _ := members["code"].(int64)
	message, _ := members["message"].(string)
	data, _ := members["data"].(json.RawMessage)
	return &jsonrpc.Error{Code: int(code), Message: message, Data: data}
}

// errorResult is the result of a tool that did not do its work. The code, if there is one, is that
// of the HTTP API.
func errorResult(text, code string, about json.RawMessage) json.RawMessage {
	result := jsonx.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	result = append(result, `}],"isError":true`...)
	if code == "" {
		return append(result, '}')
	}
	result = jsonx.AppendString(append(result, `,"_meta":{"durward/code":`...), code)
	if about != nil {
		result = append(append(result, ','), about[1:len(about)-1]...)
	}
	return append(result, "}}"...)
}
