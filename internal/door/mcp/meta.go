package mcp

import (
	"encoding/json"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// A meta is the _meta of a request.
type meta struct {
	// modern is set when it has any member of the era without a handshake.
	modern bool
	client durward.Client
	level  level
	trace  durward.TraceContext
	// progress is the token to report progress under; nil for none.
	progress *jsonrpc.ID

	version      string
	capabilities bool
}

type rawMeta struct {
	Version       json.RawMessage `json:"io.modelcontextprotocol/protocolVersion"`
	Capabilities  json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	ClientInfo    json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
	LogLevel      json.RawMessage `json:"io.modelcontextprotocol/logLevel"`
	ProgressToken json.RawMessage `json:"progressToken"`
	Traceparent   json.RawMessage `json:"traceparent"`
}

// metaOf reads a _meta; one that is not there is the zero value.
func metaOf(value []byte) (meta, *jsonrpc.Error) {
	m := meta{level: silent}
	if value == nil {
		return m, nil
	}
	var raw rawMeta
	if !isObject(value) || decode(value, &raw) != nil {
		return m, badParams("_meta is not an object")
	}
	m.modern = raw.Version != nil || raw.Capabilities != nil || raw.ClientInfo != nil || raw.LogLevel != nil
	var ok bool
	if m.version, ok = jsonx.Text(raw.Version); !ok && raw.Version != nil {
		return m, badParams(metaVersion + " is not a string")
	}
	if m.capabilities = isObject(raw.Capabilities); !m.capabilities && raw.Capabilities != nil {
		return m, badParams(metaCapabilities + " is not an object")
	}
	if m.client, ok = clientOf(raw.ClientInfo); !ok {
		return m, badParams("clientInfo is not an object of a name and a version")
	}
	if m.level, ok = levelOf(raw.LogLevel); !ok && raw.LogLevel != nil {
		return m, badParams("logLevel is not one of the eight levels")
	}
	if raw.ProgressToken != nil {
		m.progress = new(jsonrpc.ID)
		if m.progress.UnmarshalJSON(raw.ProgressToken) != nil {
			return m, badParams("progressToken is neither a string nor an integer")
		}
	}
	if parent, ok := jsonx.Text(raw.Traceparent); ok {
		m.trace, _ = durward.ParseTraceparent(parent) // one that is broken is none
	}
	return m, nil
}

const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaServerInfo   = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
)

// clientOf reads what a client says of itself, if it does.
func clientOf(value []byte) (durward.Client, bool) {
	if value == nil {
		return durward.Client{}, true
	}
	var info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	ok := isObject(value) && decode(value, &info) == nil
	return durward.Client{Name: strings.Clone(short(info.Name)), Version: strings.Clone(short(info.Version))}, ok
}

// short is a text of a client, cut where it is longer than a record should be.
func short(s string) string { return cut(s, 128) }

func badParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: message}
}
