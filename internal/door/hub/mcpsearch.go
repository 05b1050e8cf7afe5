package hub

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
)

// A Searcher finds tools among those that a caller may know, the best first.
type Searcher func(caller durward.Caller, query string, limit int) []Listed

// The tools that stand for all others where these are searched.
const (
	findTool = "find_tool"
	useTool  = "call_tool"
)

// searchTools is the list of them.
const searchTools = `{"tools":[` +
	`{"name":"find_tool","title":"Find a tool","description":"Find tools by what they are to do. Gives the best matches with the schemas of their arguments.",` +
	`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"what is to be done, in a few words"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":50,"default":5}},"required":["query"]},"annotations":{"readOnlyHint":true,"idempotentHint":true}},` +
	`{"name":"call_tool","title":"Call a tool","description":"Call a tool that find_tool has found, by its name.",` +
	`"inputSchema":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","description":"as the tool's inputSchema has them"}},"required":["name"]}}]}`

func isSearch(name string) bool { return name == findTool || name == useTool }

// The bounds of a search.
const (
	usualMatches = 5
	maxMatches   = 50
	maxQuery     = 1024
)

// search carries out one of the two.
func (m *MCP) search(ctx context.Context, r *mcpserve.Request, name string, arguments json.RawMessage) (json.RawMessage, error) {
	if name == findTool {
		return m.find(r, arguments)
	}
	called, ok := jsonx.Text(jsonx.Member(arguments, "name"))
	if !ok || isSearch(called) {
		return nil, badParams("arguments.name is missing or no name of a tool")
	}
	inner, bad := argumentsOf(jsonx.Member(arguments, "arguments"))
	if bad != nil {
		return nil, bad
	}
	return m.call(ctx, r, called, inner, nil) // its schema asks for no headers
}

// find answers with the tools that match, as tools/list would show them: the best ones, as many as
// a page would hold.
func (m *MCP) find(r *mcpserve.Request, arguments json.RawMessage) (json.RawMessage, error) {
	query, ok := jsonx.Text(jsonx.Member(arguments, "query"))
	if !ok || len(query) > maxQuery {
		return nil, badParams("arguments.query is missing, too long or no string")
	}
	limit := usualMatches
	if value := jsonx.Member(arguments, "limit"); value != nil {
		var err error
		if limit, err = strconv.Atoi(string(value)); err != nil || limit < 1 || limit > maxMatches {
			return nil, badParams("arguments.limit is no number from 1 to 50")
		}
	}
	found := []byte(`{"tools":[`)
	for i, tool := range pageOf(m.Search(r.Caller, query, limit), limit) {
		if i > 0 {
			found = append(found, ',')
		}
		found = tool.append(found)
	}
	found = append(found, "]}"...)
	text := jsonx.AppendString([]byte(`{"content":[{"type":"text","text":`), string(found))
	return append(append(append(text, `}],"structuredContent":`...), found...), '}'), nil
}
