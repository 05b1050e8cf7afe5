package mcpserve

import (
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

// Few streams that are over are kept, whichever comes first: that one begins or that it ends.
func TestFewFinishedStreamsAreKept(t *testing.T) {
	answer := jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(1)}.Answer(nil)
	all := streams{shelf: &shelf{}}
	for i := range 1000 {
		one := newStream(maxKept)
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
	large := newStream(maxKept)
	all.add(large)
	large.putText(make([]byte, maxFinishedBytes), mustArrive)
	large.finish(answer)
	all.finished(large)
	if len(all.byName) != 1 || all.find(large.name) != large {
		t.Errorf("%d are kept beside a large one", len(all.byName)-1)
	}
}

// However many sessions there are, what they keep of large answers is bounded: the oldest go, and
// all of a session with that.
func TestFinishedStreamsOfAllSessionsAreBounded(t *testing.T) {
	all := sessions{most: 100}
	answer := make([]byte, 9<<20)
	var order []*session
	held := func() (bytes int) {
		for _, one := range order {
			for _, s := range one.streams.byName {
				bytes += s.size()
			}
		}
		return bytes
	}
	for range all.most {
		one := all.begin(durward.Caller{})
		order = append(order, one)
		out := newStream(maxKept)
		one.streams.add(out)
		reader := out.attach(0)
		out.putText(answer, mustArrive)
		out.finish(jsonrpc.Message{})
		one.streams.finished(out)
		if b := out.take(reader); len(b.events) != 1 || held() > maxShelfBytes {
			t.Fatalf("%d events, and %d bytes are held", len(b.events), held())
		}
	}
	newest := order[len(order)-1]
	if newest.streams.find(1).size() < 9<<20 || held() < maxShelfBytes/2 {
		t.Errorf("%d bytes are held", held())
	}
	all.end(newest)
	if newest.streams.find(1) != nil || all.shelf.bytes != held() {
		t.Errorf("the shelf counts %d bytes, %d are held", all.shelf.bytes, held())
	}
}

// What belongs to no request is kept in small pieces only: each session has such a stream.
func TestWhatBelongsToNoRequestIsNotKeptWhole(t *testing.T) {
	all := sessions{most: 1}
	one := all.begin(durward.Caller{})
	reader := one.general.attach(0)
	one.general.putText(make([]byte, maxLag), mayBeLost)
	if b := one.general.take(reader); len(b.events) != 1 || one.general.size() > maxUnread {
		t.Errorf("%d events, %d bytes stay", len(b.events), one.general.size())
	}
}
