package mcp

import (
	"encoding/json"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// A runResult is what a command came to.
type runResult struct {
	ExitCode  int    `json:"exitCode"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	TimedOut  bool   `json:"timedOut"`
	Truncated bool   `json:"truncated"`
}

func runResultOf(r durward.Result) runResult {
	return runResult{ExitCode: r.ExitStatus(), Stdout: textOf(r.Stdout), Stderr: textOf(r.Stderr), Truncated: r.Truncated()}
}

// outputOf gives the result object of a call that went well.
func outputOf(inv invocation, r durward.Result) any {
	if inv.call.Tool == cmdRun {
		return runResultOf(r)
	}
	return r.Output
}

// A toolResult is the result of tools/call.
type toolResult struct {
	mark
	Content    []block          `json:"content"`
	Structured any              `json:"structuredContent,omitempty"`
	IsError    bool             `json:"isError,omitempty"`
	Meta       map[string]fault `json:"_meta,omitempty"`
}

type block struct {
	Type string          `json:"type"`
	Text json.RawMessage `json:"text"` // a string
}

func blockOf(text string) block { return block{"text", jsonx.AppendString(nil, text)} }

// success is the result of a call that went well: a toolResult, or what jsonx.Marshal gives of
// it. Every call waits for that, and so it is written without looking at types.
func success(m mark, inv invocation, r durward.Result) any {
	output := outputOf(inv, r)
	raw, _ := encode(output)
	if jsonx.Check(raw, jsonx.Limits{Bytes: int64(len(raw))}) != nil { // it is noticed when the whole is encoded
		return toolResult{mark: m, Content: []block{blockOf(string(raw))}, Structured: output}
	}
	shown := shownAs(inv, raw)
	const others = 128
	text := append(make([]byte, 0, len(raw)+len(shown.Text)+others), '{')
	if m.ResultType != "" {
		text = append(jsonx.AppendString(append(text, `"resultType":`...), m.ResultType), ',')
	}
	text = jsonx.AppendString(append(text, `"content":[{"type":`...), shown.Type)
	text = append(append(text, `,"text":`...), shown.Text...)
	text = jsonx.AppendCompact(append(text, `}],"structuredContent":`...), raw)
	return json.RawMessage(append(text, '}'))
}

// shownAs is the text for a model, of JSON that was checked: the file itself where that is
// text, else the object.
func shownAs(inv invocation, raw json.RawMessage) block {
	if inv.call.Tool == fsList {
		return blockOf(listText(raw))
	}
	if inv.call.Tool != fsRead || member(inv.input, "encoding") == "base64" {
		return blockOf(string(raw))
	}
	if data := jsonx.Member(raw, "data"); len(data) > 0 && data[0] == '"' {
		return block{"text", data} // as it is written there
	}
	return blockOf("")
}

// failure is the result of a call that was refused or failed: a model can correct itself.
func failure(m mark, inv invocation, r durward.Result, err error) toolResult {
	f := faultOf(inv, r, err)
	text := string(f.Code)
	if f.Rule != "" {
		text += " (" + f.Rule + ")"
	}
	f.Message = messageOf(err)
	result := toolResult{mark: m, Content: []block{blockOf(text + ": " + f.Message)}, IsError: true, Meta: map[string]fault{"mdmcp/error": f}}
	if f.TimedOut {
		partial := runResultOf(r)
		partial.ExitCode, partial.TimedOut = -1, true
		result.Structured = partial
	}
	return result
}
