// Package mcpspec holds what the revisions of the Model Context Protocol fix, for whoever speaks
// it: the revisions, their own error codes, the levels of log messages, and the _meta of a request.
//
// There are two eras. In the older one a client agrees on a revision first, by initialize; in the
// newer one each request says everything itself:
//
//	"_meta": {
//	  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
//	  "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
//	  "io.modelcontextprotocol/clientInfo": {"name": "editor", "version": "1.0"},
//	  "io.modelcontextprotocol/logLevel": "info",
//	  "progressToken": 7, "traceparent": "00-…"
//	}
package mcpspec

import "slices"

// The revisions that something depends on.
const (
	// Modern is the revision without a handshake.
	Modern = "2026-07-28"
	// Newest is the newest of those with a handshake.
	Newest = "2025-11-25"
	// Batches is the one that has batches.
	Batches = "2025-03-26"
	// Oldest is the oldest.
	Oldest = "2024-11-05"
)

// Legacy lists the revisions with a handshake, the newest first.
func Legacy() []string { return []string{Newest, "2025-06-18", Batches, Oldest} }

// Supported lists all revisions, the newest first.
func Supported() []string { return slices.Insert(Legacy(), 0, Modern) }

// Agree gives the revision to hold with a client that asks for one by initialize: that one, or the
// newest.
func Agree(asked string) string {
	if slices.Contains(Legacy(), asked) {
		return asked
	}
	return Newest
}

// Error codes of the protocol's own.
const (
	// CodeNoResource is that of the older era for a resource that is not known.
	CodeNoResource = -32002
	// CodeHeader is for a header that does not say what the message says.
	CodeHeader = -32020
	// CodeCapability is for a request that needs a capability that the client does not have.
	CodeCapability = -32021
	// CodeVersion is for a revision that is not known.
	CodeVersion = -32022
)

// Names of members of a _meta.
const (
	prefix           = "io.modelcontextprotocol/"
	MetaVersion      = prefix + "protocolVersion"
	MetaCapabilities = prefix + "clientCapabilities"
	MetaClientInfo   = prefix + "clientInfo"
	MetaLogLevel     = prefix + "logLevel"
	MetaServerInfo   = prefix + "serverInfo"
	MetaSubscription = prefix + "subscriptionId"
)
