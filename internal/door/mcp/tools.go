package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// A tool is one entry of tools/list.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  hints           `json:"annotations"`
}

type hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// toolsOf lists the tools, in the order of their names.
func toolsOf(s Surface) []tool {
	if s.Folder {
		return folderTools()
	}
	list := []tool{
		{
			Name: string(cmdRun), Title: "Run a command", Description: commandText(s),
			InputSchema: runInput(s.ids()), OutputSchema: json.RawMessage(runOutput),
			Annotations: hints{Destructive: true, OpenWorld: true},
		},
		{
			Name: string(fsRead), Title: "Read a file", Description: "Read a file, or a part of it, within the roots that the policy allows.",
			InputSchema: json.RawMessage(readInput), OutputSchema: json.RawMessage(readOutput),
			Annotations: hints{ReadOnly: true, Idempotent: true},
		},
		{
			Name: string(fsWrite), Title: "Write a file", Description: "Write a whole file within the zones where the policy allows it. The file is replaced as a whole or not at all.",
			InputSchema: json.RawMessage(writeInput), OutputSchema: json.RawMessage(writeOutput),
			Annotations: hints{Destructive: true},
		},
	}
	if !s.Dotted {
		for i := range list {
			list[i].Name = strings.ReplaceAll(list[i].Name, ".", "_")
		}
	}
	return list
}

// commandText tells what commands there are.
func commandText(s Surface) string {
	if len(s.Commands) == 0 {
		return "Run a command. The policy allows none."
	}
	var text strings.Builder
	text.WriteString("Run one of the commands that the policy allows, without a shell:")
	for _, c := range s.sorted() {
		text.WriteString("\n- " + c.ID)
		if c.Description != "" {
			text.WriteString(": " + c.Description)
		}
	}
	return text.String()
}

// listed is the list of tools as text, to compare with another one.
func listed(s Surface) []byte {
	text, _ := encode(toolsOf(s)) // the schemas are ours
	return text
}

// toolNamed finds a tool by a name that clients use; there is none called "".
func (s Surface) toolNamed(name string) durward.ToolID {
	if s.Folder {
		return folderNames[name]
	}
	switch dotted := durward.ToolID(strings.Replace(name, "_", ".", 1)); dotted {
	case fsRead, fsWrite, cmdRun:
		return dotted
	}
	return ""
}

func (s *session) listTools(_ context.Context, r request) reply {
	if r.params.cursor != nil {
		return unknownCursor()
	}
	return reply{result: struct {
		listMark
		Tools []tool `json:"tools"`
	}{r.listMark(), toolsOf(r.surface)}}
}

// unknownCursor refuses to go on with a list: each is one page.
func unknownCursor() reply {
	return refuse(jsonrpc.InvalidParams, "the cursor is not known: there is one page")
}
