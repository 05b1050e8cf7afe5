package mcpserve

import (
	"bytes"
	"encoding/json"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// maxCapabilities bounds what is kept of a client's capabilities, in bytes.
const maxCapabilities = 64 << 10

// helloOf reads the params of initialize.
func helloOf(params json.RawMessage) (h hello, bad *jsonrpc.Error) {
	asked, ok := jsonx.Text(jsonx.Member(params, "protocolVersion"))
	if !ok {
		return h, badParams("protocolVersion is missing or no string")
	}
	if h.client, ok = mcpspec.ClientOf(jsonx.Member(params, "clientInfo")); !ok {
		return h, badParams("clientInfo is not an object of a name and a version")
	}
	h.capabilities = jsonx.Member(params, "capabilities")
	switch {
	case len(h.capabilities) > maxCapabilities:
		return h, badParams("capabilities is too long")
	case len(h.capabilities) > 0 && h.capabilities[0] != '{':
		return h, badParams("capabilities is not an object")
	}
	h.version = mcpspec.Agree(asked)
	return h, nil
}

// welcome is the result of initialize.
func (s *Server) welcome(version string) json.RawMessage {
	return encode(struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		Info         Info            `json:"serverInfo"`
		Instructions string          `json:"instructions,omitempty"`
	}{version, s.Capabilities(), s.Info, s.Instructions})
}

// discovered is the result of server/discover.
func (s *Server) discovered() json.RawMessage {
	return encode(struct {
		ResultType   string          `json:"resultType"`
		Supported    []string        `json:"supportedVersions"`
		Capabilities json.RawMessage `json:"capabilities"`
		Instructions string          `json:"instructions,omitempty"`
		TTLMs        int64           `json:"ttlMs"`
		CacheScope   string          `json:"cacheScope"`
		Meta         map[string]Info `json:"_meta"`
	}{complete, mcpspec.Supported(), s.Capabilities(), s.Instructions, s.TTL.Milliseconds(), private, map[string]Info{mcpspec.MetaServerInfo: s.Info}})
}

// encode gives a value of our own as JSON.
func encode(v any) json.RawMessage {
	text, err := jsonx.Marshal(v)
	if err != nil {
		panic(err) // it is nothing that a client sends
	}
	return bytes.TrimSuffix(text, []byte("\n"))
}

func badParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: message}
}

func badRequest(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: message}
}

func unknownMethod(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "unknown method " + string(jsonx.AppendString(nil, mcpspec.Short(method)))}
}
