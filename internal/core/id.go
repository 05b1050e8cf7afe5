package core

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/durward/durward"
)

// NewCallID makes the id of a call that begins now, for a door that tells it before the call
// is made.
func NewCallID() durward.CallID { return newCallID(time.Now()) }

// NewTrace begins a trace, for a door that tells its id before the call is made.
func NewTrace() durward.TraceContext { return newTrace() }

// newCallID makes a UUIDv7 (RFC 9562): 48 bits of milliseconds, then randomness.
func newCallID(now time.Time) durward.CallID {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16)
	rand.Read(id[6:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	text := make([]byte, 0, 36)
	for _, part := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		text = append(hex.AppendEncode(text, part), '-')
	}
	return durward.CallID(text[:36])
}

// newTrace begins a trace for a call that came without one.
func newTrace() durward.TraceContext {
	var t durward.TraceContext
	rand.Read(t.TraceID[:])
	rand.Read(t.SpanID[:])
	return t
}
