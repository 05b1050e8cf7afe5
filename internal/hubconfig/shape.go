package hubconfig

import "github.com/durward/durward/internal/config"

// A Shape is one of the three that a file may have.
type Shape string

// The shapes: a list of servers, those by their names under mcpServers, and those under servers.
const (
	List       Shape = "list"
	MCPServers Shape = "mcpServers"
	VSCode     Shape = "vscode"
)

// ShapeOf tells the shape of a document; it is empty for one that has no servers at all.
func ShapeOf(root *config.Node) Shape {
	servers := root.Get("servers")
	switch {
	case servers == nil && root.Get("mcpServers") == nil:
		return ""
	case servers == nil:
		return MCPServers
	case servers.Kind == config.List:
		return List
	}
	return VSCode
}
