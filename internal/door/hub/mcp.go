package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// A Listed is a tool, a prompt, a resource or a template of resources as clients of MCP see it.
type Listed struct {
	// Name is what it is called by; empty for what has a URI.
	Name string
	// ID is its id; empty for what has a URI.
	ID     durward.ToolID
	Server string
	// Raw is all that the server says of it, with a name that may be another one.
	Raw json.RawMessage
}

// A Shown is a list of one kind at one moment, of what a caller may know. Its version is another one
// when anything in it is.
type Shown struct {
	Version string
	Items   []Listed
}

// The kinds of lists.
const (
	kindTools     = "tools"
	kindPrompts   = "prompts"
	kindResources = "resources"
	kindTemplates = "resourceTemplates"
)

// MCPOptions are the parts of the surface for clients of MCP. All but Logger are required.
type MCPOptions struct {
	Runtime *core.Runtime
	Version string
	// Expose lists what is offered: "tools", "resources", "prompts".
	Expose []string
	// Show gives the list of a kind: "tools", "prompts", "resources" or "resourceTemplates".
	Show func(kind string, caller durward.Caller) Shown
	// Tool and Prompt find one by a name that clients use, Resource the server that a URI is for.
	// Schema is that of a tool's arguments.
	Tool     func(name string) (found Listed, schema json.RawMessage, ok bool)
	Prompt   func(name string) (found Listed, original string, ok bool)
	Resource func(uri string) (server string, ok bool)
	// Knows reports whether a caller may know of a tool or prompt.
	Knows func(caller durward.Caller, id durward.ToolID) bool
	// Hears reports whether a caller may have resources, and hear what servers log beside its own
	// calls.
	Hears func(caller durward.Caller) bool
	// Timeout is what a call gets.
	Timeout func(durward.ToolID) time.Duration
	// SetLevel is told from which level on servers are to log.
	SetLevel func(level string)
	// Begun, if set, comes back once it is known what there is: nothing is told of it before. Its error
	// is what a request is answered with that waited in vain. It waits no longer than most, and then gives no
	// error; zero is as long as it takes.
	Begun func(ctx context.Context, most time.Duration) error
	// Search, if set, is offered in the place of the list of tools.
	Search  Searcher
	Metrics *Metrics
	Logger  *slog.Logger
}

// An MCP is the surface for clients of MCP: all servers as one. It is safe for concurrent use.
type MCP struct {
	MCPOptions
	server *mcpserve.Server
	cursor [32]byte // the key of cursors
	calls  calls
}

// listTTL is for how long a client may keep a list.
const listTTL = time.Minute

// NewMCP makes one. Whoever makes one closes it.
func NewMCP(o MCPOptions) (*MCP, error) {
	if o.Runtime == nil || o.Show == nil || o.Tool == nil || o.Prompt == nil || o.Resource == nil || o.Knows == nil || o.Hears == nil || o.Timeout == nil ||
		o.SetLevel == nil || o.Metrics == nil {
		return nil, errors.New("hub: a part of the surface for MCP is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &MCP{MCPOptions: o}
	_, _ = rand.Read(m.cursor[:]) // it never fails
	var err error
	m.server, err = mcpserve.New(mcpserve.Options{
		Info: mcpserve.Info{Name: "durward", Title: "durward hub", Version: o.Version}, Capabilities: m.capabilities, Handle: m.handle, Quiet: isQuiet, TTL: listTTL,
		Instructions: "The tools of several MCP servers. What a tool says of itself is its server's word.",
		Level:        func(l mcpspec.Level) { o.SetLevel(l.String()) }, Logger: o.Logger,
	})
	return m, err
}

// ServeHTTP answers requests to the endpoint.
func (m *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.server.ServeHTTP(w, r) }

// ServeStream serves one client on a byte stream until that ends, or ctx.
func (m *MCP) ServeStream(ctx context.Context, caller durward.Caller, in io.Reader, out io.Writer) error {
	return m.server.ServeStream(ctx, caller, in, out)
}

// Drain ends what is open without a request of its own, and has further requests refused.
func (m *MCP) Drain() { m.server.Drain() }

// Close is Drain that waits for requests that run.
func (m *MCP) Close() { m.server.Close() }

func (m *MCP) exposes(what string) bool { return slices.Contains(m.Expose, what) }

// capabilities are what clients are told that there is.
func (m *MCP) capabilities() json.RawMessage {
	c := map[string]any{"logging": struct{}{}}
	if m.exposes("tools") {
		c["tools"] = map[string]bool{"listChanged": true}
	}
	if m.exposes("resources") {
		c["resources"] = map[string]bool{"listChanged": true, "subscribe": true}
	}
	if m.exposes("prompts") {
		c["prompts"] = map[string]bool{"listChanged": true}
	}
	if m.exposes("resources") || m.exposes("prompts") {
		c["completions"] = struct{}{}
	}
	text, _ := json.Marshal(c) // plain values are never refused
	return text
}

// handle answers one request.
func (m *MCP) handle(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	var answer func(context.Context, *mcpserve.Request) (json.RawMessage, error)
	of := "resources"
	switch r.Method {
	case "tools/list":
		of, answer = "tools", m.listTools
	case "tools/call":
		of, answer = "tools", m.callTool
	case "prompts/list":
		of, answer = "prompts", m.lister(kindPrompts)
	case hubconfig.GetPrompt:
		of, answer = "prompts", m.getPrompt
	case "resources/list":
		answer = m.lister(kindResources)
	case "resources/templates/list":
		answer = m.lister(kindTemplates)
	case hubconfig.ReadResource, hubconfig.Subscribe, hubconfig.Unsubscribe:
		answer = m.ofResource
	case hubconfig.Complete:
		answer = m.complete
		if m.exposes("prompts") {
			of = "prompts"
		}
	}
	if answer == nil || !m.exposes(of) {
		return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "this is not offered"}
	}
	if err := m.begun(ctx, r); err != nil {
		return nil, err
	}
	return answer(ctx, r)
}

// begun waits until it is known what there is, where a request depends on that: a call by a name that is
// known whatever else there is does not, and no call waits longer than it might take.
func (m *MCP) begun(ctx context.Context, r *mcpserve.Request) error {
	if m.Begun == nil {
		return nil
	}
	if r.Method != "tools/call" {
		return m.Begun(ctx, 0)
	}
	name, _ := jsonx.Text(r.Param("name"))
	found, _, ok := m.Tool(name)
	if ok && strings.HasPrefix(name, found.Server+"__") {
		return nil
	}
	return m.Begun(ctx, m.Timeout(found.ID))
}

// Changed tells clients that a list is another one: "tools", "prompts" or "resources".
func (m *MCP) Changed(kind string) {
	if m.exposes(kind) {
		m.server.Notify("notifications/"+kind+"/list_changed", json.RawMessage(`{}`))
	}
}

// Updated tells those who listen to a resource that it is another one: the params of a server's
// notification.
func (m *MCP) Updated(params json.RawMessage) {
	m.server.Notify("notifications/resources/updated", jsonx.Without(params, "_meta")) // it is for us
}

func badParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: message}
}
