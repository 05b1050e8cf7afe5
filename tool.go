package durward

import "encoding/json"

// A Tool is something a caller can run. Sources offer tools; they are values and
// safe to share once handed out.
type Tool struct {
	ID         ToolID
	Title, Doc string
	// Input and Output are JSON Schemas, nil when the tool has none.
	Input, Output json.RawMessage
	Effect        Effect
	// Engine names the engine that carries the tool out.
	Engine string
	// Server is the name of the server that has the tool, empty where none stands behind it.
	Server string
	// Spec is what that engine needs to know; its type belongs to the engine.
	Spec any
	// Concurrent is how many calls of this tool may run at once. Zero means no limit
	// of its own.
	Concurrent int
}

// An Effect says what a tool does to the world, as hints for a client. The zero
// value claims nothing.
type Effect struct {
	ReadOnly, Destructive, Idempotent, OpenWorld bool
}
