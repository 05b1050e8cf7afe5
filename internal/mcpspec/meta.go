package mcpspec

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// A Meta is the _meta of a request. What is raw in it shares the memory of the request.
type Meta struct {
	// Modern is set where it has a member that only the newer era knows.
	Modern bool
	// Version is the revision; empty where none is named.
	Version string
	// Capabilities are the client's, an object, or nil.
	Capabilities json.RawMessage
	Client       durward.Client
	// Level is what log messages are asked for; Silent asks for none.
	Level Level
	// Progress is the token to report progress under; nil asks for none.
	Progress *jsonrpc.ID
	Trace    durward.TraceContext
}

// MetaOf reads the _meta of a request whose text was checked; nil is the zero value, but for the
// level. The error is the answer to the request.
func MetaOf(value []byte) (Meta, *jsonrpc.Error) {
	m := Meta{Level: Silent}
	if value == nil {
		return m, nil
	}
	if value[0] != '{' {
		return m, badParams("_meta is not an object")
	}
	for name, value := range jsonx.Members(value) {
		if bad := m.take(string(name), value); bad != nil {
			return m, bad
		}
	}
	return m, nil
}

// maxToken bounds the token of progress, in bytes: it stands in each report.
const maxToken = 1 << 10

// take takes one member in. Members that others may have thought of are passed over.
func (m *Meta) take(name string, value []byte) *jsonrpc.Error {
	ok := true
	switch name {
	case MetaVersion:
		m.Modern = true
		if m.Version, ok = jsonx.Text(value); !ok {
			return badParams(name + " is not a string")
		}
	case MetaCapabilities:
		m.Modern, m.Capabilities = true, value
		if value[0] != '{' {
			return badParams(name + " is not an object")
		}
	case MetaClientInfo:
		m.Modern = true
		if m.Client, ok = ClientOf(value); !ok {
			return badParams("clientInfo is not an object of a name and a version")
		}
	case MetaLogLevel:
		m.Modern = true
		if m.Level, ok = LevelOf(value); !ok {
			return badParams("logLevel is not one of the eight levels")
		}
	case "progressToken":
		m.Progress = new(jsonrpc.ID)
		switch {
		case len(value) > maxToken:
			return badParams(name + " is too long")
		case m.Progress.UnmarshalJSON(value) != nil:
			return badParams(name + " is neither a string nor an integer")
		}
	case "traceparent":
		if parent, ok := jsonx.Text(value); ok {
			m.Trace, _ = durward.ParseTraceparent(parent) // one that is broken is none
		}
	}
	return nil
}

// Complete refuses the _meta of a request of the newer era that does not say everything.
func (m *Meta) Complete() *jsonrpc.Error {
	switch {
	case m.Version == "":
		return badParams(MetaVersion + " is missing")
	case m.Capabilities == nil:
		return badParams(MetaCapabilities + " is missing")
	case m.Version != Modern:
		return Unsupported(m.Version)
	}
	return nil
}

// Unsupported refuses a revision that is not known.
func Unsupported(version string) *jsonrpc.Error {
	data, _ := json.Marshal(struct { // strings are never refused
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{Supported(), version})
	return &jsonrpc.Error{Code: CodeVersion, Message: "the protocol version is not supported", Data: data}
}

// maxClient bounds what is kept of a client's name, in bytes: it stands in every record.
const maxClient = 128

// ClientOf reads what a client says of itself, a JSON value; nil says nothing.
func ClientOf(value []byte) (c durward.Client, ok bool) {
	if value == nil {
		return c, true
	}
	if value[0] != '{' {
		return c, false
	}
	ok = true
	for name, value := range jsonx.Members(value) {
		switch string(name) {
		case "name":
			if c.Name, ok = jsonx.Text(value); !ok {
				return durward.Client{}, false
			}
		case "version":
			if c.Version, ok = jsonx.Text(value); !ok {
				return durward.Client{}, false
			}
		}
	}
	return durward.Client{Name: Short(c.Name), Version: Short(c.Version)}, ok
}

// Short is a text of a client, cut where it is longer than a record or a message should have it.
func Short(text string) string {
	if len(text) <= maxClient {
		return strings.Clone(text)
	}
	end := maxClient
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end])
}

func badParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: message}
}
