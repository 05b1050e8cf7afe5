package mcpservers

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
)

// request judges the params of a request; those of a call of a tool are its arguments. URIs of
// resources are no paths, but for those of files, whatever server they are for.
func (w *walk) request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "":
		return w.through(ctx, params)
	case hubconfig.GetPrompt:
		of := *w
		of.pointers = below(w.pointers, "arguments")
		return of.through(ctx, params)
	case hubconfig.Complete:
		if err := w.completion(ctx, params); err != nil {
			return nil, err
		}
	}
	of := *w
	of.fileServer = false
	return of.through(ctx, params)
}

// below gives pointers into a value that stands below these steps of another one.
func below(pointers [][]string, steps ...string) [][]string {
	moved := make([][]string, len(pointers))
	for i, p := range pointers {
		moved[i] = slices.Concat(steps, p)
	}
	return moved
}

// completion judges what is to be completed as the argument that it is the beginning of, and the
// arguments that are known.
func (w *walk) completion(ctx context.Context, params json.RawMessage) error {
	if known := jsonx.Member(jsonx.Member(params, "context"), "arguments"); known != nil {
		of := *w
		of.frames = []frame{{name: []byte("context")}, {name: []byte("arguments")}}
		of.pointers = below(w.pointers, "context", "arguments")
		if _, err := of.through(ctx, known); err != nil {
			return err
		}
	}
	argument := jsonx.Member(params, "argument")
	name, value := jsonx.Member(argument, "name"), jsonx.Member(argument, "value")
	if len(name) == 0 || name[0] != '"' || len(value) == 0 {
		return nil // the server says what is wrong with it
	}
	text := append(append([]byte{'{'}, name...), ':')
	text = append(append(text, value...), '}')
	of := *w
	_, err := of.through(ctx, text)
	return err
}
