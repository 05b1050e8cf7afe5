package mcpclient

import (
	"errors"
	"fmt"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

func shuttingDown() error {
	return &durward.Error{Reason: durward.ShuttingDown, Op: op, Retry: true, Hint: "try again after the restart"}
}

// stopped says that nothing was sent to a server, and in Detail.Limit after how many seconds it
// makes sense to come back, where that is known.
func stopped(name string, after time.Duration) error {
	seconds := (after + time.Second - 1) / time.Second
	return &durward.Error{
		Reason: durward.ServerStopped, Op: op, Retry: seconds > 0, Hint: "look at the health details of the server, or restart it",
		Err: durward.Detail{Limit: int64(seconds), Members: map[string]any{"server": name}, Err: fmt.Errorf("MCP server %q is not running", name)},
	}
}

// disconnected is for a call that a server was working on.
func disconnected(name string, why error) error {
	return &durward.Error{Reason: durward.ServerDisconnected, Op: op, Err: durward.Detail{
		Members: map[string]any{"server": name}, Err: fmt.Errorf("MCP server %q disconnected (%w); the tool may have run", name, why),
	}}
}

// saidError is an error of JSON-RPC that a server answered with. What it holds is the server's
// own, and made for its caller.
func saidError(e *jsonrpc.Error) error {
	members := map[string]any{"code": int64(e.Code), "message": e.Message}
	if e.Data != nil {
		members["data"] = e.Data
	}
	return &durward.Error{Reason: durward.ServerError, Op: op, Err: durward.Detail{Members: members, Err: errors.New(e.Message)}}
}

func malformed(why string) error {
	return &durward.Error{Reason: durward.MalformedResult, Op: op, Err: errors.New("malformed result: " + why)}
}

func tooLarge(limit int64) error {
	return &durward.Error{Reason: durward.OutputTooLarge, Op: op, Hint: "ask for less at once", Err: durward.Detail{
		Limit: limit, Err: fmt.Errorf("the server answered with more than %d bytes", limit),
	}}
}

// crowded is for a call that may not even wait.
func crowded(name string) error {
	return &durward.Error{
		Reason: durward.QueueFull, Op: op, Retry: true, Hint: "try again later",
		Err: fmt.Errorf("%d calls wait for MCP server %q", mostWaiting, name),
	}
}

// noSlot is for a call whose time ended before its server had one free.
func noSlot(name string) error {
	return &durward.Error{
		Reason: durward.QueueTimeout, Op: op, Retry: true, Hint: "allow more time, or raise the server's concurrency",
		Err: fmt.Errorf("MCP server %q was busy with other calls all the time", name),
	}
}
