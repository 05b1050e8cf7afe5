package mcpserve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// maxBatch bounds the messages of a batch.
const maxBatch = 64

// postBatch answers an array of messages, which one revision has, by a stream of their answers.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, text []byte) {
	list, bad := batchOf(text)
	if bad != nil {
		refuse(w, http.StatusBadRequest, jsonrpc.Message{}, bad)
		return
	}
	one, leave, ok := s.sessionOf(w, r, jsonrpc.Message{})
	if !ok {
		return
	}
	defer leave()
	if version, _ := one.agreed(); version != mcpspec.Batches {
		refuse(w, http.StatusBadRequest, jsonrpc.Message{}, badRequest("a batch is not accepted in "+version))
		return
	}
	out := newStream(0)
	all := s.startBatch(list, "http", one, out, func(answers []jsonrpc.Message) {
		for _, answer := range answers {
			out.put(answer, mustArrive)
		}
		out.finish(jsonrpc.Message{})
	})
	if all == 0 {
		accepted(w)
		return
	}
	e := &eventWriter{w: w, stream: out, reader: out.attach(0)}
	e.begin()
	e.pump(r.Context(), nil, one.alive.Done())
}

// startBatch takes the messages of a batch in, and counts its requests. What belongs to one of them
// goes to out; answered gets the answers, in their order, when the last is there.
func (s *Server) startBatch(list []json.RawMessage, surface string, one *session, out *stream, answered func([]jsonrpc.Message)) (requests int) {
	var open sync.WaitGroup
	answers := make([]jsonrpc.Message, len(list))
	for i, text := range list {
		m, bad := parse(bytes.Clone(text)) // a request that lasts keeps no more than its own part
		if m.Kind == jsonrpc.Response || m.Kind == jsonrpc.Notification {
			one.hear(m)
			continue
		}
		requests++
		open.Add(1)
		s.ofBatch(m, bad, surface, one, out, func(answer jsonrpc.Message) {
			answers[i] = answer
			open.Done()
		})
	}
	if requests > 0 {
		s.running.Add(1) // whoever calls is counted, too
		go func() {
			defer s.leave()
			open.Wait()
			answered(slices.DeleteFunc(answers, func(m jsonrpc.Message) bool { return m.Kind == 0 }))
		}()
	}
	return requests
}

// ofBatch answers one request of a batch, perhaps later.
func (s *Server) ofBatch(m jsonrpc.Message, bad *jsonrpc.Error, surface string, one *session, out *stream, answered func(jsonrpc.Message)) {
	meta, wrong := mcpspec.MetaOf(jsonx.Member(m.Params, "_meta"))
	switch {
	case bad != nil:
		answered(m.Refuse(bad))
		return
	case wrong != nil:
		answered(m.Refuse(wrong))
		return
	}
	q := s.requestIn(one, m, meta, out)
	q.Surface = surface
	if _, ok := s.start(q, answered); !ok {
		answered(m.Refuse(idInUse()))
	}
}

// batchOf makes the messages of an array.
func batchOf(text []byte) ([]json.RawMessage, *jsonrpc.Error) {
	list, bad := jsonrpc.Batch(text)
	if bad == nil && len(list) > maxBatch {
		bad = badRequest("a batch holds 64 messages at most")
	}
	return list, bad
}
