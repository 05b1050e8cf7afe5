// Package domain is what a domain package says: which tools there are, who does their work,
// and under which limits.
//
// The manifest lists the tools, the policies hold for all of them:
//
//	domain_id: "example"                      concurrency:
//	version: "0.1"                              max_inflight: 8
//	tools:                                    timeouts:
//	  - tool_id: "web.fetch"                    default_tool_timeout_sec: 60
//	    transport:                            network:
//	      type: "http"                          default_egress_policy: "deny"
//	      base_url: "http://worker:8080"
//
// Nothing here reads a file: package manifest brings the texts, and their schemas.
package domain

import (
	"errors"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/schema"
)

// ErrUnsent is behind the error of a call of which no byte was sent to its worker.
var ErrUnsent = errors.New("nothing was sent to the worker")

// A Domain is a domain package that was read without a mistake. It is not changed any more.
type Domain struct {
	ID, Version string
	// Tools stand in the order of the manifest.
	Tools    []*Tool
	Policies Policies
	// Hash is "sha256:" and the digest of the manifest, the policies and all schemas;
	// CatalogHash is that of the manifest and the schemas alone.
	Hash, CatalogHash string
}

// A Tool is one entry of the manifest.
type Tool struct {
	ID durward.ToolID
	// DomainID is the id of the domain that has the tool.
	DomainID                       string
	DisplayName, Description, Kind string
	Capabilities                   []string
	Transport                      Transport
	// Timeout is what a call gets: the tool's own, or that of the policies. TimeoutRule
	// names which, and TimeoutWhere its place; it is nowhere for the built-in default.
	Timeout      time.Duration
	TimeoutRule  string
	TimeoutWhere durward.Position
	// InputRef and OutputRef are the schemas' paths as the manifest has them; empty where it
	// names none, and then Input or Output is nil.
	InputRef, OutputRef string
	Input, Output       *schema.Schema
	// Egress is what the tool's worker may reach, Upstreams what it says that it calls.
	Egress    netguard.Allowlist
	Upstreams []netguard.Target
	// EgressWhere is the place of egress_allowlist, or of the tool where it has none.
	EgressWhere durward.Position
	// MaxInflight is how many calls of the tool may be at its worker at once; zero has no
	// limit but the domain's.
	MaxInflight int
	// Place is what rules call the tool, "tools[0]", and Where its place in the manifest.
	Place string
	Where durward.Position
}

// A Transport says how a worker is called.
type Transport struct {
	// BaseURL is canonical and has no slash at its end; Endpoint begins with one.
	BaseURL, Endpoint string
	// TokenEnv names the variable with the secret that the gateway shows to the worker; empty
	// shows none.
	TokenEnv string
	// MaxAttempts is how often a call may be tried; at least 1.
	MaxAttempts int
}

// Policies are what policies.yaml says, with the defaults where it says nothing.
type Policies struct {
	MaxInflight  int
	MaxQueue     int // zero lets nobody wait
	QueueTimeout time.Duration
	// DefaultTimeout is what a tool without a timeout of its own gets.
	DefaultTimeout time.Duration
	// DenyEgress is set unless default_egress_policy is allow.
	DenyEgress bool
	// LogLevel is DEBUG, INFO, WARNING or ERROR.
	LogLevel           string
	IncludeRequestBody bool
	// MaxRequestBytes bounds the body of a request, MaxResponseBytes a worker's reply.
	MaxRequestBytes, MaxResponseBytes int64
}
