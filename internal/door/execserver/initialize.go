package execserver

import (
	"encoding/json"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// initialize attaches the connection to a session: a new one, or the one it comes back to.
func (c *conn) initialize(r request, p protocol.InitializeParams) {
	if c.state != fresh {
		c.answer(r, nil, refusal(protocol.InvalidRequest, "initialize was called before"))
		return
	}
	session, err := c.sessionFor(p)
	if err != nil {
		c.answer(r, nil, err)
		return
	}
	c.session, c.state = session, greeted
	info := c.server.info
	encode(c, r, protocol.InitializeResult{SessionID: session.id, EnvironmentInfo: &info})
	session.listen(c)
}

// sessionFor gives the session that a client asks for, attached to the connection.
func (c *conn) sessionFor(p protocol.InitializeParams) (session *session, err error) {
	if p.ResumeSessionID.ID != nil {
		session, err = c.server.find(*p.ResumeSessionID.ID)
	} else {
		session, err = c.server.newSession(p, c.peer.Caller())
	}
	if err != nil {
		return nil, err
	}
	return session, session.attach(c)
}

// clip cuts what is only for the record.
func clip(text string) string {
	const most = 128
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// traceOf reads the trace of a request. One that is malformed is none.
func traceOf(raw json.RawMessage) durward.TraceContext {
	if raw == nil {
		return durward.TraceContext{}
	}
	var trace struct {
		Parent string `json:"traceparent"`
	}
	if json.Unmarshal(raw, &trace) != nil {
		return durward.TraceContext{}
	}
	parsed, _ := durward.ParseTraceparent(trace.Parent)
	return parsed
}

func (c *conn) environmentInfo(r request, _ protocol.Empty) { encode(c, r, c.server.info) }

func (c *conn) environmentStatus(r request, _ protocol.Empty) {
	encode(c, r, protocol.EnvironmentStatusResult{Status: protocol.StatusReady})
}

// encode answers with a struct of package protocol.
func encode[T any](c *conn, r request, result T) {
	raw, err := protocol.Encode(result)
	c.answer(r, raw, err)
}

// call begins the call of a request: who asks, by which way, for what.
func (c *conn) call(r request) durward.Call {
	return durward.Call{
		Door: Name, Surface: c.server.Surface, Caller: c.peer.Caller(), Client: durward.Client{Name: c.session.clientName},
		ClientID: clip(r.ID.String()), Trace: traceOf(r.Trace), Tool: durward.ToolID(r.Method),
	}
}
