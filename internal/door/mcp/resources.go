package mcp

import (
	"context"
	"encoding/json"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// A resource is something a client can read of a policy.
type resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
	text        json.RawMessage
}

// resourcesOf lists the resources in the order of their URIs.
func resourcesOf(s Surface) []resource {
	catalog, _ := encode(struct { // it holds nothing but strings and numbers
		Commands []Command `json:"commands"`
	}{append([]Command{}, s.sorted()...)})
	list := []resource{{"mdmcp://commands/catalog", "commands", "the commands that cmd_run can be asked for", "application/json", catalog}}
	if s.Summary != nil {
		list = append(list, resource{"mdmcp://policy/summary", "policy", "what the policy allows", "application/json", s.Summary})
	}
	return list
}

func (s *session) listResources(_ context.Context, r request) reply {
	if r.params.cursor != nil {
		return unknownCursor()
	}
	return reply{result: struct {
		listMark
		Resources []resource `json:"resources"`
	}{r.listMark(), resourcesOf(r.surface)}}
}

func (s *session) listTemplates(_ context.Context, r request) reply {
	return reply{result: struct {
		listMark
		Templates []struct{} `json:"resourceTemplates"`
	}{r.listMark(), []struct{}{}}}
}

type content struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
}

func (s *session) readResource(_ context.Context, r request) reply {
	uri, ok := jsonx.Text(r.params.uri)
	if !ok {
		return refuse(jsonrpc.InvalidParams, "uri is missing or no string")
	}
	for _, found := range resourcesOf(r.surface) {
		if found.URI == uri {
			return reply{result: struct {
				listMark
				Contents []content `json:"contents"`
			}{r.listMark(), []content{{uri, found.MIMEType, string(found.text)}}}}
		}
	}
	return noResource(r, uri)
}

func noResource(r request, uri string) reply {
	code := mcpspec.CodeNoResource
	if r.meta.Modern {
		code = jsonrpc.InvalidParams
	}
	data, _ := encode(map[string]string{"uri": uri}) // strings are never refused
	return reply{bad: &jsonrpc.Error{Code: code, Message: "there is no such resource", Data: data}}
}
