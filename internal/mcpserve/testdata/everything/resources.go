package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

const watched = "test://watched-resource"

// resources are what there is to be read.
func resources() []object {
	return []object{
		textContents("test://static-text", "text/plain", "This is the content of the static text resource."),
		{"uri": "test://static-binary", "mimeType": "image/png", "blob": dot},
		textContents(watched, "text/plain", "Watched resource content"),
	}
}

func listResources(request) (any, error) {
	list := []object{}
	for _, r := range resources() {
		uri := r["uri"].(string)
		list = append(list, object{"uri": uri, "name": strings.TrimPrefix(uri, "test://"), "description": "A resource to be read", "mimeType": r["mimeType"]})
	}
	return object{"resources": list}, nil
}

const before, behind = "test://template/", "/data"

func listTemplates(request) (any, error) {
	return object{"resourceTemplates": []object{{
		"uriTemplate": before + "{id}" + behind, "name": "template", "description": "Resources by their number", "mimeType": "application/json",
	}}}, nil
}

func readResource(r request) (any, error) {
	uri, err := r.word("uri")
	if err != nil {
		return nil, err
	}
	contents := find(uri)
	if contents == nil {
		return nil, unknownResource(r, uri)
	}
	return object{"contents": []object{contents}}, nil
}

// find gives a resource, or nil.
func find(uri string) object {
	for _, r := range resources() {
		if r["uri"] == uri {
			return r
		}
	}
	rest, isTemplate := strings.CutPrefix(uri, before)
	if id, ends := strings.CutSuffix(rest, behind); isTemplate && ends && !strings.Contains(id, "/") {
		return textContents(uri, "application/json", fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id))
	}
	return nil
}

// unknownResource has a code in each era.
func unknownResource(r request, uri string) error {
	code := mcpspec.CodeNoResource
	if r.Modern {
		code = jsonrpc.InvalidParams
	}
	data, err := json.Marshal(object{"uri": uri})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: code, Message: "unknown resource", Data: data}
}

// subscribe answers who wants to hear, or no more, of changes.
func subscribe(r request) (any, error) {
	uri, err := r.word("uri")
	if err != nil {
		return nil, err
	}
	if find(uri) == nil {
		return nil, unknownResource(r, uri)
	}
	return object{}, nil
}
