// Package mcp is the door for clients of the Model Context Protocol: messages of
// JSON-RPC, one per line, on a byte stream.
//
//	{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"/w/a"}}
//	     →  {"jsonrpc":"2.0","id":1,"result":{"data":"…","bytesRead":12,"sha256":"…"}}
//	{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fs_read","arguments":{"path":"/w/a"}}}
//	     →  {"jsonrpc":"2.0","id":2,"result":{"content":[…],"structuredContent":{"data":"…",…}}}
//
// The three tools are methods of their own, and tools of the protocol in two eras: with a
// handshake (2024-11-05 to 2025-11-25), and with everything in each request (2026-07-28).
// A client may mix all three on one stream.
//
// Nothing is decided here: the door turns a request into a call and the call's end into
// an answer.
//
// What a client can make a session hold is bounded: 128 MiB of requests, and as much again
// for what was read from them, 64 MiB of files that are read or written, 32 MiB that commands printed,
// 32 MiB of answers and as much in batches. One call that is larger than a bound is carried
// out alone. Text of control characters takes six times its size in an answer, which is
// known when it was read: up to eight such reads at once may come to more than the bound.
package mcp

import (
	"context"
	"errors"
	"log/slog"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/toolcall"
)

// Name is what records call this door.
const Name = "mcp"

// The tools. Those of a policy are direct methods by these names.
const (
	fsList  = toolcall.FSList
	fsRead  = toolcall.FSRead
	fsWrite = toolcall.FSWrite
	cmdRun  = toolcall.CommandRun
)

// A Runtime runs calls. It is a core.Runtime, or one that is exchanged when a policy is
// read anew.
type Runtime interface {
	Do(ctx context.Context, c durward.Call) (durward.Result, error)
	// Refuse records that the door does not take a call on, and gives the error to answer.
	Refuse(c durward.Call, why error) error
}

// An Expecter is a Runtime at which commands wait for each other. It is told of each in the
// order of lines, before the call is done; forget is called when the call is over.
type Expecter interface {
	Expect(c durward.Call) (forget func())
}

// Options are the parts of a door. Runtime and Surface are required.
type Options struct {
	Runtime Runtime
	// Surface gives what there is now. It is asked for each request, by one goroutine
	// at a time.
	Surface func() Surface
	// Enter gives what a call is decided and answered by from the moment it is taken on:
	// a surface, the runtime that belongs to it, and leave, which is called once when the
	// call is over. Nil gives Surface and Runtime.
	Enter func() (s Surface, r Runtime, leave func())
	// Changed has an element when Surface may give something else than before: clients
	// are told if their list of tools did change. Nil means that it never does.
	Changed <-chan struct{}
	// Patient reads on only when there is room for a further call, instead of refusing one
	// too many: for input that is no conversation.
	Patient bool
	// Version is that of the program.
	Version string
	// Caller is who holds the other end of the stream.
	Caller durward.Caller
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

func (o *Options) check() error {
	if o.Surface == nil || o.Runtime == nil && o.Enter == nil {
		return errors.New("mcp: a runtime and a surface are required")
	}
	if o.Enter == nil {
		o.Enter = func() (Surface, Runtime, func()) { return o.Surface(), o.Runtime, func() {} }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
