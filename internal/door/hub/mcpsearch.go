package hub

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
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

// SearchNames are those that no other tool has for clients of MCP where tools are searched.
func SearchNames() []string { return []string{findTool, useTool} }

func isSearch(name string) bool { return slices.Contains(SearchNames(), name) }

// The bounds of a search.
const (
	usualMatches = 5
	maxMatches   = 50
	maxQuery     = 1024
)

// search carries out one of the two.
func (m *MCP) search(ctx context.Context, r *mcpserve.Request, name string, given json.RawMessage) (json.RawMessage, error) {
	arguments, bad := argumentsOf(given)
	switch {
	case bad != nil:
		return nil, m.misused(r, durward.ToolID(name), given, bad)
	case name == useTool:
		return m.use(ctx, r, arguments)
	}
	return m.find(ctx, r, arguments)
}

// use calls the tool that the arguments name.
func (m *MCP) use(ctx context.Context, r *mcpserve.Request, arguments json.RawMessage) (json.RawMessage, error) {
	name, ok := jsonx.Text(jsonx.Member(arguments, "name"))
	if !ok || isSearch(name) {
		return nil, m.misused(r, useTool, arguments, badParams("arguments.name is missing or no name of a tool"))
	}
	return m.call(ctx, r, name, jsonx.Member(arguments, "arguments"), nil) // its schema asks for no headers
}

// find answers with the tools that match.
func (m *MCP) find(ctx context.Context, r *mcpserve.Request, arguments json.RawMessage) (json.RawMessage, error) {
	q, bad := questionOf(arguments)
	if bad != nil {
		return nil, m.misused(r, findTool, arguments, bad)
	}
	result, err := m.Runtime.Answer(ctx, m.callOf(r, findTool, arguments, m.Timeout(findTool)), "search", func() durward.Result {
		return durward.Result{Output: m.found(r.Caller, q)}
	})
	return result.Output, err
}

// A question is what is searched for, and how much of that is wanted.
type question struct {
	text string
	most int
}

func questionOf(arguments json.RawMessage) (q question, bad *jsonrpc.Error) {
	text, ok := jsonx.Text(jsonx.Member(arguments, "query"))
	if !ok || len(text) > maxQuery {
		return q, badParams("arguments.query is missing, too long or no string")
	}
	q = question{text, usualMatches}
	if value := jsonx.Member(arguments, "limit"); value != nil {
		most, err := strconv.ParseFloat(string(value), 64) // 5.0 is an integer, too
		if q.most = int(most); err != nil || most != float64(q.most) || q.most < 1 || q.most > maxMatches {
			return q, badParams("arguments.limit is no integer from 1 to 50")
		}
	}
	return q, nil
}

// found gives the tools that match, as tools/list would show them: the best ones, as many as a page
// would hold.
func (m *MCP) found(caller durward.Caller, q question) json.RawMessage {
	list := []byte(`{"tools":[`)
	for i, tool := range pageOf(m.Search(caller, q.text, q.most), q.most) {
		if i > 0 {
			list = append(list, ',')
		}
		list = tool.append(list, kindTools, true)
	}
	list = append(list, "]}"...)
	text := jsonx.AppendString([]byte(`{"content":[{"type":"text","text":`), string(list))
	return append(append(append(text, `}],"structuredContent":`...), list...), '}')
}
