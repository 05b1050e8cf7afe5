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

func success(m mark, inv invocation, r durward.Result) toolResult {
	output := outputOf(inv, r)
	return toolResult{mark: m, Content: []block{shownAs(inv, output)}, Structured: output}
}

// shownAs is the text for a model: the file itself where that is text, else the object.
func shownAs(inv invocation, output any) block {
	raw, _ := encode(output) // what is no JSON is noticed when the whole is encoded
	if inv.call.Tool == fsList {
		return blockOf(listText(raw))
	}
	if inv.call.Tool != fsRead || member(inv.input, "encoding") == "base64" {
		return blockOf(string(raw))
	}
	read, _ := jsonx.Object(raw, jsonx.Limits{Bytes: int64(len(raw))})
	if data := read["data"]; len(data) > 0 && data[0] == '"' {
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
