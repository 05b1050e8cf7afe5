package toolcall

import "github.com/durward/durward"

// The tools of `durward mcp`, as calls, records and direct methods name them.
const (
	FSRead     durward.ToolID = "fs.read"
	FSWrite    durward.ToolID = "fs.write"
	FSList     durward.ToolID = "fs.list" // of a folder that is served without a policy
	CommandRun durward.ToolID = "cmd.run"
)
