package mcpserve

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// CheckParams refuses a call of a tool whose headers do not say what its arguments say: those that
// the schema of the arguments, a JSON text that was checked, marks with "x-mcp-header".
//
//	{"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}   Mcp-Param-Region: eu
//
// A header that is nil, of a client without headers, is not looked at.
func CheckParams(h http.Header, schema, arguments json.RawMessage) *jsonrpc.Error {
	properties := jsonx.Member(schema, "properties")
	if h == nil || len(properties) == 0 || properties[0] != '{' {
		return nil
	}
	for name, property := range jsonx.Members(properties) {
		header, ok := jsonx.Text(jsonx.Member(property, "x-mcp-header"))
		if !ok || header == "" {
			continue
		}
		header = "Mcp-Param-" + header
		if !saysSame(h.Values(header), jsonx.Member(arguments, string(name))) {
			return badHeader(header, strings.Join(h.Values(header), ","))
		}
	}
	return nil
}

// saysSame reports whether a header says what a value does: a string, a number or a truth. There is
// none for a value that is not there.
func saysSame(header []string, value json.RawMessage) bool {
	if value == nil || string(value) == "null" {
		return len(header) == 0
	}
	if len(header) != 1 {
		return false
	}
	said, ok := plain(header[0])
	if text, isText := jsonx.Text(value); isText {
		return ok && said == text
	}
	return ok && said == string(value)
}
