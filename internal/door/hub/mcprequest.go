package hub

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// getPrompt carries out prompts/get.
func (m *MCP) getPrompt(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	name, bad := paramText(r, "name")
	if bad != nil {
		return nil, bad
	}
	prompt, _, ok := m.Prompt(name)
	if !ok || !m.Knows(r.Caller, prompt.ID) {
		return nil, m.noPrompt(r, name, badParams("unknown prompt"))
	}
	return m.request(ctx, r, prompt.Server, prompt.ID, r.Params, badParams("unknown prompt"))
}

// noPrompt puts on record that a prompt is not there for the caller.
func (m *MCP) noPrompt(r *mcpserve.Request, name string, answer *jsonrpc.Error) error {
	return m.refused(r, hubconfig.PromptID(mcpspec.Short(name)), r.Params, durward.ToolNotFound, answer, answer)
}

// ofResource carries out what is about one resource.
func (m *MCP) ofResource(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	uri, bad := paramText(r, "uri")
	if bad != nil {
		return nil, bad
	}
	none := noResource(r, uri)
	if len(uri) > hubconfig.MaxURI {
		none = badParams("uri is too long")
	}
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
	switch {
	case len(uri) > hubconfig.MaxURI:
		why = "the URI is too long"
	case m.Hears(r.Caller):
		var ok bool
		if server, ok = m.Resource(uri); ok {
			return server, nil
		}
		why = "no server has the resource"
	}
	return "", m.refused(r, hubconfig.RequestID("", r.Method), r.Params, durward.ToolNotFound, errors.New(why), none)
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
			return nil, m.noPrompt(r, name, none)
		}
		params := jsonx.With(r.Params, "ref", jsonx.With(ref, "name", jsonx.AppendString(nil, original)))
		return m.request(ctx, r, prompt.Server, hubconfig.RequestID(prompt.Server, hubconfig.Complete), params, none)
	case "ref/resource":
		uri, _ := jsonx.Text(jsonx.Member(ref, "uri"))
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
	return m.failed(r, string(id), err, timeout).response()
}
