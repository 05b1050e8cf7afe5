package hub

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
)

// The bounds of what a client gets at once of a list.
const (
	pageSize  = 100     // items
	pageBytes = 1 << 20 // of their texts, but for the first item, which is never left out
)

// listTools lists the tools, or how they are searched.
func (m *MCP) listTools(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	if m.Search != nil {
		return json.RawMessage(searchTools), nil
	}
	return m.lister(kindTools)(ctx, r)
}

// lister lists what there is of a kind, a page at a time.
func (m *MCP) lister(kind string) func(context.Context, *mcpserve.Request) (json.RawMessage, error) {
	return func(_ context.Context, r *mcpserve.Request) (json.RawMessage, error) {
		shown := m.Show(kind, r.Caller)
		from, ok := m.place(kind, shown.Version, r)
		if !ok || from > len(shown.Items) {
			return nil, badParams("the cursor is not known, or the list has changed: begin anew")
		}
		page := pageOf(shown.Items[from:], pageSize)
		to := from + len(page)
		text := append(jsonx.AppendString([]byte{'{'}, kind), ":["...)
		for i, item := range page {
			if i > 0 {
				text = append(text, ',')
			}
			text = item.append(text, kind, r.Modern)
		}
		text = append(text, ']')
		if to < len(shown.Items) {
			text = jsonx.AppendString(append(text, `,"nextCursor":`...), m.cursorAt(kind, shown.Version, r.Caller.Name, to))
		}
		return append(text, '}'), nil
	}
}

// pageOf gives the first of some items, so many at most, and only as many as fit.
func pageOf(items []Listed, most int) []Listed {
	size := 0
	for i, item := range items {
		if size += len(item.Raw); i == most || i > 0 && size > pageBytes {
			return items[:i]
		}
	}
	return items
}

// append appends an item as its server says it, by the name that clients use, and with what they
// cannot do without: one that holds a list to the form that the protocol gives it would lose all.
func (l Listed) append(text []byte, kind string, modern bool) []byte {
	raw := l.Raw
	name, named := jsonx.Text(jsonx.Member(raw, "name"))
	switch {
	case l.Name != "" && name != l.Name:
		raw = jsonx.Put(raw, "name", jsonx.AppendString(nil, l.Name))
	case !named && kind == kindResources:
		raw = jsonx.Put(raw, "name", jsonx.Member(raw, "uri"))
	case !named && kind == kindTemplates:
		raw = jsonx.Put(raw, "name", jsonx.Member(raw, "uriTemplate"))
	}
	if kind == kindTools {
		raw = withSchemas(raw, modern)
	}
	return append(text, raw...)
}

// withSchemas gives a tool whose arguments are an object, as they always are, and whose output is one
// where a client of the older era is told what it is.
func withSchemas(tool json.RawMessage, modern bool) json.RawMessage {
	takes := jsonx.Member(tool, "inputSchema")
	switch {
	case takes == nil:
		tool = jsonx.Put(tool, "inputSchema", json.RawMessage(`{"type":"object"}`))
	case jsonx.Member(takes, "type") == nil:
		tool = jsonx.Put(tool, "inputSchema", jsonx.Put(takes, "type", json.RawMessage(`"object"`)))
	}
	if gives := jsonx.Member(tool, "outputSchema"); gives != nil && !modern {
		if kind, _ := jsonx.Text(jsonx.Member(gives, "type")); kind != "object" {
			tool = jsonx.Without(tool, "outputSchema")
		}
	}
	return tool
}

const placeBytes = 4

// cursorAt names a place in a list, for one caller, and as long as the list stays as it is.
func (m *MCP) cursorAt(kind, version, caller string, at int) string {
	place := binary.BigEndian.AppendUint32(nil, uint32(at))
	return base64.RawURLEncoding.EncodeToString(append(place, m.seal(kind, version, caller, place)...))
}

// seal is what nobody else can make.
func (m *MCP) seal(kind, version, caller string, place []byte) []byte {
	mac := hmac.New(sha256.New, m.cursor[:])
	for _, part := range []string{kind, version, caller} {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		mac.Write([]byte(part))
	}
	mac.Write(place)
	return mac.Sum(nil)[:16]
}

// place reads the cursor of a request; without one it is the start.
func (m *MCP) place(kind, version string, r *mcpserve.Request) (at int, ok bool) {
	value := r.Param("cursor")
	if value == nil {
		return 0, true
	}
	text, _ := jsonx.Text(value)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < placeBytes || !hmac.Equal(raw[placeBytes:], m.seal(kind, version, r.Caller.Name, raw[:placeBytes])) {
		return 0, false
	}
	place := binary.BigEndian.Uint32(raw)
	return int(place), place <= math.MaxInt32
}

// paramText gives a param that is a string.
func paramText(r *mcpserve.Request, name string) (string, *jsonrpc.Error) {
	text, ok := jsonx.Text(r.Param(name))
	if !ok {
		return "", badParams(name + " is missing or no string")
	}
	return text, nil
}
