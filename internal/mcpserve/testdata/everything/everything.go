package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
)

// object is a JSON object that is to be sent.
type object = map[string]any

// everything is what the server offers.
type everything struct {
	server *mcpserve.Server
	secret []byte // signs what a client is to bring back
	// more says that there is a tool, or a prompt, more than usual.
	moreTools, morePrompts atomic.Bool
}

func newServer(logger *slog.Logger) (*mcpserve.Server, error) {
	e := &everything{secret: []byte(rand.Text())}
	server, err := mcpserve.New(mcpserve.Options{
		Info:         mcpserve.Info{Name: "everything", Title: "Everything", Version: "1.0.0"},
		Instructions: "This server is to be tried, not to be used.",
		Capabilities: func() json.RawMessage {
			return json.RawMessage(`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`)
		},
		Handle: e.handle,
		TTL:    time.Minute,
		Logger: logger,
	})
	e.server = server
	return server, err
}

// A request is one of a client's, with the context that it is answered in.
type request struct {
	*mcpserve.Request
	ctx context.Context
}

func (e *everything) handle(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	q := request{r, ctx}
	for _, method := range []struct {
		name   string
		answer func(request) (any, error)
	}{
		{"tools/list", e.listTools},
		{"tools/call", e.callTool},
		{"resources/list", listResources},
		{"resources/templates/list", listTemplates},
		{"resources/read", readResource},
		{"resources/subscribe", subscribe},
		{"resources/unsubscribe", subscribe},
		{"prompts/list", e.listPrompts},
		{"prompts/get", e.getPrompt},
		{"completion/complete", complete},
	} {
		if method.name != r.Method {
			continue
		}
		result, err := method.answer(q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "unknown method"}
}

// word gives a member of the params that has to be a string.
func (r request) word(name string) (string, error) {
	value, ok := jsonx.Text(r.Param(name))
	if !ok {
		return "", badParams(name + " is missing or no string")
	}
	return value, nil
}

// arguments reads the arguments of a tool or of a prompt, as far as a struct has them.
func (r request) arguments(into any) error {
	raw := r.Param("arguments")
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return badParams("arguments are not as they should be")
	}
	return nil
}

func badParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: message}
}
