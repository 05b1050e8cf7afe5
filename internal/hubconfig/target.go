package hubconfig

import (
	"encoding/json"
	"strings"

	"github.com/durward/durward"
)

// The requests beside calls of tools that servers are sent.
const (
	ReadResource = "resources/read"
	Subscribe    = "resources/subscribe"
	Unsubscribe  = "resources/unsubscribe"
	GetPrompt    = "prompts/get"
	Complete     = "completion/complete"
)

// A Target is what the engine knows a tool by: it is the Spec of each tool of the hub, by pointer.
type Target struct {
	// Server is its name, and Tool the server's own name of the tool, or of the prompt where the
	// method is [GetPrompt].
	Server, Tool string
	// Method is the request that the server is sent; empty is tools/call. With another one the
	// input of a call is not the tool's arguments but all the params.
	Method string
}

// An Item is a resource, a template of resources or a prompt that a server has.
type Item struct {
	// Key tells it from the server's others of its kind: a URI, a template of URIs, or a name.
	Key string
	// Raw is all that the server says of it, as it stands there.
	Raw json.RawMessage
}

// MayHaveRun is the member of a [durward.Detail] that says of a call which was cut short whether its
// server had been sent it.
const MayHaveRun = "may_have_run"

// MaxURI is the length of the longest URI of a resource that is looked for, in bytes.
const MaxURI = 8 << 10

// RequestID is the id under which a server is sent a request that is about no tool or prompt,
// such as [ReadResource]: "files:resources/read".
func RequestID(server, method string) durward.ToolID { return durward.ToolID(server + ":" + method) }

// OfRequest takes an id apart that [RequestID] gave. No server's name has a colon.
func OfRequest(id durward.ToolID) (server, method string, ok bool) {
	server, method, ok = strings.Cut(string(id), ":")
	switch method {
	case ReadResource, Subscribe, Unsubscribe, Complete:
		return server, method, ok
	}
	return "", "", false
}

const promptPrefix = GetPrompt + ":"

// PromptID is the id of a prompt by the name that clients of MCP see: "prompts/get:review".
func PromptID(name string) durward.ToolID { return durward.ToolID(promptPrefix + name) }

// OfPrompt takes an id apart that [PromptID] gave.
func OfPrompt(id durward.ToolID) (name string, ok bool) {
	return strings.CutPrefix(string(id), promptPrefix)
}
