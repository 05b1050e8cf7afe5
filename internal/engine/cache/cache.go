// Package cache keeps the results of calls that change nothing, in front of an engine.
//
// What is kept is said by the configuration of each server: the results of tools that say of
// themselves that they only read and may be repeated, and of tools that it names. A call finds
// the result of another one if both have the same server, tool, arguments, limit of the result
// and, where the configuration wants that, caller. Arguments are the same if they differ in
// white space and the order of members alone: 1 and 1.0 are two things. Equal calls at the same
// time are done once.
//
// Failures are not kept. Nothing that was kept or begun before is given any more once the server
// has started, stopped, or changed its tools ([Engine.Clear]), nor once a tool of it was called
// that does not say that it only reads: from the moment that call is sent, and again when it is
// answered. What a call does to a server that goes on with it after it was given up shows when
// the time of what was kept meanwhile is over.
package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
)

const op = "cache"

// defaultBytes bounds the results that are kept of one server.
const defaultBytes = 64 << 20

// Options are the parts of an Engine. Engine and Servers are required.
type Options struct {
	// Engine does the calls. Their tools have a [*hubconfig.Target] for a Spec.
	Engine core.Engine
	// Servers are those of the configuration; without a Cache nothing of one is kept.
	Servers []hubconfig.Server
	// MaxBytes bounds what is kept of one server. Zero means 64 MiB.
	MaxBytes int64
	// Now gives the time. Nil means the clock.
	Now func() time.Time
}

// An Engine is the engine behind it, but that some calls are answered without it. It is safe for
// concurrent use. Results that it gives are shared: nobody changes their bytes.
type Engine struct {
	inner   core.Engine
	servers map[string]*server // those of which something is kept
}

// New makes an Engine.
func New(o Options) *Engine {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Engine{inner: o.Engine, servers: make(map[string]*server)}
	for _, s := range o.Servers {
		if s.Cache != nil {
			e.servers[s.Name] = newServer(*s.Cache, o)
		}
	}
	return e
}

// Clear forgets what is kept of a server, and what is being done for others to come.
func (e *Engine) Clear(name string) {
	if s := e.servers[name]; s != nil {
		s.clear()
	}
}

// Enforces lists what the engine behind it holds.
func (e *Engine) Enforces() []durward.GrantField { return e.inner.Enforces() }

// Prepare has the engine behind it judge the call in any case.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	inner, err := e.inner.Prepare(ctx, t, c, g)
	target, ok := t.Spec.(*hubconfig.Target)
	if err != nil || !ok || e.servers[target.Server] == nil {
		return inner, err
	}
	if target.Method != "" {
		return inner, nil // it is about no tool
	}
	s := e.servers[target.Server]
	shelf, named := s.shelfOf(target.Tool, t.Effect)
	switch {
	case !t.Effect.ReadOnly && !named:
		return &changing{inner, s}, nil
	case shelf == nil || c.Fresh || c.Resume != nil: // what a caller brings to it is for nobody else
		return inner, nil
	}
	key, ok := s.keyOf(target.Tool, c, g)
	if !ok {
		return inner, nil
	}
	return &keeping{inner: inner, server: s, shelf: shelf, key: key}, nil
}

// A key is the digest of all that makes calls equal.
type key [sha256.Size]byte

// keyOf gives the key of a call. There is none for arguments that cannot be compared.
func (s *server) keyOf(tool string, c durward.Call, g durward.Grant) (k key, ok bool) {
	arguments, ok := sorted(c.Input)
	text := jsonx.AppendString(nil, tool)
	text = strconv.AppendInt(append(text, ','), g.Limits.WithDefaults().Output, 10)
	if s.config.Private {
		text = jsonx.AppendString(append(text, ','), c.Caller.Method)
		text = jsonx.AppendString(append(text, ','), c.Caller.Name)
	}
	return sha256.Sum256(append(append(text, ','), arguments...)), ok
}

// sorted gives a JSON text without white space, with sorted members and each number to the digit.
// RFC 8785 has numbers be doubles, of which two integers may share one.
func sorted(text json.RawMessage) ([]byte, bool) {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil, false
	}
	text, err := json.Marshal(value)
	return text, err == nil
}
