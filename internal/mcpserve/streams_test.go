package mcpserve

import (
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
)

// Few streams that are over are kept, whichever comes first: that one begins or that it ends.
func TestFewFinishedStreamsAreKept(t *testing.T) {
	answer := jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(1)}.Answer(nil)
	var all streams
	for i := range 1000 {
		one := newStream(true)
		if i%2 == 0 {
			all.add(one)
		}
		one.finish(answer)
		if i%4 == 1 {
			all.add(one)
		}
		all.finished(one)
		if i%4 == 3 {
			all.add(one)
		}
	}
	if len(all.byName) != maxFinished || len(all.over) != maxFinished {
		t.Errorf("%d are kept, %d in their order", len(all.byName), len(all.over))
	}
	large := newStream(true)
	all.add(large)
	large.putText(make([]byte, maxFinishedBytes), mustArrive)
	large.finish(answer)
	all.finished(large)
	if len(all.byName) != 1 || all.find(large.name) != large {
		t.Errorf("%d are kept beside a large one", len(all.byName)-1)
	}
}
