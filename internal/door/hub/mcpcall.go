package hub

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
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
	arguments, bad := argumentsOf(r.Param("arguments"))
	if bad != nil {
		return nil, bad
	}
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
func (m *MCP) call(ctx context.Context, r *mcpserve.Request, name string, arguments json.RawMessage, headers http.Header) (json.RawMessage, error) {
	tool, schema, ok := m.Tool(name)
	if !ok || !m.Knows(r.Caller, tool.ID) {
		m.Metrics.count("", "refused", 0)
		return nil, m.refused(r, durward.ToolID(short(name)), arguments, durward.ToolNotFound, unknownTool(name))
	}
	if r.Modern {
		if bad := mcpserve.CheckParams(headers, schema, arguments); bad != nil {
			return nil, m.refused(r, tool.ID, arguments, durward.BadCall, bad)
		}
	}
	began := time.Now()
	timeout := m.Timeout(tool.ID)
	result, err := m.do(ctx, r, tool.Server, m.callOf(r, tool.ID, arguments, timeout))
	if err == nil {
		m.Metrics.count(string(tool.ID), map[bool]string{false: success, true: failure}[result.Failed], time.Since(began))
		return result.Output, nil
	}
	output, status, err := m.failed(r, name, err, timeout)
	m.Metrics.count(string(tool.ID), status, time.Since(began))
	return output, err
}

func unknownTool(name string) *jsonrpc.Error {
	return badParams("unknown tool " + strconv.Quote(short(name)))
}

// short is a name of a client, cut where it is longer than a record should be.
func short(name string) string {
	const most = 128
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}

// refused puts on record that a call is not taken on, and gives what it is answered with.
func (m *MCP) refused(r *mcpserve.Request, id durward.ToolID, input json.RawMessage, reason durward.Reason, answer *jsonrpc.Error) error {
	if input == nil {
		input = json.RawMessage("{}")
	}
	err := m.Runtime.Refuse(m.callOf(r, id, input, m.Timeout(id)), &durward.Error{Reason: reason, Op: "mcp", Err: answer})
	if durward.ReasonOf(err) != reason { // it could not be recorded
		return err
	}
	return answer
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
	if cause := new(durward.Error); ctx.Err() != nil && errors.As(context.Cause(ctx), &cause) && durward.KindOf(err) == durward.Cancelled {
		return cause
	}
	return err
}

// failed gives the answer to a call that came to nothing: a result from which a model can learn, or
// an error of the protocol.
func (m *MCP) failed(r *mcpserve.Request, name string, err error, timeout time.Duration) (output json.RawMessage, status string, _ error) {
	switch durward.ReasonOf(err) {
	case durward.ToolNotFound:
		return nil, "refused", unknownTool(name)
	case durward.BadCall:
		return nil, "refused", badParams("the call is malformed")
	case durward.ServerError:
		return nil, failure, saidError(err)
	case durward.InputRequired:
		if raw, ok := durward.DetailOf(err).Members["result"].(json.RawMessage); ok && r.Modern {
			return raw, success, nil
		}
	}
	a, refused := outcome(durward.Result{}, err, timeout)
	if refused == nil {
		return errorResult(a.err, ""), failure, nil
	}
	f, detail := faultOf(refused)
	if f.code == codeInternal {
		m.Logger.Error("a call failed", "door", Name, "error", err.Error())
		return nil, "refused", &jsonrpc.Error{Code: jsonrpc.InternalError, Message: detail}
	}
	return errorResult(detail, f.code), "refused", nil
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
func errorResult(text, code string) json.RawMessage {
	result := jsonx.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	result = append(result, `}],"isError":true`...)
	if code != "" {
		result = append(jsonx.AppendString(append(result, `,"_meta":{"durward/code":`...), code), '}')
	}
	return append(result, '}')
}

// getPrompt carries out prompts/get.
func (m *MCP) getPrompt(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	name, bad := paramText(r, "name")
	if bad != nil {
		return nil, bad
	}
	prompt, _, ok := m.Prompt(name)
	if !ok || !m.Knows(r.Caller, prompt.ID) {
		return nil, m.refused(r, hubconfig.PromptID(short(name)), r.Params, durward.ToolNotFound, badParams("unknown prompt"))
	}
	return m.request(ctx, r, prompt.Server, prompt.ID, r.Params, badParams("unknown prompt"))
}

// ofResource carries out what is about one resource.
func (m *MCP) ofResource(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	uri, bad := paramText(r, "uri")
	if bad != nil {
		return nil, bad
	}
	if len(uri) > hubconfig.MaxURI {
		return nil, badParams("uri is too long")
	}
	none := noResource(r, uri)
	server, err := m.ownerOf(r, uri, none)
	if err != nil {
		return nil, err
	}
	return m.request(ctx, r, server, hubconfig.RequestID(server, r.Method), r.Params, none)
}

// ownerOf finds the server that a URI is for. For callers that may have no resources it is not even
// looked for.
func (m *MCP) ownerOf(r *mcpserve.Request, uri string, none *jsonrpc.Error) (server string, _ error) {
	why := "the caller may have no resources"
	if m.Hears(r.Caller) {
		var ok bool
		if server, ok = m.Resource(uri); ok {
			return server, nil
		}
		why = "no server has the resource"
	}
	refused := &durward.Error{Reason: durward.ToolNotFound, Op: "find", Err: errors.New(why)}
	if err := m.Runtime.Refuse(m.callOf(r, hubconfig.RequestID("", r.Method), r.Params, 0), refused); durward.ReasonOf(err) != durward.ToolNotFound {
		return "", err
	}
	return "", none
}

func noResource(r *mcpserve.Request, uri string) *jsonrpc.Error {
	code := mcpspec.CodeNoResource
	if r.Modern {
		code = jsonrpc.InvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: "there is no such resource", Data: append(jsonx.AppendString([]byte(`{"uri":`), uri), '}')}
}

// complete carries out completion/complete, by the server's own name of a prompt.
func (m *MCP) complete(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	ref := r.Param("ref")
	none := badParams("ref names neither a prompt nor a resource that is known")
	kind, _ := jsonx.Text(jsonx.Member(ref, "type"))
	switch kind {
	case "ref/prompt":
		name, _ := jsonx.Text(jsonx.Member(ref, "name"))
		prompt, original, ok := m.Prompt(name)
		if !ok || !m.Knows(r.Caller, prompt.ID) {
			return nil, none
		}
		params := jsonx.With(r.Params, "ref", jsonx.With(ref, "name", jsonx.AppendString(nil, original)))
		return m.request(ctx, r, prompt.Server, hubconfig.RequestID(prompt.Server, hubconfig.Complete), params, none)
	case "ref/resource":
		uri, _ := jsonx.Text(jsonx.Member(ref, "uri"))
		if len(uri) > hubconfig.MaxURI {
			return nil, none
		}
		server, err := m.ownerOf(r, uri, none)
		if err != nil {
			return nil, err
		}
		return m.request(ctx, r, server, hubconfig.RequestID(server, hubconfig.Complete), r.Params, none)
	}
	return nil, none
}

// request sends a server what is no call of a tool. none is the error for what is not there.
func (m *MCP) request(ctx context.Context, r *mcpserve.Request, server string, id durward.ToolID, params json.RawMessage, none *jsonrpc.Error) (json.RawMessage, error) {
	timeout := m.Timeout(id)
	result, err := m.do(ctx, r, server, m.callOf(r, id, params, timeout))
	if err == nil {
		return result.Output, nil
	}
	if durward.ReasonOf(err) == durward.ToolNotFound {
		return nil, none
	}
	output, status, err := m.failed(r, string(id), err, timeout)
	if err != nil || status == success {
		return output, err
	}
	text, _ := jsonx.Text(jsonx.Member(jsonx.Elements(jsonx.Member(output, "content"))[0], "text"))
	return nil, &jsonrpc.Error{Code: jsonrpc.InternalError, Message: text}
}
