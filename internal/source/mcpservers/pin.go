package mcpservers

import "github.com/durward/durward/internal/hubpin"

// A Withheld is a tool that is not offered, since it is not what it was when it was pinned.
type Withheld struct {
	Server string
	// Want is the digest that was pinned, and Got that of what the server says now.
	Want, Got string
	Tool      Tool
}

// Pin gives the digest that a tool is held to.
func Pin(t Tool) string {
	return hubpin.Digest(hubpin.Text{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
}
