package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
	"github.com/durward/durward/internal/toolcall"
)

// An invocation is a call with what its answer needs.
type invocation struct {
	call    durward.Call
	input   json.RawMessage
	surface Surface
	runtime Runtime
	leave   func()
	// bad is why the input of cmd.run cannot be read; the core refuses it, too, so that
	// it is on record.
	bad error
}

// A pending is a call that a request asks for.
type pending struct {
	inv   invocation
	asked mcpspec.Level // of messages
	token *jsonrpc.ID   // to report progress under; nil for none
	// answer makes the reply of what became of it.
	answer func(r durward.Result, err error) reply
}

// short reports whether a call is over soon, as a rule.
func (inv invocation) short() bool { return inv.call.Tool == fsRead || inv.call.Tool == fsList }

// isDirect reports whether a method is a tool itself.
func isDirect(method string) bool {
	switch durward.ToolID(method) {
	case fsRead, fsWrite, cmdRun:
		return true
	}
	return false
}

// direct answers a method that is a tool itself.
func (s *session) direct(r request) reply {
	input := r.Params
	if input != nil && !isObject(input) {
		return refuse(jsonrpc.InvalidParams, "params is not an object")
	}
	p := &pending{inv: s.invoke(r, "direct", durward.ToolID(r.Method), input), asked: mcpspec.Silent}
	p.inv.call.Client = s.client
	p.answer = func(result durward.Result, err error) reply {
		if err != nil {
			return reply{bad: errorOf(p.inv, result, err)}
		}
		return reply{result: outputOf(p.inv, result)}
	}
	return reply{call: p}
}

// callTool answers tools/call.
func (s *session) callTool(_ context.Context, r request) reply {
	name, ok := jsonx.Text(r.params.name)
	if !ok {
		return refuse(jsonrpc.InvalidParams, "name is missing or no string")
	}
	if r.params.arguments != nil && !isObject(r.params.arguments) {
		return refuse(jsonrpc.InvalidParams, "arguments is not an object")
	}
	tool := r.surface.toolNamed(name)
	if tool == "" {
		return refuse(jsonrpc.InvalidParams, "unknown tool "+strconv.Quote(mcpspec.Short(name)))
	}
	p := &pending{inv: s.invoke(r, "mcp", tool, r.params.arguments), asked: s.level, token: r.meta.Progress}
	p.inv.call.Client, p.inv.call.Trace = s.client, r.meta.Trace
	if r.meta.Modern {
		p.inv.call.Client, p.asked = r.meta.Client, r.meta.Level
	}
	m := r.mark()
	p.answer = func(result durward.Result, err error) reply {
		if err != nil {
			return reply{result: failure(m, p.inv, result, err)}
		}
		return reply{result: success(m, p.inv, result)}
	}
	return reply{call: p}
}

// invoke makes a call of a tool and what it is given.
func (s *session) invoke(r request, surface string, tool durward.ToolID, input json.RawMessage) invocation {
	if input == nil {
		input = json.RawMessage("{}")
	}
	inv := invocation{input: input}
	inv.surface, inv.runtime, inv.leave = s.Enter()
	inv.call, inv.bad = callOf(tool, input)
	inv.call.Surface, inv.call.Caller, inv.call.Arrived = surface, s.Caller, time.Now()
	if r.Kind == jsonrpc.Request {
		inv.call.ClientID = r.ID.String()
	}
	return inv
}

// NewCall makes the call that a client makes by naming a tool, in either way, and by input,
// a JSON object. Where there is no such tool it gives false. An object that the tool cannot
// take makes a call that is refused.
func NewCall(tool string, input json.RawMessage) (durward.Call, bool) {
	name := Surface{}.toolNamed(tool)
	if name == "" {
		return durward.Call{}, false
	}
	c, _ := callOf(name, input) // the core refuses it, too
	return c, true
}

// callOf makes a call. With an error its input is not what the tool takes.
func callOf(tool durward.ToolID, input json.RawMessage) (durward.Call, error) {
	c := durward.Call{Door: Name, Tool: tool}
	if tool != cmdRun {
		c.Input, c.Path = input, member(input, "path")
		return c, nil
	}
	run, err := toolcall.DecodeCmdRun(input)
	if err != nil {
		c.Input, c.CommandID = input, member(input, "commandId")
		return c, err
	}
	c.CommandID, c.Argv = run.CommandID, append([]string{run.CommandID}, run.Args...)
	c.Dir, c.Env, c.Stdin = run.Dir, run.Env, run.Stdin
	c.Ask.Limits.Wall = run.Timeout
	return c, nil
}

// member gives what a member of an object says, if it is a string.
func member(object []byte, name string) string {
	says, _ := jsonx.Text(jsonx.Member(object, name))
	return says
}

func (s *session) do(ctx context.Context, inv invocation) (durward.Result, error) {
	result, err := inv.runtime.Do(ctx, inv.call)
	_ = result.Discard() // a copy of the files is nobody's
	if err == nil {
		err = inv.bad
	}
	return result, err
}

// doWatched reports progress, too, if there is a token for it.
func (s *session) doWatched(ctx context.Context, inv invocation, token *jsonrpc.ID) (durward.Result, error) {
	if token == nil || inv.call.Tool != cmdRun {
		return s.do(ctx, inv)
	}
	p := s.newProgress(*token)
	defer p.stop()
	inv.call.Captured = p.captured
	return s.do(ctx, inv)
}

// timeoutMs is how long the call had; zero means unknown.
func (inv invocation) timeoutMs() int64 {
	return inv.surface.timeoutMs(inv.call.CommandID, int64(inv.call.Ask.Limits.Wall/time.Millisecond))
}
