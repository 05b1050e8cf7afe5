package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/durward/durward"
)

// folderNames are the tools of a folder, by the names that clients know from other servers
// of files.
var folderNames = map[string]durward.ToolID{"list_directory": fsList, "read_file": fsRead, "write_file": fsWrite}

// folderTools lists them, in the order of their names.
func folderTools() []tool {
	return []tool{
		{
			Name: "list_directory", Title: "List a directory", Description: "List what is in a directory of the folder.",
			InputSchema: json.RawMessage(folderInput), OutputSchema: json.RawMessage(listOutput),
			Annotations: hints{ReadOnly: true, Idempotent: true},
		},
		{
			Name: "read_file", Title: "Read a file", Description: "Read a text file of the folder.",
			InputSchema: json.RawMessage(folderInput), OutputSchema: json.RawMessage(readOutput),
			Annotations: hints{ReadOnly: true, Idempotent: true},
		},
		{
			Name: "write_file", Title: "Write a file", Description: "Write a whole text file in the folder. Directories that are missing are made, and a file that is there is replaced.",
			InputSchema: json.RawMessage(folderWriteInput), OutputSchema: json.RawMessage(writeOutput),
			Annotations: hints{Destructive: true, Idempotent: true},
		},
	}
}

const (
	folderPath  = `{` + draft + `"properties":{"path":{"type":"string","minLength":1,"description":"within the folder, or absolute"}`
	folderInput = folderPath + `},"required":["path"]` + shut

	folderWriteInput = folderPath + `,"content":{"type":"string","description":"the whole text"}},"required":["path","content"]` + shut

	listOutput = `{` + draft + `"properties":{"entries":{"type":"array","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"type":{"enum":["file","directory","link","other"]}},"required":["name","type"]` + shut + `},` +
		`"truncated":{"type":"boolean","description":"there are more"}},"required":["entries","truncated"]` + shut
)

// listText shows a directory to a model, a name on each line behind its kind.
func listText(output json.RawMessage) string {
	var list struct {
		Entries []struct{ Name, Type string }
	}
	if json.Unmarshal(output, &list) != nil {
		return ""
	}
	var text strings.Builder
	for _, e := range list.Entries {
		kind, name := strings.ToUpper(e.Type), e.Name
		if e.Type == "directory" {
			kind = "DIR"
		}
		if quoted := strconv.Quote(name); quoted != `"`+name+`"` { // it cannot begin a line of its own
			name = quoted
		}
		text.WriteString("[" + kind + "] " + name + "\n")
	}
	return strings.TrimSuffix(text.String(), "\n")
}
